/// How much one archive may claim, and how much work it may cause, before an error ends it.
///
/// The defaults hold archives of several gigabytes of models and refuse what only an attacker would write. Each
/// limit is checked inside the loop that would allocate or work.
///
/// ``values``, ``expandedBytes`` and ``steps`` are one budget that all of a file shares, however its parts are nested.
/// A file that is small may not use all of it: ``maxWorkPerByte`` says how much each of its bytes may ask for. A stream has
/// the budget for each of its members.
///
/// The limits hold on both sides: an encoder throws `limitExceeded` for what a decoder with the same limits would refuse.
/// Only ``steps`` are not counted while encoding. A decoder may refuse a set or dictionary of thousands of elements that all
/// hash alike, as data of which the first 80 bytes agree: to build it takes the square of its size in any program.
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
  /// How many times larger than the file a member may become, 1,032 unless set, which is the most that
  /// deflate reaches (RFC 1951), so that by default only a lower setting refuses anything.
  public var inflationRatio: Int = 1032
  /// Values made of one file, 1,073,741,824 unless set: elements, keys and fields, and one more for each collection.
  public var values: Int = 1 << 30
  /// Bytes of text and data that references in one file stand for, 16 GiB unless set. Keys count for each record that
  /// has them. In memory what is referred to exists once; what writes the values writes it each time.
  public var expandedBytes: Int = 1 << 34
  /// Steps of work beside reading itself, 4,294,967,296 unless set: values and words of 16 bytes that are hashed or
  /// compared to find duplicates in sets and keys.
  public var steps: Int = 1 << 32
  /// How much work each byte of a file may cause, 64 unless set: this many ``values``, and four times as many
  /// ``expandedBytes`` and ``steps``. 4,194,304 values, 64 MiB and 67,108,864 steps are free, once for a file and its
  /// members. `Int.max` turns it off.
  ///
  /// It counts bytes of the file, compressed. Encoders fill up what deflates to less than readers ask for, with empty
  /// blocks: a member has at least one byte for 32 values and for 128 bytes that references stand for.
  public var maxWorkPerByte: Int = 64
  /// Bytes of one text or body that is written, 16 GiB unless set. A value whose parts stand in it again and again is
  /// refused before: beyond 64 MiB, at 64 times the parts that differ. So are objects that many others refer to where
  /// each reference writes them anew, as in JSON: beyond 256 KiB, at 64 times all else.
  public var outputSize: Int = 1 << 34

  /// The default limits.
  public init() {}
}
