public import GRDB
public import StrataCore

/// A trace of one field from its source, such as a JSON document, to its column. The trace contains the field's values, which may
/// be private.
public struct EntityTrace: Sendable {
  /// The registered name of the model.
  public let entity: String
  /// The path of the object in the source.
  public let path: [ArchiveError.PathComponent]
  /// The key of the field.
  public let key: String
  /// The JSON path of the field in the source, or `nil` if the source is not JSON.
  public let source: String?
  /// The unconverted value in the source, or `nil` if the source does not contain the field.
  public let raw: ArchiveValue?
  /// The value of the property. `nil` if the source does not contain the field, in which case existing rows keep their value.
  public let value: ArchiveValue?
  /// The name of the column. `nil` for a relation or a field without a column.
  public let column: String?
  /// The value to store in the column. `nil` if ``column`` or ``value`` is `nil`, if the stored value depends on the row, or if
  /// the value cannot be stored.
  public let stored: DatabaseValue?
}

extension EntityTrace: CustomStringConvertible {
  /// One line, such as `Bookmark identifier ← id 1122 → 1122 → identifier = 1122`.
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
