import Foundation

/// The file to which a stream is written. A new stream is written to a new file, which replaces an existing file in
/// ``finish()``. A stream can also be appended to an existing file. Until this object is released, a lock prevents
/// other writers from writing to the existing file.
///
/// If this object is released before ``finish()``, the original file is unchanged.
final class StreamFile {
  private let url: URL
  private var replacement: Replacement?
  /// The existing file that will be replaced, open and locked; `nil` if there is none.
  private let replaced: OpenFile?
  private var grown: OpenFile?
  private let originalSize: Int
  /// The expected size of the file in bytes. If the actual size is different, another program has written to the file.
  private var size: Int
  /// The number of bytes that a failed write left in the file because they could not be removed; `nil` if no write has
  /// failed.
  private var excess: Int?
  private var cut: CutBytes?
  private let isLinked: Bool
  /// The last eight bytes of the file. The link of the next member contains a checksum of these bytes.
  private var trailer: [UInt8]

  /// The link for the header of the next member; `nil` if the members of the stream have no links.
  var link: StreamLink? { isLinked ? StreamLink(at: size, after: trailer) : nil }

  /// Creates a new file. ``finish()`` replaces the file at `url` with it.
  init(replacing url: URL, waiting time: Duration) throws {
    self.url = url
    let exists = try AtomicFile.target(of: OpenFile.path(of: url)).status?.isRegular ?? false
    replaced = try exists ? WriterLock.acquire(url, waiting: time) { try OpenFile(reading: $0) } : nil
    replacement = try Replacement(of: url)
    grown = nil
    originalSize = 0
    size = 0
    isLinked = true
    trailer = []
  }

  /// Creates a stream file that appends to an existing, locked file after its first `size` bytes.
  ///
  /// - Parameters:
  ///   - isLinked: whether the existing members have links. Appended members then have links too, because readers expect all end members of
  ///     a stream to have the same size.
  ///   - trailer: the last eight bytes of the first `size` bytes.
  ///   - cut: the copy of the bytes that were cut off after the first `size` bytes; `nil` if no bytes were cut off.
  init(
    growing file: consuming OpenFile, at url: URL, from size: Int, isLinked: Bool, trailer: [UInt8], cut: CutBytes?
  ) {
    (self.isLinked, self.trailer) = (isLinked, trailer)
    self.url = url
    replacement = nil
    replaced = nil
    grown = consume file
    originalSize = size
    self.size = size
    self.cut = cut
  }

  deinit {
    guard replacement?.abandon(CancellationError()) == nil else { return }
    // A failed rollback is ignored here, because a deinitializer cannot report it. If the bytes are still in the file, the next writer
    // finds them after the end of the stream.
    try? rollBack(to: originalSize)
  }

  /// Appends bytes. After an error, none of the bytes are in the file, and the call can be repeated.
  ///
  /// - Throws: ``ArchiveError`` with the code `fileSystem`, or `fileInUse` if another program has written to the file.
  ///   If the bytes of a failed write could not be removed, every later call throws `fileSystem`.
  func write(_ bytes: [UInt8]) throws {
    try check()
    var written = 0
    do {
      try replacement?.temporary.file.writeAll(bytes.bytes, written: &written)
      try grown?.writeAll(bytes.bytes, written: &written)
      size += written
      trailer = bytes.suffix(Gzip.trailerSize)
    } catch {
      excess = written
      // A failed rollback is ignored here. If the bytes are still in the file, the next call to `write(_:)` throws an error.
      try? rollBack(to: size)
      throw error
    }
  }

  /// Flushes the file to the disk. If the stream was written to a new file, the new file then replaces the existing file. When
  /// the method returns, the stream survives a power failure.
  ///
  /// - Throws: the same errors as ``write(_:)``. After an error, the original file is unchanged, unless the error reports a change.
  func finish() throws {
    guard grown != nil else {
      try check()
      if let replacement = replacement.take() { try replacement.commit(isExclusive: true) }
      return
    }
    do {
      try check()
      try grown?.synchronize()
      try check()
      try checkName()
      try grown?.duplicate().finish()
    } catch {
      do {
        try rollBack(to: originalSize)
        // The file has been truncated. Unless the truncation is flushed to the disk, the appended bytes could reappear after a power
        // failure.
        try grown?.synchronize()
      } catch {
        throw ArchiveError(
          .fileSystem,
          "writing to the file “\(url.path)” failed, and the written bytes could not be removed; check that the stream "
            + "can be read before you append to it again",
          underlying: error)
      }
      throw error
    }
    // From here on, the appended bytes are final. Closing the file releases the lock.
    grown = nil
    cut?.remove()
  }

  private func foundSize() throws -> Int? {
    if grown != nil { return try grown?.status().size }
    return try replacement?.temporary.file.status().size
  }

  /// Truncates the file to its first `end` bytes. If another program has written to the file, nothing is truncated, because that program's
  /// bytes must be kept.
  private func rollBack(to end: Int) throws {
    guard let found = try foundSize(), found == size + (excess ?? 0) else { return }
    if found > end {
      try grown?.truncate(to: end)
      try replacement?.temporary.file.truncate(to: end)
    }
    (size, excess) = (end, nil)
  }

  private func check() throws {
    guard excess == nil else {
      throw ArchiveError(
        .fileSystem,
        "an earlier write to the file “\(url.path)” failed and could not be undone; create a new writer for the file")
    }
    guard try foundSize() == size else {
      throw ArchiveError(
        .fileInUse, "the size of the file “\(url.path)” changed because another program is writing to the file")
    }
  }

  private func checkName() throws {
    guard let status = try grown?.status(), try !WriterLock.isNamed(status, by: url) else { return }
    throw ArchiveError(
      .fileInUse,
      "the path “\(url.path)” now refers to a different file, so nothing was appended")
  }
}
