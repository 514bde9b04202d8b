/// Tells whether the keys of an object may occur twice, by their hashes: one object after the other, in the same memory.
struct KeyHashes {
  /// In each slot the number of the object above the hash.
  private var slots: [UInt64] = []
  private var round: UInt64 = 0

  /// More slots are never looked at for a key.
  private static let probes = 16
  /// Objects of more keys are not looked at.
  private static let mostKeys = 4096

  /// Whether no key of an object occurs twice; `false` where that is not known.
  ///
  /// - Parameters:
  ///   - object: the object.
  ///   - parts: all parts, its own among them.
  mutating func areUnique(in object: FlatValue.Part, of parts: [FlatValue.Part]) -> Bool {
    guard object.count > 1 else { return true }
    guard object.count <= Self.mostKeys else { return false }
    begin(Int(object.count))
    let mask = slots.count &- 1
    var place = object.first
    for _ in 0..<object.count {
      let hash = parts[Int(place)].keyHash
      let entry = round | UInt64(hash)
      var slot = Int(hash) & mask
      var probe = 0
      while slots[slot] &>> 32 == round &>> 32 {
        probe &+= 1
        if slots[slot] == entry || probe == Self.probes { return false }
        slot = (slot &+ 1) & mask
      }
      slots[slot] = entry
      place = parts[Int(place)].next
    }
    return true
  }

  /// Forgets the keys of the object before.
  private mutating func begin(_ count: Int) {
    if slots.count < count * 2 || round == 0xFFFF_FFFF << 32 {
      var size = max(64, slots.count)
      while size < count * 2 { size *= 2 }
      slots = Array(repeating: 0, count: size)
      round = 0
    }
    round += 1 << 32
  }
}
