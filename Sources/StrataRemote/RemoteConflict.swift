public import StrataCore

/// A value that both sides changed and no rule decides. The row has the value from here, which is not sent until it is resolved.
public struct RemoteConflict: Sendable, Hashable {
  /// What names the conflict when it is resolved.
  public let number: Int64
  /// The account that it belongs to.
  public let account: String
  /// The name of the entity.
  public let entity: String
  /// The primary key of the record here.
  public let record: String
  /// The property.
  public let key: String
  /// Where both sides changed something: the property, or what is in it where it holds a model or a dictionary.
  public let path: String
  /// What both sides last agreed on, what is here, and what the server has; null where there is nothing.
  public let base: ArchiveValue
  /// What is here.
  public let local: ArchiveValue
  /// What the server has.
  public let server: ArchiveValue

  /// How a conflict ends.
  public enum Resolution: Sendable, Hashable {
    /// The value here is sent, over the server's.
    case local
    /// The server's value counts.
    case server
    /// Another value counts, and is sent.
    case value(ArchiveValue)
  }
}

extension RemoteConflict: CustomStringConvertible {
  /// One line: the number, and which value of which record it is, without the values.
  public var description: String { "conflict \(number): \(path) of \(entity) \(record)".onOneLine }
}
