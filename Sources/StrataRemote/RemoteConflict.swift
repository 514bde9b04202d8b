public import StrataCore

/// A value that both sides changed and that no merge policy resolves. The row keeps the local value, which is not sent
/// until the conflict is resolved.
public struct RemoteConflict: Sendable, Hashable {
  /// The number by which ``RemoteStore/resolve(_:_:)`` identifies the conflict.
  public let number: Int64
  /// The account to which the conflict belongs.
  public let account: String
  /// The name of the entity.
  public let entity: String
  /// The primary key of the local record.
  public let record: String
  /// The key of the property.
  public let key: String
  /// The path of the conflicting value. This is the property, or a path within the property if it holds a model or a
  /// dictionary.
  public let path: String
  /// The last value on which both sides agreed, or null if there was none.
  public let base: ArchiveValue
  /// The local value, or null if there is none.
  public let local: ArchiveValue
  /// The server's value, or null if there is none.
  public let server: ArchiveValue

  /// How a conflict is resolved.
  public enum Resolution: Sendable, Hashable {
    /// The local value is sent, and replaces the server's value.
    case local
    /// The server's value replaces the local value.
    case server
    /// The given value replaces both values, and is sent.
    case value(ArchiveValue)
  }
}

extension RemoteConflict: CustomStringConvertible {
  /// One line with the number, the path and the record, without values.
  public var description: String { "conflict \(number): \(path) of \(entity) \(record)".onOneLine }
}
