/// The trade-off between the size of an archive and the time to compress it.
public struct CompressionLevel: Sendable, Hashable {
  /// The level: 0 stores, 1 to 9 deflate.
  package let rawLevel: Int

  private init(checked rawLevel: Int) { self.rawLevel = rawLevel }

  /// Creates a level of zlib: 0 stores, 1 is the fastest, 9 gives the smallest output, and −1 is the default.
  ///
  /// With the package trait `Libdeflate`, levels 1 to 9 are those of libdeflate, whose bytes differ from zlib's. Its levels 10 to
  /// 12 are not used. Parts of a store that repeat others are deflated by zlib at the same level.
  /// - Returns: `nil` if the level is not in −1 to 9.
  public init?(rawLevel: Int) {
    guard (-1...9).contains(rawLevel) else { return nil }
    // The default is set here instead of by zlib, so that every build of zlib uses the same level.
    self.init(checked: rawLevel == -1 ? 6 : rawLevel)
  }

  /// No compression. The bytes do not depend on the compression library.
  public static let none = CompressionLevel(checked: 0)
  /// The fastest level with compression.
  public static let fastest = CompressionLevel(checked: 1)
  /// The default level, 6.
  public static let balanced = CompressionLevel(checked: 6)
  /// The level with the smallest output.
  public static let best = CompressionLevel(checked: 9)
}
