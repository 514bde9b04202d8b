/// Finds the number under which a string was already written (stringref, tag 25, counts all strings that are
/// long enough).
///
/// Which strings are found decides the bytes, so the whole of this is part of the format (Docs/Format.md, section 5).
/// The strings themselves stay in the output: a slot holds a place there, so nothing is copied.
package struct StringIndex: ~Copyable {
  /// The strings that the first bytes of many bodies hold.
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
    /// The length with the major type above it: text and data of the same bytes are not the same.
    var key: UInt32 = 0
  }

  /// The first 16 strings in their order, or a table of 64 slots or more.
  private var slots: [Slot] = []
  private var used = 0
  /// Every slot stores its place relative to this one.
  private var offset = 0
  package private(set) var nextNumber: UInt64 = 0

  /// How many slots are looked at. Strings chosen to collide are then written again rather than found slowly.
  private static let probes = 16

  /// The table stays within the cache of a core. When it is full it starts anew, and a string that comes again is
  /// written once more: with a million strings that costs far less than waiting for memory at each of them.
  private static let mostSlots = 16384

  package init() {}

  /// Whether no string has a number.
  var isEmpty: Bool { nextNumber == 0 }

  /// Starts anew, with a table as small as the first: its size decides which strings collide, and so the bytes.
  package mutating func removeAll() { self = StringIndex() }

  /// The strings that were counted, of which the first bytes are at `start`.
  func contents(from start: Int) -> Contents {
    Contents(
      slots: slots.map { slot in
        var slot = slot
        if slot.number > 0 { slot.start -= UInt32(start) }
        return slot
      }, used: used, nextNumber: nextNumber)
  }

  /// Counts the strings of bytes that are about to be written, before all others.
  mutating func begin(with contents: Contents, at start: Int) {
    (slots, used, nextNumber, offset) = (contents.slots, contents.used, contents.nextNumber, start)
  }

  /// The fewest bytes a string needs to get a number: a reference must not be longer than the string
  /// (http://cbor.schmorp.de/stringref).
  @inline(__always)
  package static func minimumLength(forNumber number: UInt64) -> Int {
    if number < 24 { return 3 }
    if number < 256 { return 4 }
    if number < 65536 { return 5 }
    return number < 4_294_967_296 ? 7 : 11
  }

  /// The number of the string, if it was written before with the same major type; else counts it.
  ///
  /// - Parameter start: where its bytes will stand in the buffer, should it be new.
  @inline(__always)
  package mutating func find(
    _ bytes: UnsafeRawBufferPointer, major: UInt8, start: Int, in buffer: borrowing ByteBuffer
  ) -> UInt64? {
    guard bytes.count >= Self.minimumLength(forNumber: nextNumber) else { return nil }
    let hash = ByteBuffer.hash(bytes, seed: UInt64(major))
    // Longer strings are not kept, so that the length leaves room.
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
    // Places beyond 4 GB and numbers beyond 32 bits are written again, which is valid and only longer.
    guard probe < Self.probes, number < UInt64(UInt32.max), start <= Int(UInt32.max), bytes.count <= 65535
    else {
      return nil
    }
    slots[place] = Slot(hash: hash, number: UInt32(number) &+ 1, start: UInt32(start &- offset), key: key)
    used &+= 1
    if used &* 2 > slots.count { grow() }
    return nil
  }

  /// Finds a string among at most 16, which are a list: a table of 64 slots finds each of them within its probes.
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

  /// Puts slots into an empty table.
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
