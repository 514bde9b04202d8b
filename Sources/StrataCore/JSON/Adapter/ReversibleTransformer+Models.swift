extension ReversibleTransformer where Input == ArchiveValue, Output: Archivable & SendableMetatype {
  /// Converts between a JSON object and a model, using an adapter.
  public static func model(_ adapter: JSONAdapter<Output>) -> Self {
    Self(
      Transformer({ try adapter.decode($0) }, unfinished: { try adapter.decodeUnfinished($0) }),
      reverse: Transformer(ofObjects: { try adapter.value(of: $0, nil, isInside: true) }))
  }
}

extension ReversibleTransformer where Input == ArchiveValue {
  /// Converts between a JSON array and an array of models, using an adapter. Nulls keep their positions in both directions.
  public static func models<Element: SendableMetatype>(_ adapter: JSONAdapter<Element>) -> Self
  where Output == [Element?] {
    @Sendable func models(
      _ value: ArchiveValue, _ decode: (ArchiveValue) throws -> Element
    ) throws -> [Element?] {
      guard case .array(let elements) = value else {
        throw ArchiveError.mismatch(expected: "an array", found: value.kind)
      }
      return try elements.results { $0.isNull ? nil : try decode($0) }
    }
    return Self(
      Transformer(
        { try models($0) { try adapter.decode($0) } },
        unfinished: { try models($0) { try adapter.decodeUnfinished($0) } }),
      reverse: Transformer(ofObjects: { models in
        .array(try models.results { try $0.map { try adapter.value(of: $0, nil, isInside: true) } ?? .null })
      }))
  }

  /// Converts between a JSON object whose keys are identifiers, `{"7": {…}}`, and an array of its values. Each element contains its
  /// identifier under `key`: `[{"id": "7", …}]`. The order of the document is kept.
  ///
  /// The reverse direction throws ``ArchiveError`` with the code `notEncodable` for a value that is not an array, for an element that has
  /// no text under `key`, and for two elements with the same text.
  public static func keyedElements(_ key: String) -> Self where Output == ArchiveValue {
    Self(
      { value in
        guard case .object(let object) = value else {
          throw ArchiveError.mismatch(expected: "an object", found: value.kind)
        }
        return .array(
          try object.entries.map { entry in
            guard case .object(let element) = entry.value else {
              throw ArchiveError.at(
                .key(entry.key), ArchiveError.mismatch(expected: "an object", found: entry.value.kind))
            }
            let others = element.entries.filter { !ExactKey.isSame($0.key, key) }
            return .object(ArchiveObject(uniqueEntries: [.init(key: key, value: .string(entry.key))] + others))
          })
      },
      reverse: { value in
        guard case .array(let elements) = value else {
          throw ArchiveError(
            .notEncodable, "the value to encode must be an array of objects; found \(value.kind)")
        }
        var entries: [ArchiveObject.Entry] = []
        var ids = Set<ExactKey>()
        for (index, element) in elements.enumerated() {
          guard case .object(var object) = element, let id = object[key]?.stringValue else {
            throw ArchiveError(
              .notEncodable, "an element has no string under its identifying key \(key)", path: [.index(index)])
          }
          guard ids.insert(ExactKey(id)).inserted else {
            throw ArchiveError(
              .notEncodable,
              "two elements have the same string under the identifying key \(key); each string must be unique",
              path: [.index(index)])
          }
          object[key] = nil
          entries.append(.init(key: id, value: .object(object)))
        }
        return .object(ArchiveObject(uniqueEntries: entries))
      })
  }
}
