internal import StrataCore

/// Tracks how a model's migration steps create, move, change and remove the values of keys, starting from an older version.
struct KeyHistory {
  /// The move of a value from one key to another. `target` is `nil` if a step removes the value, and `source` is `nil` if a
  /// step creates it.
  private struct Change {
    let source: String?
    let target: String?
    var isConverted = false
  }

  private var changes: [Change] = []
  /// Whether any step has a closure. The effects of closures are unknown.
  private var hasClosures = false

  /// Creates the history for a class and its superclasses. If the name of an unused column is a field's former key, a rename from
  /// this key to the field's current key is added at the end.
  init(_ schema: ModelSchema, _ part: EntityVersions.Part, _ unused: [EntityTable.Column]) {
    for level in schema.superclasses.reversed() + [schema] {
      for step in level.migration?.steps ?? [] where step.fromVersion >= part.version(of: level) {
        for operation in step.operations { add(operation) }
      }
    }
    for field in schema.fields {
      for key in field.formerly where unused.contains(where: { $0.name == key }) { add(.rename(key, to: field.key)) }
    }
  }

  private mutating func add(_ operation: MigrationOperation) {
    switch operation {
    case .optional(let operation): add(operation)
    case .replaceNull(let path, _): changes.append(Change(source: path.firstKey, target: path.firstKey))
    case .convert(let path, _):
      changes.append(Change(source: path.firstKey, target: path.firstKey, isConverted: path.onlyKey != nil))
    case .custom(_, let keys, _):
      // A closure declares only the keys that it changes. It may read any key, so `hasClosures` is set as well.
      hasClosures = true
      for key in keys ?? [] { changes.append(Change(source: key, target: key, isConverted: true)) }
    case .rename, .move, .drop, .setDefault:
      let (source, target) = (operation.effect?.sources.first, operation.effect?.targets.first)
      // An operation on a path within a key's value changes this value, so it is treated as a change of the key.
      for path in [source, target] where path?.onlyKey == nil {
        changes.append(Change(source: path?.firstKey, target: path?.firstKey))
      }
      changes.append(Change(source: source?.onlyKey, target: target?.onlyKey))
    }
  }

  /// Returns whether any operation refers to the key.
  func mentions(_ key: String) -> Bool { changes.contains { $0.source == key || $0.target == key } }

  /// Returns whether any step may read the key.
  func reads(_ key: String) -> Bool { hasClosures || mentions(key) }

  /// Returns whether the key may exist in the old version. The key does not exist if the first operation that refers to it
  /// creates it.
  func mayExist(_ key: String) -> Bool {
    changes.first { $0.source == key || $0.target == key }.map { $0.source == key } ?? true
  }

  /// Returns the current key that has the value of a key in the old version, or `nil` if a step removes or converts the value.
  func destination(of key: String) -> String? {
    changes.reduce(key) { key, change in
      guard let key, change.source == key || change.target == key else { return key }
      return change.source == key && !change.isConverted ? change.target : nil
    }
  }

  /// Returns the key in the old version that has the value of a current key, or `nil` if a step creates the value.
  func origin(of key: String) -> String? {
    changes.reversed().reduce(key) { key, change in
      guard let key, change.source == key || change.target == key else { return key }
      return change.target == key ? change.source : nil
    }
  }
}
