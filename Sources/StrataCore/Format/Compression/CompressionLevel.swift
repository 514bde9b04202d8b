/// How much time is spent on making an archive smaller.
public struct CompressionLevel: Sendable, Hashable {
  /// 0 stores, 1 to 9 deflate.
  package let rawLevel: Int

  private init(checked rawLevel: Int) { self.rawLevel = rawLevel }

  /// A level of zlib: 0 stores, 1 is the fastest, 9 the smallest, and −1 means the default.
  ///
  /// With the package trait `Libdeflate`, 1 to 9 are the levels of libdeflate with these numbers, whose bytes differ from zlib's.
  /// Its levels 10 to 12 are not used. Parts of a store that repeat others are deflated by zlib at the same level.
  /// - Returns: `nil` outside of −1 to 9.
  public init?(rawLevel: Int) {
    guard (-1...9).contains(rawLevel) else { return nil }
    // The default is settled here, not by zlib, so that every build of zlib is asked for the same level.
    self.init(checked: rawLevel == -1 ? 6 : rawLevel)
  }

  /// No compression. The bytes are then the same whatever library wrote them.
  public static let none = CompressionLevel(checked: 0)
  /// The fastest level that compresses.
  public static let fastest = CompressionLevel(checked: 1)
  /// The default.
  public static let balanced = CompressionLevel(checked: 6)
  /// The smallest file.
  public static let best = CompressionLevel(checked: 9)
}
