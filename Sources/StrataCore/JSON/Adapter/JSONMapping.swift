/// The JSON form of a model's fields, built from conventions and entries for single fields.
///
///     let mapping = JSONMapping<Issue>.snakeCase
///       .merging(["page": "html_url", "votes": .path("votes").lenient(.numericString)])
///       .removing("cache")
///     let adapter = try JSONAdapter(mapping)
///
/// Fields are named by their keys. A field that a mapping does not name is neither read nor written. Creating an
/// adapter from the mapping reports all mistakes at once.
public struct JSONMapping<M: VersionedModel>: Sendable, ExpressibleByDictionaryLiteral {
  /// The JSON form of each field in the mapping, by key.
  public private(set) var fields: [String: JSONField]

  /// Creates a mapping of only these fields.
  public init(_ fields: [String: JSONField] = [:]) { self.fields = fields }

  public init(dictionaryLiteral elements: (String, JSONField)...) {
    fields = Dictionary(elements, uniquingKeysWith: { _, last in last })
  }

  /// The mapping that the fields of the model declare.
  public static var model: JSONMapping {
    JSONMapping(M.schema.mapping(\.json))
  }

  /// Every field under its own key.
  public static var identity: JSONMapping { keys { $0 } }

  /// Every field under its key in snake case: `createdAt` under `created_at`, `htmlURL` under `html_url`.
  public static var snakeCase: JSONMapping { keys(SnakeCase.key) }

  /// Every field under a key that is computed from its own key.
  public static func keys(_ convert: (String) -> String) -> JSONMapping {
    JSONMapping(M.schema.mapping { .path(ValuePath(key: convert($0.key))) })
  }

  /// Returns this mapping with the entries of another one, which win.
  public func merging(_ other: JSONMapping) -> JSONMapping {
    JSONMapping(fields.merging(other.fields) { _, new in new })
  }

  /// Returns this mapping with another model's entries for the keys that both models declare, for models that share
  /// fields. Entries of this mapping win.
  public func including<Other>(_ other: JSONMapping<Other>) -> JSONMapping {
    let keys = Set(M.schema.allKeys)
    return JSONMapping(fields.merging(other.fields.filter { keys.contains($0.key) }) { own, _ in own })
  }

  /// This mapping without some fields. A key that it does not have is ignored.
  public func removing(_ keys: String...) -> JSONMapping { JSONMapping(fields.filter { !keys.contains($0.key) }) }

  /// This mapping with a transformer for every field of a type, or of an optional of it, that has no transformer.
  public func transforming<Input: Archivable & SendableMetatype, Output: Archivable & SendableMetatype>(
    by transformer: ReversibleTransformer<Input, Output>
  ) -> JSONMapping {
    var result = self
    for field in M.schema.fields where field.holds(Output.self) {
      guard let json = fields[field.key], json.transform == nil else { continue }
      result.fields[field.key] = json.transformed(by: transformer)
    }
    return result
  }
}

extension JSONMapping where M: DescribedModel {
  /// Returns this mapping with an entry for a property.
  ///
  /// A property that is not a field of the model is a mistake, which an adapter rejects.
  public func setting(_ property: PartialKeyPath<M>, _ json: JSONField) -> JSONMapping {
    merging(JSONMapping([M.fields.key(of: property) ?? String(describing: property): json]))
  }
}

extension ModelSchema {
  /// The mapping with the result of `json` for each field, by key.
  func mapping(_ json: (FieldInfo) -> JSONField) -> [String: JSONField] {
    Dictionary(fields.map { ($0.key, json($0)) }, uniquingKeysWith: { first, _ in first })
  }
}

/// `createdAt` as `created_at`.
enum SnakeCase {
  static func key(_ key: String) -> String {
    let characters = Array(key)
    var result = ""
    for (place, character) in characters.enumerated() {
      if character.isUppercase, place > 0 {
        let follows = characters[place - 1]
        let next = place + 1 < characters.count ? characters[place + 1] : nil
        // A word begins after a small letter or a digit, and at the last of several capitals before a small letter.
        if follows.isLowercase || follows.isNumber || follows.isUppercase && next?.isLowercase == true {
          result.append("_")
        }
      }
      result += character.lowercased()
    }
    return result
  }
}
