internal import StrataCore

/// The effects on keys of the steps from an older version, as far as the operations show them.
struct KeyHistory {
  /// A value that moves from one key to another. One of the keys is `nil` for a value that is removed or created.
  private struct Change {
    let source: String?
    let target: String?
    var isConverted = false
  }

  private var changes: [Change] = []
  /// Whether a step has a closure, whose effects are not known.
  private var hasClosures = false

  /// Creates the history of the classes of a row. Former keys are renamed last.
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
      // A closure may read any key, and declares only those that it changes.
      hasClosures = true
      for key in keys ?? [] { changes.append(Change(source: key, target: key, isConverted: true)) }
    case .rename, .move, .drop, .setDefault:
      let (source, target) = (operation.effect?.sources.first, operation.effect?.targets.first)
      // A path within the value of a key changes the value.
      for path in [source, target] where path?.onlyKey == nil {
        changes.append(Change(source: path?.firstKey, target: path?.firstKey))
      }
      changes.append(Change(source: source?.onlyKey, target: target?.onlyKey))
    }
  }

  /// Whether an operation mentions the key.
  func mentions(_ key: String) -> Bool { changes.contains { $0.source == key || $0.target == key } }

  /// Whether a step may read the key.
  func reads(_ key: String) -> Bool { hasClosures || mentions(key) }

  /// Whether the key can exist in the old version: the first operation that names it does not create it.
  func mayExist(_ key: String) -> Bool {
    changes.first { $0.source == key || $0.target == key }.map { $0.source == key } ?? true
  }

  /// The key in the current version that has the value of an old key; `nil` if a step removes or converts the value.
  func destination(of key: String) -> String? {
    changes.reduce(key) { key, change in
      guard let key, change.source == key || change.target == key else { return key }
      return change.source == key && !change.isConverted ? change.target : nil
    }
  }

  /// The key in the old version whose value a current key has; `nil` if a step creates the value.
  func origin(of key: String) -> String? {
    changes.reversed().reduce(key) { key, change in
      guard let key, change.source == key || change.target == key else { return key }
      return change.target == key ? change.source : nil
    }
  }
}
