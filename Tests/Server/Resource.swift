internal import Foundation
internal import StrataCore

/// A record of a list.
struct Resource: Sendable {
  /// The text of the record's id, which names it in a path.
  let id: String
  let json: ArchiveValue
  /// The record as JSON text.
  let content: Data
  let tag: EntityTag
  /// The time of the last change.
  let modified: Date

  /// - Throws: ``Problem`` if the value is not an object with an id.
  init(_ json: ArchiveValue, modified: Date) throws {
    guard case .object = json else {
      throw Problem(422, "the record is \(json.kind.withArticle); an object is needed")
    }
    guard let id = Self.id(of: json) else {
      throw Problem(422, "the record has no id; text that is not empty, or a number, is needed under “id”")
    }
    self.id = id
    self.json = json
    content = try JSONWriter().write(json)
    tag = EntityTag(of: content)
    self.modified = modified
  }

  /// The text of a record's id, or `nil` if it has none that a path can contain.
  static func id(of json: ArchiveValue) -> String? { json["id"].flatMap(text(ofID:)) }

  private static func text(ofID value: ArchiveValue) -> String? {
    switch value {
    case .string(let text): text.isEmpty ? nil : text
    case .int, .uint, .wideInteger, .double, .decimal, .number: value.scalarText
    default: nil
    }
  }
}

extension String {
  /// The noun with its article, for messages.
  var withArticle: String {
    guard self != "null" else { return self }
    return ("aeiou".contains(self.first ?? " ") ? "an " : "a ") + self
  }
}
