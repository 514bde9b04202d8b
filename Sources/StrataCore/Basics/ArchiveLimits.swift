/// Limits on the sizes that an archive may declare and on the work that reading it may cause.
///
/// The defaults accept archives with several gigabytes of models. They reject only archives that are crafted to exhaust a reader. Each
/// limit is checked before memory is allocated or work is done.
///
/// ``values``, ``expandedBytes`` and ``steps`` are budgets for a whole file or, in a stream, for each member. All values share these
/// budgets, at any depth. A small file cannot use up a budget, because ``maxWorkPerByte`` limits the work for each byte of the file.
///
/// Encoders check the limits, too. They throw `limitExceeded` for data that a decoder with the same limits would reject. Only ``steps`` are
/// not counted while encoding. A decoder may therefore reject an encoded set or dictionary with thousands of elements that all have the
/// same hash, such as data with the same first 80 bytes. Building such a collection takes quadratic time in any program.
public struct ArchiveLimits: Sendable, Hashable {
  /// The name of a limit, for errors that report an exceeded limit.
  public enum Limit: String, Sendable, Hashable, CaseIterable {
    /// The limit on the depth of nested values, ``ArchiveLimits/depth``.
    case depth
    /// The limit on the number of elements, ``ArchiveLimits/count``.
    case count
    /// The limit on the size of a string or byte string, ``ArchiveLimits/stringLength``.
    case stringLength
    /// The limit on the inflated size of a member, ``ArchiveLimits/inflatedSize``.
    case inflatedSize
    /// The limit on the compression ratio of a member, ``ArchiveLimits/inflationRatio``.
    case inflationRatio
    /// The limit on the number of values, ``ArchiveLimits/values``.
    case values
    /// The limit on the number of bytes to which references expand, ``ArchiveLimits/expandedBytes``.
    case expandedBytes
    /// The limit on the work of finding duplicates, ``ArchiveLimits/steps``.
    case steps
    /// The limit on the size of written data, ``ArchiveLimits/outputSize``.
    case outputSize
  }

  /// The maximum depth of nested values; 512 by default.
  public var depth: Int = 512
  /// The maximum number of elements in one array, set, map or record; 16,777,216 by default.
  public var count: Int = 1 << 24
  /// The maximum size in bytes of one string or byte string; 256 MiB by default.
  public var stringLength: Int = 256 << 20
  /// The maximum size in bytes of one inflated member; 1 GiB by default. A stream has a member for every few thousand models.
  public var inflatedSize: Int = 1 << 30
  /// The maximum ratio of a member's inflated size to its size in the file; 1,032 by default. Deflate cannot exceed the default
  /// ratio (RFC 1951), so only a lower limit has an effect.
  public var inflationRatio: Int = 1032
  /// The maximum number of values decoded from one file; 1,073,741,824 by default. Each element, key and field counts as one value,
  /// and so does each collection.
  public var values: Int = 1 << 30
  /// The maximum number of bytes of text and data that references in one file expand to; 16 GiB by default. Keys are counted for each
  /// record that has them. In memory, a repeated string exists only once, but code that writes the decoded values writes the string again
  /// for each reference.
  public var expandedBytes: Int = 1 << 34
  /// The maximum number of steps for finding duplicates in sets and among keys; 4,294,967,296 by default. Each step hashes or compares one
  /// value, or 16 bytes of text or data.
  public var steps: Int = 1 << 32
  /// The maximum work that each byte of a file may cause; 64 by default. Each byte allows this number of ``values``, and four times
  /// this number of ``expandedBytes`` and ``steps``. In addition, every file has an allowance of 4,194,304 values, 64 MiB and
  /// 67,108,864 steps, which all members share. `Int.max` disables this limit.
  ///
  /// The limit applies to the compressed bytes of the file. Encoders pad a member with empty blocks if readers would otherwise
  /// reject it as too small: a member has at least one byte for every 32 values, and for every 128 bytes that references expand to.
  public var maxWorkPerByte: Int = 64
  /// The maximum size in bytes of one JSON text or archive body that is written; 16 GiB by default. Two lower limits apply to repeated
  /// content. First, a value that repeats shared parts is rejected if its output is larger than both 64 MiB and 64 times the size of its
  /// distinct parts. Second, if each reference writes its object again, as in JSON, the repeated objects are rejected if they are larger
  /// than both 256 KiB and 64 times the size of everything else.
  public var outputSize: Int = 1 << 34

  /// Creates the default limits.
  public init() {}
}
