import Foundation

/// Acquires an advisory lock that gives a writer the exclusive right to write to a file.
///
/// If the file system does not support locks, a writer detects other writers only when it finishes.
enum WriterLock {
  /// The minimum time to wait for a lock that is already held. A reader may hold the lock for a moment to check whether the file is
  /// locked, so a writer must not fail immediately.
  private static let minimumWait = Duration.milliseconds(50)

  /// Opens and locks a file.
  ///
  /// - Parameters:
  ///   - time: how long to wait for another writer. The minimum is 50 milliseconds.
  ///   - open: opens the file that is currently at the path.
  /// - Throws: ``ArchiveError`` with the code `fileInUse` if another writer still holds the lock after that time, and
  ///   any error that `open` throws.
  static func acquire(_ url: URL, waiting time: Duration, _ open: (URL) throws -> OpenFile) throws -> OpenFile {
    let clock = ContinuousClock()
    let end = clock.now + max(time, minimumWait)
    while true {
      let file = try open(url)
      switch try file.lock() {
      case .heldByOther:
        guard clock.now < end else {
          throw ArchiveError(
            .fileInUse,
            "another writer has the file “\(url.path)” open; try again when that writer has finished, or increase the "
              + "waiting time"
          )
        }
      case .acquired, .unsupported:
        // Another writer may have replaced the file in the meantime. In that case, the new file at the path must be
        // locked.
        if try isNamed(file.status(), by: url) { return file }
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }

  /// Returns whether the path refers to the file with this status.
  static func isNamed(_ status: FileStatus, by url: URL) throws -> Bool {
    try AtomicFile.target(of: OpenFile.path(of: url)).status?.isOfSameFile(as: status) ?? false
  }
}
