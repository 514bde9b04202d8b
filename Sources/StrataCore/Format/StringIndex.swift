/// Finds the number of a string that was written before (stringref, tag 25, which numbers all strings that are long
/// enough).
///
/// The bytes depend on which strings are found, so the whole algorithm is part of the format (Docs/Format.md, section
/// 5). The strings stay in the output. A slot has the offset of its string, so no string is copied.
package struct StringIndex: ~Copyable {
  /// A snapshot of the strings in the first bytes of a body, which many bodies have in common.
  package struct Contents: Sendable {
    fileprivate let slots: [Slot]
    fileprivate let used: Int
    fileprivate let nextNumber: UInt64
  }

  fileprivate struct Slot {
    var hash: UInt32 = 0
    /// The number plus one; 0 is a free slot.
    var number: UInt32 = 0
    var start: UInt32 = 0
    /// The length with the major type above it, because text and data with the same bytes are different.
    var key: UInt32 = 0
  }

  /// The first 16 strings in order, or a table of at least 64 slots.
  private var slots: [Slot] = []
  private var used = 0
  /// The offset to which the start of every slot is relative.
  private var offset = 0
  package private(set) var nextNumber: UInt64 = 0

  /// The maximum number of slots to probe. Strings chosen to collide are written again instead of found slowly.
  private static let probes = 16

  /// The maximum size of the table, so that it fits in the cache of a core. A full table is emptied, and a repeated
  /// string is written once more. With a million strings, that costs far less than a cache miss for each string.
  private static let mostSlots = 16384

  package init() {}

  /// Whether no string has a number.
  var isEmpty: Bool { nextNumber == 0 }

  /// Resets to the smallest table. The size of the table determines which strings collide, and so the bytes.
  package mutating func removeAll() { self = StringIndex() }

  /// Returns the strings so far, with starts relative to `start`.
  func contents(from start: Int) -> Contents {
    Contents(
      slots: slots.map { slot in
        var slot = slot
        if slot.number > 0 { slot.start -= UInt32(start) }
        return slot
      }, used: used, nextNumber: nextNumber)
  }

  /// Starts with the strings of the bytes that are about to be written at `start`.
  mutating func begin(with contents: Contents, at start: Int) {
    (slots, used, nextNumber, offset) = (contents.slots, contents.used, contents.nextNumber, start)
  }

  /// The minimum length of a string that gets a number: a reference must not be longer than the string
  /// (http://cbor.schmorp.de/stringref).
  @inline(__always)
  package static func minimumLength(forNumber number: UInt64) -> Int {
    if number < 24 { return 3 }
    if number < 256 { return 4 }
    if number < 65536 { return 5 }
    return number < 4_294_967_296 ? 7 : 11
  }

  /// Returns the number of the string if it was written before with the same major type. Otherwise numbers it.
  ///
  /// - Parameter start: the offset of the string's bytes in the buffer if the string is new.
  @inline(__always)
  package mutating func find(
    _ bytes: UnsafeRawBufferPointer, major: UInt8, start: Int, in buffer: borrowing ByteBuffer
  ) -> UInt64? {
    guard bytes.count >= Self.minimumLength(forNumber: nextNumber) else { return nil }
    let hash = ByteBuffer.hash(bytes, seed: UInt64(major))
    // Longer strings are not kept, so that the length fits into 16 bits.
    let key = UInt32(major) &<< 16 | UInt32(truncatingIfNeeded: min(bytes.count, 65535))
    if slots.count < 64 { return findAmongFew(bytes, hash, key, start: start, in: buffer) }
    let mask = slots.count &- 1
    var place = Int(hash) & mask
    var probe = 0
    while probe < Self.probes {
      let slot = slots[place]
      if slot.number == 0 { break }
      if slot.hash == hash, slot.key == key, Int(key & 0xFFFF) == bytes.count,
        buffer.holds(bytes, at: Int(slot.start) &+ offset)
      {
        return UInt64(slot.number &- 1)
      }
      place = (place &+ 1) & mask
      probe &+= 1
    }
    let number = nextNumber
    nextNumber &+= 1
    // Offsets beyond 4 GB and numbers beyond 32 bits are not kept. Such strings are written again, which is valid.
    guard probe < Self.probes, number < UInt64(UInt32.max), start <= Int(UInt32.max), bytes.count <= 65535
    else {
      return nil
    }
    slots[place] = Slot(hash: hash, number: UInt32(number) &+ 1, start: UInt32(start &- offset), key: key)
    used &+= 1
    if used &* 2 > slots.count { grow() }
    return nil
  }

  /// Finds a string in a list of at most 16. A table of 64 slots would find each of them within its probes, too.
  private mutating func findAmongFew(
    _ bytes: UnsafeRawBufferPointer, _ hash: UInt32, _ key: UInt32, start: Int, in buffer: borrowing ByteBuffer
  ) -> UInt64? {
    for slot in slots where slot.hash == hash && slot.key == key && Int(key & 0xFFFF) == bytes.count {
      if buffer.holds(bytes, at: Int(slot.start) &+ offset) { return UInt64(slot.number &- 1) }
    }
    let number = nextNumber
    nextNumber &+= 1
    guard number < UInt64(UInt32.max), start <= Int(UInt32.max), bytes.count <= 65535 else { return nil }
    if slots.isEmpty { slots.reserveCapacity(Self.probes) }
    slots.append(Slot(hash: hash, number: UInt32(number) &+ 1, start: UInt32(start &- offset), key: key))
    used &+= 1
    if used == Self.probes { spread(slots, among: 64) }
    return nil
  }

  @inline(never)
  private mutating func grow() {
    guard slots.count < Self.mostSlots else {
      for place in slots.indices { slots[place] = Slot() }
      used = 0
      return
    }
    spread(slots, among: slots.count * 4)
  }

  /// Distributes slots over an empty table.
  private mutating func spread(_ old: [Slot], among count: Int) {
    slots = Array(repeating: Slot(), count: count)
    let mask = count - 1
    for slot in old where slot.number != 0 {
      var place = Int(slot.hash) & mask
      while slots[place].number != 0 { place = (place + 1) & mask }
      slots[place] = slot
    }
  }
}
