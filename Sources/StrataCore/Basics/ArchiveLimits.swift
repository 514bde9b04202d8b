/// Limits on the sizes that one archive may claim, and on the work that it may cause.
///
/// The defaults accept archives of several gigabytes of models, and reject only archives that an attacker would write. Each limit is
/// checked inside the loop that would allocate memory or do the work.
///
/// ``values``, ``expandedBytes`` and ``steps`` form one budget that all parts of a file share, regardless of their nesting. A small
/// file may not use all of it, because ``maxWorkPerByte`` limits the work for each of its bytes. In a stream, each member has the
/// budget.
///
/// The limits apply on both sides: an encoder throws `limitExceeded` for data that a decoder with the same limits would
/// reject. Only ``steps`` are not counted while encoding. A decoder may reject a set or dictionary of thousands of
/// elements that all have the same hash, such as data with the same first 80 bytes. Building it takes quadratic time in any program.
public struct ArchiveLimits: Sendable, Hashable {
  /// Which limit was exceeded.
  public enum Limit: String, Sendable, Hashable, CaseIterable {
    /// Beyond ``ArchiveLimits/depth``.
    case depth
    /// Beyond ``ArchiveLimits/count``.
    case count
    /// Beyond ``ArchiveLimits/stringLength``.
    case stringLength
    /// Beyond ``ArchiveLimits/inflatedSize``.
    case inflatedSize
    /// Beyond ``ArchiveLimits/inflationRatio``.
    case inflationRatio
    /// Beyond ``ArchiveLimits/values``.
    case values
    /// Beyond ``ArchiveLimits/expandedBytes``.
    case expandedBytes
    /// Beyond ``ArchiveLimits/steps``.
    case steps
    /// Beyond ``ArchiveLimits/outputSize``.
    case outputSize
  }

  /// The maximum number of levels of nesting; 512 by default.
  public var depth: Int = 512
  /// The maximum number of elements of one array, set, map or record; 16,777,216 by default.
  public var count: Int = 1 << 24
  /// The maximum size in bytes of one string or byte string; 256 MiB by default.
  public var stringLength: Int = 256 << 20
  /// The maximum size in bytes of one inflated member; 1 GiB by default. A stream has a member for every few thousand models.
  public var inflatedSize: Int = 1 << 30
  /// The maximum ratio of an inflated member to its size in the file; 1,032 by default. Deflate cannot exceed this ratio (RFC 1951),
  /// so that only a lower setting rejects anything.
  public var inflationRatio: Int = 1032
  /// The maximum number of values decoded from one file; 1,073,741,824 by default. Elements, keys and fields count as one value
  /// each, and so does each collection.
  public var values: Int = 1 << 30
  /// The maximum number of bytes of text and data that references in one file expand to; 16 GiB by default. Keys count for each
  /// record that has them. In memory, a referenced text exists once, but code that writes the values writes it each time.
  public var expandedBytes: Int = 1 << 34
  /// The maximum number of steps of work in addition to reading; 4,294,967,296 by default. A step is a value, or a word of 16 bytes,
  /// that is hashed or compared to find duplicates in sets and keys.
  public var steps: Int = 1 << 32
  /// The work that each byte of a file may cause; 64 by default. Each byte allows this many ``values``, and four times as many
  /// ``expandedBytes`` and ``steps``. In addition, 4,194,304 values, 64 MiB and 67,108,864 steps are free, once for a file and its
  /// members. `Int.max` disables this limit.
  ///
  /// The limit applies to the compressed bytes of the file. Encoders add empty blocks to a member that would otherwise be too small
  /// for readers: a member has at least one byte for 32 values and for 128 bytes that references expand to.
  public var maxWorkPerByte: Int = 64
  /// The maximum size in bytes of one text or body that is written; 16 GiB by default. A value that repeats shared parts is rejected
  /// earlier: beyond 64 MiB, at 64 times the size of its distinct parts. So are objects with many references to them, if each
  /// reference writes them again, as in JSON: beyond 256 KiB, at 64 times the size of everything else.
  public var outputSize: Int = 1 << 34

  /// The default limits.
  public init() {}
}
