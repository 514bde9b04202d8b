internal import Foundation
internal import GRDB
internal import StrataCore

/// The journal (WAL) beside the file of a store: how large it is, and who keeps it from being shortened.
///
/// SQLite begins it anew only where a commit finds nobody reading from it, so that readers which overlap would let it grow
/// without end. Past a size the store therefore waits a moment for those who read the old part; new ones read past it.
final class StoreJournal: Sendable {
  /// Bytes past which the journal is written back and cut.
  static let limit = 8 << 20
  /// Milliseconds that readers get to end; commits wait so long.
  private static let patience = 100

  let path: String
  /// The size at which the next attempt is made: one that a long reader made fail is not repeated at each commit.
  private let next = Mutex(StoreJournal.limit)

  init(of file: String) { path = file }

  /// The bytes of the journal; 0 where there is none.
  var size: Int {
    // A journal that cannot be looked at is absent: the database is closed, or was never written to.
    (try? FileStatus(ofPath: path + "-wal"))?.size ?? 0
  }

  /// Shortens the journal where it is too long. What was saved is saved, whatever becomes of this.
  func shorten(_ writer: any DatabaseWriter) {
    guard isTooLong else { return }
    // The next commit past the next limit tries again, and `status` names those who keep it long.
    let isDone = (try? writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// As ``shorten(_:)-(DatabaseWriter)``, without a thread that waits.
  func shorten(_ writer: any DatabaseWriter) async {
    guard isTooLong else { return }
    // As above; a task that was cancelled leaves this to the next one.
    let isDone = (try? await writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// Writes the journal back and cuts it, if nobody keeps it.
  ///
  /// - Returns: whether that was done.
  @discardableResult
  static func cut(_ db: GRDB.Database) throws -> Bool {
    let timeout = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
    try db.execute(sql: "PRAGMA busy_timeout = \(min(timeout, patience))")
    defer {
      // The statement only sets a number, and fails where the connection is closed.
      try? db.execute(sql: "PRAGMA busy_timeout = \(timeout)")
    }
    do {
      try db.checkpoint(.truncate)
      return true
    } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) { return false }
  }

  private var isTooLong: Bool { size > next.withLock { $0 } }

  private func note(_ isDone: Bool) {
    let size = size
    next.withLock { $0 = isDone ? Self.limit : max(size, Self.limit) + Self.limit }
  }

  /// The processes that read from the journal at this moment, by their numbers; `nil` where the system does not tell.
  ///
  /// On Linux these are the locks on the bytes of the index by which readers mark what they read.
  var readers: [Int]? {
    #if os(Linux)
      // Where there is no index nobody reads.
      guard let index = try? FileStatus(ofPath: path + "-shm") else { return [] }
      // Where the table of locks cannot be read it is not known who does.
      guard let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else { return nil }
      var found: Set<Int> = []
      for line in table.split(separator: "\n") {
        // 12: POSIX  ADVISORY  READ 4711 fd:01:393230 124 124
        let words = line.split(separator: " ").filter { $0 != "->" }
        guard words.count >= 8, let process = Int(words[4]), let first = Int(words[6]), let last = Int(words[7]),
          words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == index.inode, process > 0
        else { continue }
        // Byte 123 marks those who read the file alone and keep nothing of the journal.
        if last >= 124, first <= 127 { found.insert(process) }
      }
      return found.sorted()
    #else
      return nil
    #endif
  }
}
