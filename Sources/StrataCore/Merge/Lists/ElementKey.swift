/// What tells an element from the others of its list: what it is told by, and how many of the list had that before it.
///
/// So of several elements with one identity each is matched with one of the other list, in their order.
struct ElementKey: Hashable {
  let id: SameValue
  let occurrence: Int
}

/// Gives the elements of one list their keys. Asked for each in the order of the list.
struct ElementKeys {
  private var counts: [SameValue: Int] = [:]

  mutating func key(for id: Value) -> ElementKey {
    let id = SameValue(id)
    let occurrence = counts[id, default: 0]
    counts[id] = occurrence + 1
    return ElementKey(id: id, occurrence: occurrence)
  }
}
