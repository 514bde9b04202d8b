/// Identifies an element in its list: by its identity, and by the number of elements with that identity before it.
///
/// Elements with the same identity are therefore matched with those of another list in their order.
struct ElementKey: Hashable {
  let id: ArchiveValue
  let occurrence: Int
}

/// Creates the keys of the elements of one list. Call it for the elements in their order.
struct ElementKeys {
  private var counts: [ArchiveValue: Int] = [:]

  /// Returns a key for each element; `nil` for an element without an identity.
  ///
  /// - Parameter open: returns the fields of an object that an element refers to.
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
