/// What happens where bytes of a stream cannot be read.
public enum StreamDamage: Sendable, Hashable {
  /// The error is thrown.
  case fails
  /// The members that are damaged are passed over, and each gap is told (``StreamGap``). A file that cannot be read, a limit
  /// and a newer program's archive are no damage, and are thrown. A member behind damage is passed over as well where nothing
  /// shows that it belongs to the stream, since the content of a model can look like one.
  case skips
}

/// A part of a stream that could not be read and was passed over.
public struct StreamGap: Sendable, CustomStringConvertible {
  /// The bytes of the file.
  public let bytes: Range<Int>
  /// How many members are missing; `nil` where nobody knows, since no member follows.
  public let memberCount: Int?
  /// How many models are missing, where an intact end of the stream follows that tells; else `nil`.
  public internal(set) var modelCount: Int?
  /// What is wrong with the first of these bytes.
  public let error: ArchiveError

  public var description: String {
    let members = memberCount.map { "\($0) member\($0 == 1 ? "" : "s")" } ?? "the rest of the file"
    let models = modelCount.map { ", \($0) model\($0 == 1 ? "" : "s")" } ?? ""
    return "bytes \(bytes.lowerBound)..<\(bytes.upperBound): \(members)\(models): \(error)"
  }
}
