/// A part of a stream that could not be read and was skipped.
public struct StreamGap: Sendable, CustomStringConvertible {
  /// How a reader handles bytes that it cannot read.
  public enum Handling: Sendable, Hashable {
    /// The error is thrown.
    case fails
    /// Damaged members are skipped, and each gap is reported. An unreadable file, an exceeded limit and a newer
    /// program's archive are not damage, and are thrown. A member after damage is skipped as well if nothing shows that
    /// it belongs to the stream, because the content of a model can look like a member.
    case skips
  }

  /// The range of bytes in the file.
  public let bytes: Range<Int>
  /// The number of missing members; `nil` if it is unknown, because no member follows.
  public let memberCount: Int?
  /// The number of missing models, if an intact end of the stream with that number follows; otherwise `nil`.
  public internal(set) var modelCount: Int?
  /// The error at the first of these bytes.
  public let error: ArchiveError

  public var description: String {
    let members = memberCount.map { "\($0) member\($0 == 1 ? "" : "s")" } ?? "the rest of the file"
    let models = modelCount.map { ", \($0) model\($0 == 1 ? "" : "s")" } ?? ""
    return "bytes \(bytes.lowerBound)..<\(bytes.upperBound): \(members)\(models): \(error)"
  }
}
