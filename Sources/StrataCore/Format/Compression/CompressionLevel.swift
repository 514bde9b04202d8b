/// The trade-off between the size of an archive and the time to compress it.
public struct CompressionLevel: Sendable, Hashable {
  /// The level, from 1 to 9; 0 for no compression.
  package let rawLevel: Int

  private init(checked rawLevel: Int) { self.rawLevel = rawLevel }

  /// Creates the compression level that has this number in zlib: 0 is no compression, 1 is the fastest level, 9 produces the smallest
  /// output, and −1 is the default level.
  ///
  /// With the `Libdeflate` package trait, levels 1 to 9 are the levels of libdeflate, whose output differs from the output of zlib.
  /// libdeflate's levels 10 to 12 are not available. Parts of a store that are compressed with a dictionary are always compressed by zlib,
  /// at the same level.
  /// - Returns: `nil` if the level is not in the range from −1 to 9.
  public init?(rawLevel: Int) {
    guard (-1...9).contains(rawLevel) else { return nil }
    // The default is defined here, because zlib's own default level depends on how zlib was built.
    self.init(checked: rawLevel == -1 ? 6 : rawLevel)
  }

  /// No compression. The bytes of the archive do not depend on the compression library.
  public static let none = CompressionLevel(checked: 0)
  /// The fastest level that compresses.
  public static let fastest = CompressionLevel(checked: 1)
  /// The default level, 6.
  public static let balanced = CompressionLevel(checked: 6)
  /// The level with the smallest output.
  public static let best = CompressionLevel(checked: 9)
}
