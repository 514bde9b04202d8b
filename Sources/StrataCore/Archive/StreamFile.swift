import Foundation

/// The file that a stream is written to: one that takes another's place when it is finished, or one that grows.
///
/// When it goes away unfinished, everything is as it was.
final class StreamFile {
  private var replacement: Replacement?
  private var grown: OpenFile?
  private let originalSize: Int

  /// A file that replaces the one at `url` when it is finished.
  init(replacing url: URL) throws {
    replacement = try Replacement(of: url)
    grown = nil
    originalSize = 0
  }

  /// A file that is there and grows behind its first `size` bytes.
  init(growing file: consuming OpenFile, from size: Int) {
    replacement = nil
    grown = consume file
    originalSize = size
  }

  deinit {
    _ = replacement?.abandon(CancellationError())
    try? grown?.truncate(to: originalSize)
  }

  func write(_ bytes: [UInt8]) throws {
    try replacement?.file.writeAll(bytes.span.bytes)
    try grown?.writeAll(bytes.span.bytes)
  }

  /// Returns once the file is safe on the disk, in its place.
  func finish() throws {
    if let replacement = replacement.take() { try replacement.commit() }
    try grown?.synchronize()
    // From here on the bytes stay, whatever closing says.
    if let grown = grown.take() { try grown.finish() }
  }
}
