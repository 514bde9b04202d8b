/// The ordered members of an object or a record while a patch is applied, with lookup by key.
struct PatchMembers {
  typealias Slot = PatchTree.Slot

  /// The original record, whose type name and version are kept; `nil` for an object.
  let record: ModelRecord?
  private(set) var count: Int
  private var keys: [String]
  /// The value of each key in `keys`, at the same index. The slot of a removed key is `nil`, so that all other keys
  /// keep their indices.
  private var slots: [Slot?]
  /// A lookup table from each key to its index in `keys`; `nil` if there are so few keys that a linear search is
  /// faster.
  private var places: [ExactKey: Int]?
  /// The maximum number of keys to search linearly. For more keys, a lookup table is faster.
  private static let few = 8

  init(_ entries: [ArchiveObject.Entry], of record: ModelRecord? = nil) {
    self.record = record
    count = entries.count
    keys = entries.map(\.key)
    slots = entries.map { .value($0.value) }
    if count > Self.few { index() }
  }

  private mutating func index() {
    places = Dictionary(keys.enumerated().map { (ExactKey($1), $0) }, uniquingKeysWith: { first, _ in first })
  }

  func place(of key: String) -> Int? {
    if let places { return places[ExactKey(key)] }
    return keys.indices.first { slots[$0] != nil && ExactKey.isSame(keys[$0], key) }
  }

  subscript(place: Int) -> Slot? {
    get { slots[place] }
    set { slots[place] = newValue }
  }

  /// Sets the value of a key. If the key is new, it is added after all other keys.
  mutating func put(_ slot: Slot, under key: String) {
    if let place = place(of: key) {
      slots[place] = slot
      return
    }
    places?[ExactKey(key)] = keys.count
    keys.append(key)
    slots.append(slot)
    count += 1
    if places == nil, keys.count > Self.few { clean() }
  }

  mutating func remove(at place: Int) {
    places?[ExactKey(keys[place])] = nil
    slots[place] = nil
    count -= 1
    if keys.count > Self.few, keys.count > 2 * count { clean() }
  }

  /// Deletes the removed keys from `keys` and `slots`, so that many removals do not waste memory. Builds a new lookup table if there are
  /// still many keys.
  private mutating func clean() {
    keys = zip(keys, slots).compactMap { $1 == nil ? nil : $0 }
    slots.removeAll { $0 == nil }
    places = nil
    if count > Self.few { index() }
  }

  func forEach(_ body: (String, Slot) throws -> Void) rethrows {
    for (key, slot) in zip(keys, slots) {
      if let slot { try body(key, slot) }
    }
  }
}
