import Foundation

/// The file that a stream is written to: one that takes another's place when it is finished, or one that grows. No other
/// stream is written to it meanwhile.
///
/// When it goes away unfinished, everything is as it was.
final class StreamFile {
  private let url: URL
  private var replacement: Replacement?
  /// The file to be replaced, which is locked.
  private let replaced: OpenFile?
  private var grown: OpenFile?
  private let originalSize: Int
  /// The size that the file has if nobody else wrote to it.
  private var size: Int
  /// How much of a write that failed may be in the file.
  private var doubtfulSize = 0
  private var cut: CutBytes?

  /// A file that replaces the one at `url` when it is finished.
  init(replacing url: URL, waiting time: Duration) throws {
    self.url = url
    let isThere = try AtomicFile.target(of: OpenFile.path(of: url)).status?.isRegular ?? false
    replaced = try isThere ? WriterLock.take(url, waiting: time) { try OpenFile(reading: $0) } : nil
    replacement = try Replacement(of: url)
    grown = nil
    originalSize = 0
    size = 0
  }

  /// A file that is there, is locked, and grows after its first `size` bytes.
  ///
  /// - Parameter cut: what stood after them, where that was cut off.
  init(growing file: consuming OpenFile, at url: URL, from size: Int, cut: CutBytes?) {
    self.url = url
    replacement = nil
    replaced = nil
    grown = consume file
    originalSize = size
    self.size = size
    self.cut = cut
  }

  deinit {
    _ = replacement?.abandon(CancellationError())
    // Nobody is told any more. A file of another size has bytes of somebody else's, and stays as it is; else what is left
    // after the end of the stream is told to the next writer.
    guard let found = try? grown?.status().size, found > originalSize, found <= size + doubtfulSize else { return }
    try? grown?.truncate(to: originalSize)
  }

  /// - Throws: ``ArchiveError`` with the code `fileSystem`, and `fileInUse` where somebody else wrote to the file.
  func write(_ bytes: [UInt8]) throws {
    try replacement?.temporary.file.writeAll(bytes.bytes)
    guard grown != nil else { return }
    try checkSize()
    doubtfulSize = bytes.count
    try grown?.writeAll(bytes.bytes)
    size += bytes.count
    doubtfulSize = 0
  }

  /// Returns once the file is safe on the disk, in its place.
  func finish() throws {
    if let replacement = replacement.take() { try replacement.commit(isExclusive: true) }
    guard grown != nil else { return }
    try grown?.synchronize()
    try checkSize()
    try checkName()
    try grown?.duplicate().finish()
    // From here on the bytes stay. The lock goes with the file.
    grown = nil
    cut?.remove()
  }

  private func checkSize() throws {
    guard try grown?.status().size == size else {
      throw ArchiveError(
        .fileInUse, "the file “\(url.path)” has another size than it was given; another program writes to it")
    }
  }

  private func checkName() throws {
    guard let status = try grown?.status(), try !WriterLock.isNamed(status, by: url) else { return }
    throw ArchiveError(
      .fileInUse,
      "the path “\(url.path)” names another file than it did when writing began, so nothing was added to that")
  }
}
