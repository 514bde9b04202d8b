/// Limits on the sizes that one archive may claim, and on the work that it may cause.
///
/// The defaults accept archives of several gigabytes of models, and reject what only an attacker would write. Each
/// limit is checked inside the loop that would allocate or work.
///
/// ``values``, ``expandedBytes`` and ``steps`` form one budget that all parts of a file share, however deeply they are
/// nested. A small file may not use all of it: ``maxWorkPerByte`` limits the work for each of its bytes. In a stream,
/// each member has the budget.
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

  /// Levels of nesting, 512 unless set.
  public var depth: Int = 512
  /// Elements of one array, set, map or record, 16,777,216 unless set.
  public var count: Int = 1 << 24
  /// Bytes of one string or byte string, 256 MiB unless set.
  public var stringLength: Int = 256 << 20
  /// Bytes of one member once inflated, 1 GiB unless set. A stream has a member for every few thousand models.
  public var inflatedSize: Int = 1 << 30
  /// The largest ratio of an inflated member to the file, 1,032 unless set. This is the most that deflate reaches (RFC
  /// 1951), so that only a lower setting rejects anything.
  public var inflationRatio: Int = 1032
  /// Values decoded from one file, 1,073,741,824 unless set: elements, keys and fields, and one more for each collection.
  public var values: Int = 1 << 30
  /// Bytes of text and data that references in one file expand to, 16 GiB unless set. Keys count for each record that
  /// has them. In memory, a referenced text exists once. Code that writes the values writes it each time.
  public var expandedBytes: Int = 1 << 34
  /// Steps of work in addition to reading, 4,294,967,296 unless set: values and words of 16 bytes that are hashed or
  /// compared to find duplicates in sets and keys.
  public var steps: Int = 1 << 32
  /// The work that each byte of a file may cause, 64 unless set: this many ``values``, and four times as many
  /// ``expandedBytes`` and ``steps``. In addition, 4,194,304 values, 64 MiB and 67,108,864 steps are free, once for a
  /// file and its members. `Int.max` turns this limit off.
  ///
  /// It counts the compressed bytes of the file. Encoders add empty blocks to a member that would otherwise be too
  /// small for readers: a member has at least one byte for 32 values and for 128 bytes that references expand to.
  public var maxWorkPerByte: Int = 64
  /// Bytes of one text or body that is written, 16 GiB unless set. A value that repeats shared parts is rejected
  /// earlier: beyond 64 MiB, at 64 times the size of its distinct parts. So are objects with many references to them,
  /// if each reference writes them again, as in JSON: beyond 256 KiB, at 64 times all else.
  public var outputSize: Int = 1 << 34

  /// The default limits.
  public init() {}
}
