/// The JSON form of a model's fields, built from conventions and from entries for individual fields.
///
///     let mapping = JSONMapping<Issue>.snakeCase
///       .merging(["page": "html_url", "votes": .path("votes").lenient(.numericString)])
///       .removing("cache")
///     let adapter = try JSONAdapter(mapping)
///
/// Fields are identified by their keys. A field without an entry in the mapping is neither read nor written. Creating an adapter from the
/// mapping reports all mistakes at once.
public struct JSONMapping<M: VersionedModel>: Sendable, ExpressibleByDictionaryLiteral {
  /// The JSON form of each field in the mapping, by key.
  public private(set) var fields: [String: JSONField]

  /// Creates a mapping that contains only the given fields.
  public init(_ fields: [String: JSONField] = [:]) { self.fields = fields }

  public init(dictionaryLiteral elements: (String, JSONField)...) {
    fields = Dictionary(elements, uniquingKeysWith: { _, last in last })
  }

  /// The mapping that the fields of the model declare.
  public static var model: JSONMapping {
    JSONMapping(M.schema.mapping(\.json))
  }

  /// Maps every field to its own key.
  public static var identity: JSONMapping { keys { $0 } }

  /// Maps every field to its key in snake case: `createdAt` to `created_at`, `htmlURL` to `html_url`.
  public static var snakeCase: JSONMapping { keys(SnakeCase.key) }

  /// Maps every field to a key that is computed from its own key.
  public static func keys(_ convert: (String) -> String) -> JSONMapping {
    JSONMapping(M.schema.mapping { .path(ValuePath(key: convert($0.key))) })
  }

  /// Returns this mapping with the entries of another mapping added. If both have an entry for a key, the other mapping's entry wins.
  public func merging(_ other: JSONMapping) -> JSONMapping {
    JSONMapping(fields.merging(other.fields) { _, new in new })
  }

  /// Returns this mapping with another model's entries added for the keys that both models declare. Call this method for models that share
  /// fields. If both mappings have an entry for a key, the entry of this mapping wins.
  public func including<Other>(_ other: JSONMapping<Other>) -> JSONMapping {
    let keys = Set(M.schema.allKeys)
    return JSONMapping(fields.merging(other.fields.filter { keys.contains($0.key) }) { own, _ in own })
  }

  /// Returns this mapping without some of its fields. Keys that are not in the mapping are ignored.
  public func removing(_ keys: String...) -> JSONMapping { JSONMapping(fields.filter { !keys.contains($0.key) }) }

  /// Returns a copy of this mapping that applies a transformer to every field whose type is the transformer's output type or an optional of
  /// it. Fields that already have a transformer keep their own.
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
  /// If the property is not a field of the model, creating an adapter throws.
  public func setting(_ property: PartialKeyPath<M>, _ json: JSONField) -> JSONMapping {
    merging(JSONMapping([M.fields.key(of: property) ?? String(describing: property): json]))
  }
}

extension ModelSchema {
  /// Calls `json` with each field and returns the results in a dictionary under the fields' keys.
  func mapping(_ json: (FieldInfo) -> JSONField) -> [String: JSONField] {
    Dictionary(fields.map { ($0.key, json($0)) }, uniquingKeysWith: { first, _ in first })
  }
}

/// Converts keys to snake case: `createdAt` becomes `created_at`.
enum SnakeCase {
  static func key(_ key: String) -> String {
    let characters = Array(key)
    var result = ""
    for (place, character) in characters.enumerated() {
      if character.isUppercase, place > 0 {
        let follows = characters[place - 1]
        let next = place + 1 < characters.count ? characters[place + 1] : nil
        // A capital begins a word if it follows a lowercase letter or a digit. In a series of capitals, the last one begins a word if a
        // lowercase letter follows it.
        if follows.isLowercase || follows.isNumber || follows.isUppercase && next?.isLowercase == true {
          result.append("_")
        }
      }
      result += character.lowercased()
    }
    return result
  }
}
