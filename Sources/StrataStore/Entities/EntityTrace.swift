public import GRDB
public import StrataCore

/// What becomes of one field of a document on its way into a column. It has values, which may be private.
public struct EntityTrace: Sendable {
  /// The registered name of the model.
  public let entity: String
  /// Where in the document the object is.
  public let path: [ArchiveError.PathComponent]
  /// The key of the field.
  public let key: String
  /// Where the source has it; `nil` where the source is not JSON.
  public let source: String?
  /// What the source has there; `nil` where it has nothing.
  public let raw: ArchiveValue?
  /// The value of the property; `nil` where the source says nothing about it, which leaves a row as it is.
  public let value: ArchiveValue?
  /// The column; `nil` for a relation and for a field without one.
  public let column: String?
  /// What the column gets; `nil` where ``value`` is.
  public let stored: DatabaseValue?
}

extension EntityTrace: CustomStringConvertible {
  /// One line: `Bookmark identifier ← id 1122 → 1122 → identifier = 1122`.
  public var description: String {
    var text = "\(entity) \(key)"
    if let source { text += " ← \(source)" }
    guard let raw else { return text + " absent" }
    text += " \(raw)"
    if let value { text += " → \(value)" }
    if let column, let stored { text += " → \(column) = \(stored)" }
    return text
  }
}
