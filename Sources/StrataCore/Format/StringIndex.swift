/// Finds earlier occurrences of strings. Each string that is long enough gets a number. If the string is repeated, a reference to this
/// number is written instead (stringref, tag 25).
///
/// The bytes of an archive depend on which strings are found, so the algorithm is part of the format (Docs/Format.md,
/// section 5). Strings are not copied. Instead, each slot of the table contains the offset of a string in the output.
package struct StringIndex: ~Copyable {
  /// A snapshot of the table after the first bytes of a body. It is reused for other bodies that begin with the same
  /// bytes.
  package struct Contents: Sendable {
    fileprivate let slots: [Slot]
    fileprivate let used: Int
    fileprivate let nextNumber: UInt64
  }

  fileprivate struct Slot {
    var hash: UInt32 = 0
    /// The number of the string plus one; 0 for a free slot.
    var number: UInt32 = 0
    var start: UInt32 = 0
    /// The length in the lower 16 bits, and the major type in the upper 16 bits. Text and data with the same bytes are
    /// different strings.
    var key: UInt32 = 0
  }

  /// A list of up to 15 strings in order of appearance. If there are more strings, a hash table with at least 64 slots.
  private var slots: [Slot] = []
  private var used = 0
  /// The offset that is added to the `start` of every slot to get the position of a string in the output. It differs
  /// from 0 if the index began with a snapshot.
  private var offset = 0
  package private(set) var nextNumber: UInt64 = 0

  /// The maximum number of slots to probe. It keeps lookups fast, even if hostile strings collide. A string that is not found within this
  /// number of slots is written in full again.
  private static let probes = 16

  /// The maximum number of slots. The table must fit into the cache of a processor core. If more than half of the slots are used, the table
  /// is emptied, and each repeated string is then written in full once more. With a million strings, this costs far less than a cache miss
  /// for each string.
  private static let mostSlots = 16384

  package init() {}

  /// Whether no string has a number yet.
  var isEmpty: Bool { nextNumber == 0 }

  /// Removes all strings and the table. The size of the table must also be reset, because it determines which strings collide and are
  /// written again.
  package mutating func removeAll() { self = StringIndex() }

  /// Returns a snapshot of all strings so far. Offsets in the snapshot are relative to `start`.
  func contents(from start: Int) -> Contents {
    Contents(
      slots: slots.map { slot in
        var slot = slot
        if slot.number > 0 { slot.start -= UInt32(start) }
        return slot
      }, used: used, nextNumber: nextNumber)
  }

  /// Starts this index with the strings of a snapshot. At the offset `start` of the output, the caller must write the bytes from which the
  /// snapshot was taken.
  mutating func begin(with contents: Contents, at start: Int) {
    (slots, used, nextNumber, offset) = (contents.slots, contents.used, contents.nextNumber, start)
  }

  /// Returns the minimum length in bytes of a string that gets this number. A reference is never longer than its string
  /// (http://cbor.schmorp.de/stringref).
  @inline(__always)
  package static func minimumLength(forNumber number: UInt64) -> Int {
    if number < 24 { return 3 }
    if number < 256 { return 4 }
    if number < 65536 { return 5 }
    return number < 4_294_967_296 ? 7 : 11
  }

  /// Returns the number of the string if an earlier string has the same bytes and the same major type. Otherwise
  /// returns `nil`, and gives the string a number if it is long enough.
  ///
  /// - Parameter start: the offset in `buffer` at which the bytes of a new string will be.
  @inline(__always)
  package mutating func find(
    _ bytes: UnsafeRawBufferPointer, major: UInt8, start: Int, in buffer: borrowing ByteBuffer
  ) -> UInt64? {
    guard bytes.count >= Self.minimumLength(forNumber: nextNumber) else { return nil }
    let hash = ByteBuffer.hash(bytes, seed: UInt64(major))
    // The length fits into 16 bits, because strings of more than 65,535 bytes are not added to the table.
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
    // Strings with offsets beyond 4 GB or numbers beyond 32 bits are not added to the table either. If they repeat,
    // they are written again, which is valid.
    guard probe < Self.probes, number < UInt64(UInt32.max), start <= Int(UInt32.max), bytes.count <= 65535
    else {
      return nil
    }
    slots[place] = Slot(hash: hash, number: UInt32(number) &+ 1, start: UInt32(start &- offset), key: key)
    used &+= 1
    if used &* 2 > slots.count { grow() }
    return nil
  }

  /// Finds a string in the list of fewer than 16 strings. A table of 64 slots would give the same result, because these
  /// strings never need more than 16 probes.
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

  /// Replaces the table with a new table of `count` slots and inserts the old slots into it.
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
