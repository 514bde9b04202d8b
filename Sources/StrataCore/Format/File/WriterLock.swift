import Foundation

/// The exclusive right to write a file: the advisory lock of the file at its path.
///
/// If the file system does not support locks, a writer detects another one only when it finishes.
enum WriterLock {
  /// The time for which another program may hold the lock only to check whether the file is locked.
  private static let minimumWait = Duration.milliseconds(50)

  /// Opens a file and takes its lock.
  ///
  /// - Parameters:
  ///   - time: how long to wait for another writer, at least 50 milliseconds.
  ///   - open: opens the current file at the path.
  /// - Throws: ``ArchiveError`` with the code `fileInUse` if another writer still has the file after that time; and the
  ///   errors of `open`.
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
            "another writer has the file “\(url.path)” open; try again when it has finished, or wait longer for it")
        }
      case .acquired, .unsupported:
        // Another writer may have replaced the file while this one waited.
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
