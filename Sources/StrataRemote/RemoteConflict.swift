public import StrataCore

/// A value that was changed both locally and on the server and that no merge policy of the model can merge. The row
/// keeps the local value, which is not sent until the conflict is resolved.
public struct RemoteConflict: Sendable, Hashable {
  /// The number by which ``RemoteStore/resolve(_:_:)`` identifies the conflict.
  public let number: Int64
  /// The account whose changes and responses caused the conflict.
  public let account: String
  /// The name of the record's entity.
  public let entity: String
  /// The primary key of the local record, as text.
  public let record: String
  /// The key of the property that has the conflict.
  public let key: String
  /// The path of the conflicting value in the record. It is the key of the property, or a longer path if only one value
  /// inside a nested model or a dictionary is in conflict.
  public let path: String
  /// The last value that the app and the server had in common, or null if there was none.
  public let base: ArchiveValue
  /// The local value, or null if there is none.
  public let local: ArchiveValue
  /// The server's value, or null if there is none.
  public let server: ArchiveValue

  /// How a conflict is resolved.
  public enum Resolution: Sendable, Hashable {
    /// The local value is kept and is sent to the server to replace the server's value.
    case local
    /// The server's value replaces the local value.
    case server
    /// The given value replaces the local value and is sent to the server to replace the server's value.
    case value(ArchiveValue)
  }
}

extension RemoteConflict: CustomStringConvertible {
  /// One line with the number, the path and the record. It contains none of the conflicting values.
  public var description: String { "conflict \(number): \(path) of \(entity) \(record)".onOneLine }
}
