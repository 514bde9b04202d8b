public import GRDB
public import StrataCore

/// The trace of one field from a document to its column. It contains values, which may be private.
public struct EntityTrace: Sendable {
  /// The registered name of the model.
  public let entity: String
  /// The path of the object in the document.
  public let path: [ArchiveError.PathComponent]
  /// The key of the field.
  public let key: String
  /// The path of the field in the source; `nil` if the source is not JSON.
  public let source: String?
  /// The value in the source; `nil` if it is absent.
  public let raw: ArchiveValue?
  /// The value of the property; `nil` if the source lacks it, which leaves a row unchanged.
  public let value: ArchiveValue?
  /// The column; `nil` for a relation, and for a field without a column.
  public let column: String?
  /// The value for the column; `nil` if ``column`` or ``value`` is, or if it depends on the row or cannot be stored.
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
