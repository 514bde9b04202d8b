import Foundation

/// The right to write a file, which one writer has at a time: the advisory lock of the file that its path names.
///
/// Where a file system has no locks, nobody is kept out; a writer then notices at its end that another one was there.
enum WriterLock {
  /// How long somebody may hold the lock to look whether another has it.
  private static let patience = Duration.milliseconds(50)

  /// Opens a file and takes its lock.
  ///
  /// - Parameters:
  ///   - time: how long to wait for another writer; less than 50 milliseconds are none.
  ///   - open: opens what the path names now.
  /// - Throws: ``ArchiveError`` with the code `fileInUse` where another writer still has the file then; and what `open`
  ///   throws.
  static func take(_ url: URL, waiting time: Duration, _ open: (URL) throws -> OpenFile) throws -> OpenFile {
    let clock = ContinuousClock()
    let end = clock.now + max(time, patience)
    while true {
      let file = try open(url)
      switch try file.lock() {
      case .isHeld:
        guard clock.now < end else {
          throw ArchiveError(
            .fileInUse,
            "another writer has the file “\(url.path)” open; wait until it has finished, or give it more time to")
        }
      case .taken, .isUnknown:
        // Another writer may have put a new file there while this one waited.
        if try isNamed(file.status(), by: url) { return file }
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }

  /// Whether the path names the file with this status.
  static func isNamed(_ status: FileStatus, by url: URL) throws -> Bool {
    try AtomicFile.target(of: OpenFile.path(of: url)).status?.isOfSameFile(as: status) ?? false
  }
}
