/// An unreadable part of a stream that a reader skipped.
public struct StreamGap: Sendable, CustomStringConvertible {
  /// How a reader handles bytes that it cannot read.
  public enum Handling: Sendable, Hashable {
    /// The reader throws the error.
    case fails
    /// The reader skips damaged members and reports each gap. Any other error is still thrown, for example if the file
    /// cannot be read, a limit is exceeded, or a newer program wrote the archive. An intact member after damage is also
    /// skipped if it is not known to belong to the stream, because bytes inside a model can look like a member.
    case skips
  }

  /// The range of the skipped bytes in the file.
  public let bytes: Range<Int>
  /// The number of missing members; `nil` if it is unknown, because no member follows the gap.
  public let memberCount: Int?
  /// The number of missing models, computed from the totals in the next intact end member; `nil` if it is unknown.
  public internal(set) var modelCount: Int?
  /// The error that occurred at the first skipped byte.
  public let error: ArchiveError

  public var description: String {
    let members = memberCount.map { "\($0) member\($0 == 1 ? "" : "s")" } ?? "the rest of the file"
    let models = modelCount.map { ", \($0) model\($0 == 1 ? "" : "s")" } ?? ""
    return "bytes \(bytes.lowerBound)..<\(bytes.upperBound): \(members)\(models): \(error)"
  }
}
