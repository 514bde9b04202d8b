/// JSON Merge Patch (RFC 7396): a document that says what changes in another one.
public enum JSONMergePatch {
  /// The patch that makes `new` of `old`.
  ///
  /// Objects are compared key by key, arrays and everything else as wholes. A null in an object of `new` cannot be
  /// said, since null removes; such a key is left out.
  public static func patch(from old: Value, to new: Value) -> Value {
    guard case .object(let new) = new else { return new }
    guard case .object(let old) = old else { return withoutNulls(.object(new)) }
    var entries: [Object.Entry] = []
    for entry in new.entries {
      let before = old[entry.key]
      if entry.value.isNull {
        if before?.isNull == false { entries.append(.init(key: entry.key, value: .null)) }
      } else if before != entry.value {
        entries.append(.init(key: entry.key, value: patch(from: before ?? .null, to: entry.value)))
      }
    }
    let kept = Set(new.keys.map { ExactKey($0) })
    for key in old.keys where !kept.contains(ExactKey(key)) { entries.append(.init(key: key, value: .null)) }
    return .object(Object(uniqueEntries: entries))
  }

  /// What a document becomes by a patch (RFC 7396, section 2).
  public static func apply(_ patch: Value, to target: Value) -> Value {
    guard case .object(let patch) = patch else { return patch }
    var result = target.objectValue ?? Object()
    for entry in patch.entries {
      result[entry.key] = entry.value.isNull ? nil : apply(entry.value, to: result[entry.key] ?? .null)
    }
    return .object(result)
  }

  private static func withoutNulls(_ value: Value) -> Value {
    guard case .object(let object) = value else { return value }
    let entries = object.entries.filter { !$0.value.isNull }
    return .object(Object(uniqueEntries: entries.map { .init(key: $0.key, value: withoutNulls($0.value)) }))
  }
}
