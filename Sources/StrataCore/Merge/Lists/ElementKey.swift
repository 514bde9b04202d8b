/// Identifies a list element by its identity and by the number of preceding elements with the same identity.
///
/// The nth element with an identity therefore matches the nth element with that identity in a different list.
struct ElementKey: Hashable {
  let id: ArchiveValue
  let occurrence: Int
}

/// Creates the keys for the elements of one list. Call `key(for:)` in the order of the elements.
struct ElementKeys {
  private var counts: [ArchiveValue: Int] = [:]

  /// Returns the key of each element; `nil` for an element without an identity.
  ///
  /// - Parameter open: returns the fields of the referenced object if the element is a reference.
  static func keys(
    of elements: [ArchiveValue], by key: IdentityKey, _ open: (ArchiveValue) throws -> ArchiveValue = { $0 }
  ) rethrows -> [ElementKey?] {
    var keys = ElementKeys()
    return try elements.map { try open($0)[key].flatMap { $0.isNull ? nil : keys.key(for: $0) } }
  }

  mutating func key(for id: ArchiveValue) -> ElementKey {
    let occurrence = counts[id, default: 0]
    counts[id] = occurrence + 1
    return ElementKey(id: id, occurrence: occurrence)
  }
}
