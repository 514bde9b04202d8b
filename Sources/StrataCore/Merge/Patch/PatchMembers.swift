/// The members of an object or a record while a patch changes it, in their order, found by their keys.
struct PatchMembers {
  typealias Slot = PatchTree.Slot

  /// The record whose fields these are.
  let record: ModelRecord?
  private(set) var count: Int
  private var keys: [String]
  /// The values of the keys; `nil` where one was removed, so that the others keep their places.
  private var slots: [Slot?]
  /// The places of the keys, where there are many.
  private var places: [ExactKey: Int]?
  /// So few keys are faster looked through.
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

  /// Puts in under a key, after the others unless it is there already.
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

  /// Drops the places of what was taken out.
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
