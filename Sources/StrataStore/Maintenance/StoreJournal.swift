internal import Foundation
internal import GRDB
internal import StrataCore

/// The journal (WAL) beside the file of a store: its size, and the processes that prevent it from being shortened.
///
/// SQLite restarts the journal only if a commit finds no reader of it, so overlapping readers would let it grow without
/// limit. Above a size, the store therefore waits a moment for the readers of the old part. New readers do not use that part.
final class StoreJournal: Sendable {
  /// The size in bytes above which the journal is checkpointed and truncated.
  static let limit = 8 << 20
  /// The time in milliseconds to wait for readers, which delays commits.
  private static let patience = 100

  let path: String
  /// The size at which the next attempt is made. It grows after a failed attempt, so that a long reader does not cause
  /// an attempt at each commit.
  private let next = Mutex(StoreJournal.limit)

  init(of file: String) { path = file }

  /// The size of the journal in bytes; 0 if there is none.
  var size: Int {
    // If the status fails, the journal is absent: the database is closed, or was never written to.
    (try? FileStatus(ofPath: path + "-wal"))?.size ?? 0
  }

  /// Shortens the journal if it is too long. Errors are ignored, because the save itself has already succeeded.
  func shorten(_ writer: any DatabaseWriter) {
    guard isTooLong else { return }
    // A commit past the next limit tries again, and `status` lists the readers that prevent it.
    let isDone = (try? writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// Like ``shorten(_:)-(DatabaseWriter)``, without blocking a thread.
  func shorten(_ writer: any DatabaseWriter) async {
    guard isTooLong else { return }
    // As above. A cancelled task leaves this to the next commit.
    let isDone = (try? await writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// Checkpoints and truncates the journal, unless readers prevent it.
  ///
  /// - Returns: whether it was truncated.
  @discardableResult
  static func cut(_ db: GRDB.Database) throws -> Bool {
    let timeout = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
    try db.execute(sql: "PRAGMA busy_timeout = \(min(timeout, patience))")
    defer {
      // The statement only sets a number, and fails if the connection is closed.
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

  /// The identifiers of the processes that currently read from the journal; `nil` if unknown.
  ///
  /// On Linux, these processes hold locks on the read marks in the index of the journal (`-shm`).
  var readers: [Int]? {
    #if os(Linux)
      // Without an index there are no readers.
      guard let index = try? FileStatus(ofPath: path + "-shm") else { return [] }
      // Without the table of locks the readers are unknown.
      guard let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else { return nil }
      var found: Set<Int> = []
      for line in table.split(separator: "\n") {
        // 12: POSIX  ADVISORY  READ 4711 fd:01:393230 124 124
        let words = line.split(separator: " ").filter { $0 != "->" }
        guard words.count >= 8, let process = Int(words[4]), let first = Int(words[6]), let last = Int(words[7]),
          words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == index.inode, process > 0
        else { continue }
        // Byte 123 marks readers of the database file alone, which do not need the journal.
        if last >= 124, first <= 127 { found.insert(process) }
      }
      return found.sorted()
    #else
      return nil
    #endif
  }
}
