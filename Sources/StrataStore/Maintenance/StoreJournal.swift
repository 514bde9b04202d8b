internal import Foundation
internal import GRDB
internal import StrataCore

/// Manages the write-ahead log (WAL) of a store, which is a separate file next to the database file. Truncates the log when it
/// becomes too large, and reports its size and the processes that read from it.
///
/// SQLite restarts the log only if no connection reads from it during a commit, so overlapping readers would let the log grow
/// without limit. If the log exceeds a limit, the store therefore waits briefly until its current readers have finished. During
/// this wait, new readers read from the database file instead of the log.
final class StoreJournal: Sendable {
  /// The size in bytes above which the log is checkpointed and truncated.
  static let limit = 8 << 20
  /// The maximum time in milliseconds to wait for readers. A commit is delayed by at most this time.
  private static let patience = 100

  let path: String
  /// The log size in bytes above which the next truncation is attempted. A failed attempt raises this threshold. Otherwise, a
  /// long-running reader would cause another attempt after each commit.
  private let next = Mutex(StoreJournal.limit)

  init(of file: String) { path = file }

  /// The size of the log in bytes, or 0 if there is no log.
  var size: Int {
    // An error means that the log does not exist, because the database is closed or was never written to.
    (try? FileStatus(ofPath: path + "-wal"))?.size ?? 0
  }

  /// Truncates the log if it is too large. Errors are ignored, because the save itself has already succeeded.
  func shorten(_ writer: any DatabaseWriter) {
    guard isTooLong else { return }
    // On failure, a later commit tries again once the log exceeds the raised limit. `status` lists the readers that prevent
    // truncation.
    let isDone = (try? writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// The asynchronous variant of ``shorten(_:)-(DatabaseWriter)``, which does not block a thread.
  func shorten(_ writer: any DatabaseWriter) async {
    guard isTooLong else { return }
    // On failure, or if the task is cancelled, a later commit tries again.
    let isDone = (try? await writer.writeWithoutTransaction { try Self.cut($0) }) ?? false
    note(isDone)
  }

  /// Checkpoints and truncates the log, unless readers prevent it.
  ///
  /// - Returns: whether the log was truncated.
  @discardableResult
  static func cut(_ db: GRDB.Database) throws -> Bool {
    let timeout = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
    try db.execute(sql: "PRAGMA busy_timeout = \(min(timeout, patience))")
    defer {
      // Ignores the error, because setting the busy timeout fails only if the connection is closed.
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

  /// The identifiers of the processes that are currently reading from the log, or `nil` if unknown.
  ///
  /// On Linux, these are the processes that hold locks on the read marks in the index file of the log (`-shm`). On other systems,
  /// the processes are unknown.
  var readers: [Int]? {
    #if os(Linux)
      // If the index file does not exist, there are no readers.
      guard let index = try? FileStatus(ofPath: path + "-shm") else { return [] }
      // If the system's table of locks cannot be read, the readers are unknown.
      guard let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8) else { return nil }
      var found: Set<Int> = []
      for line in table.split(separator: "\n") {
        // A line of the table looks like this: 12: POSIX  ADVISORY  READ 4711 fd:01:393230 124 124
        let words = line.split(separator: " ").filter { $0 != "->" }
        guard words.count >= 8, let process = Int(words[4]), let first = Int(words[6]), let last = Int(words[7]),
          words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == index.inode, process > 0
        else { continue }
        // Includes only processes that read from the log. They lock one of the bytes 124 to 127. A reader that uses only the
        // database file locks byte 123.
        if last >= 124, first <= 127 { found.insert(process) }
      }
      return found.sorted()
    #else
      return nil
    #endif
  }
}
