/// How much one archive may claim before reading stops with an error.
///
/// The defaults hold archives of several gigabytes of models and refuse what only an attacker would write. Each
/// limit is checked inside the loop that would allocate.
public struct ArchiveLimits: Sendable, Hashable {
  /// Which limit was exceeded.
  public enum Limit: String, Sendable, Hashable, CaseIterable {
    case depth, count, stringLength, inflatedSize, inflationRatio
  }

  /// Levels of nesting, 512 unless set. Also holds while encoding.
  public var depth: Int = 512
  /// Elements of one array, set, map or record, 16,777,216 unless set.
  public var count: Int = 1 << 24
  /// Bytes of one string or byte string, 256 MiB unless set.
  public var stringLength: Int = 256 << 20
  /// Bytes of one member once inflated, 1 GiB unless set. A stream has a member for every few thousand models.
  public var inflatedSize: Int = 1 << 30
  /// How many times larger than the file a member may become, 1,032 unless set, which is the most that
  /// deflate reaches (RFC 1951), so that by default only a lower setting refuses anything.
  public var inflationRatio: Int = 1032

  /// The default limits.
  public init() {}
}
