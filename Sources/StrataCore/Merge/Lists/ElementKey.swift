/// What tells an element from the others of its list: its identity, and how many of the list have that before it.
///
/// So of several elements with one identity each is matched with one of the other list, in their order.
struct ElementKey: Hashable {
  let id: SameValue
  let occurrence: Int
}

/// Gives the elements of one list their keys. Asked for each in the order of the list.
struct ElementKeys {
  private var counts: [SameValue: Int] = [:]

  /// A key for each element that has an identity; `nil` for the others.
  ///
  /// - Parameter open: the fields of an object that an element refers to.
  static func keys(
    of elements: [ArchiveValue], by key: IdentityKey, _ open: (ArchiveValue) throws -> ArchiveValue = { $0 }
  ) rethrows -> [ElementKey?] {
    var keys = ElementKeys()
    return try elements.map { try open($0)[key].flatMap { $0.isNull ? nil : keys.key(for: $0) } }
  }

  mutating func key(for id: ArchiveValue) -> ElementKey {
    let id = SameValue(id)
    let occurrence = counts[id, default: 0]
    counts[id] = occurrence + 1
    return ElementKey(id: id, occurrence: occurrence)
  }
}
