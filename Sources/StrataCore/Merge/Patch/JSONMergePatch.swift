/// JSON Merge Patch (RFC 7396): a JSON document that describes the changes to another document.
public enum JSONMergePatch {
  /// Returns the patch that turns `old` into `new`.
  ///
  /// Objects are compared key by key; arrays and all other values are compared as a whole. Outside of arrays, a patch cannot set a key to
  /// null, because null removes the key. The patched document therefore contains a null from `new` only if `old` has the same null.
  ///
  /// - Complexity: linear in the size of both values.
  public static func patch(from old: ArchiveValue, to new: ArchiveValue) -> ArchiveValue {
    difference(from: old, to: new) ?? (new.objectValue == nil ? new : [:])
  }

  /// - Returns: the patch that turns `old` into `new`; `nil` if the values are equal.
  private static func difference(from old: ArchiveValue, to new: ArchiveValue) -> ArchiveValue? {
    guard case .object(let new) = new else { return old == new ? nil : new }
    let known = old.objectValue?.entries
    if let known, known.isStored(like: new.entries) { return nil }
    let olds = known ?? []
    let pairs = KeyPairs(olds, new.entries)
    var entries: [ArchiveObject.Entry] = []
    for (entry, place) in zip(new.entries, pairs.olds) {
      let before = place.map { olds[$0].value }
      if entry.value.isNull {
        if before?.isNull == false { entries.append(.init(key: entry.key, value: .null)) }
      } else if let value = difference(from: before ?? .null, to: entry.value) {
        entries.append(.init(key: entry.key, value: value))
      }
    }
    for (entry, place) in zip(olds, pairs.news) where place == nil {
      entries.append(.init(key: entry.key, value: .null))
    }
    // If the old value is not an object, the patch is needed even if it is empty: it turns the value into an object.
    return entries.isEmpty && known != nil ? nil : .object(ArchiveObject(uniqueEntries: entries))
  }

  /// Applies a patch to a document (RFC 7396, section 2).
  ///
  /// - Complexity: linear in the size of the patch and of the objects that it changes.
  public static func apply(_ patch: ArchiveValue, to target: ArchiveValue) -> ArchiveValue {
    guard case .object(let patch) = patch else { return patch }
    let entries = target.objectValue?.entries ?? []
    var places = KeyPlaces(entries)
    var values: [ArchiveValue?] = entries.map(\.value)
    var added: [ArchiveObject.Entry] = []
    var next = 0
    for entry in patch.entries {
      let place = places.place(of: entry.key, near: next)
      if let place {
        values[place] = entry.value.isNull ? nil : apply(entry.value, to: entries[place].value)
        next = place + 1
      } else if !entry.value.isNull {
        added.append(.init(key: entry.key, value: apply(entry.value, to: .null)))
      }
    }
    let kept = zip(entries, values).compactMap { entry, value in
      value.map { ArchiveObject.Entry(key: entry.key, value: $0) }
    }
    return .object(ArchiveObject(uniqueEntries: kept + added))
  }
}
