internal import StrataCore

/// The effects on keys of the steps from an older version, as far as the operations show them.
struct KeyHistory {
  private enum Change {
    case renamed(String, to: String, overwriting: Bool)
    case created(String)
    case removed(String)
    case converted(String)
    /// Changed in another way, which needs the key to exist.
    case changed(String)
  }

  private var changes: [Change] = []
  /// Whether a step has a closure, whose effects are not known.
  private(set) var hasClosures = false

  mutating func add(_ operation: MigrationOperation) {
    switch operation {
    case .rename(let key, let newKey, let overwrites):
      changes.append(.renamed(key, to: newKey, overwriting: overwrites))
    case .move(let path, let newPath, _, let overwrites):
      if let key = path.onlyKey, let newKey = newPath.onlyKey {
        changes.append(.renamed(key, to: newKey, overwriting: overwrites))
      } else {
        add(path) { .removed($0) }
        add(newPath) { overwrites ? .changed($0) : .created($0) }
      }
    case .drop(let path): add(path) { .removed($0) }
    case .setDefault(let path, _): add(path) { .created($0) }
    case .convert(let path, _): add(path) { .converted($0) }
    case .replaceNull(let path, _): if let key = path.firstKey { changes.append(.changed(key)) }
    case .optional(let operation): add(operation)
    case .custom: hasClosures = true
    }
  }

  /// Adds the change of a key, or of a value within the value of a key.
  private mutating func add(_ path: ValuePath, _ change: (String) -> Change) {
    guard let key = path.firstKey else { return }
    changes.append(path.onlyKey == nil ? .changed(key) : change(key))
  }

  mutating func addRename(_ key: String, to newKey: String) {
    changes.append(.renamed(key, to: newKey, overwriting: false))
  }

  /// Whether an operation names the key.
  func names(_ key: String) -> Bool {
    changes.contains { change in
      switch change {
      case .renamed(let old, let new, _): old == key || new == key
      case .created(let name), .removed(let name), .converted(let name), .changed(let name): name == key
      }
    }
  }

  /// Whether the key can exist in the old version: the first operation that names it does not create it.
  func mayExist(_ key: String) -> Bool {
    for change in changes {
      switch change {
      case .renamed(key, _, _), .removed(key), .converted(key), .changed(key), .renamed(_, key, true): return true
      case .created(key), .renamed(_, key, false): return false
      default: continue
      }
    }
    return true
  }

  /// The key in the current version whose value is that of an old key; `nil` if a step removes or converts the value.
  func destination(of key: String) -> String? {
    var key = key
    for change in changes {
      switch change {
      case .renamed(key, let new, _): key = new
      case .created(key), .removed(key), .converted(key), .renamed(_, key, _): return nil
      default: continue
      }
    }
    return key
  }

  /// The key in the old version whose value becomes that of a current key; `nil` if a step creates the value.
  func origin(of key: String) -> String? {
    var key = key
    for change in changes.reversed() {
      switch change {
      case .renamed(let old, key, _): key = old
      case .created(key), .removed(key), .renamed(key, _, _): return nil
      default: continue
      }
    }
    return key
  }
}
