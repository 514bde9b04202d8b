internal import StrataCore

/// Small numbers for the keys of a keyed archive, the same one for equal keys.
struct KeyNumbers {
  /// The numbers by the objects of the property list; -1 where an object was not met as a key.
  private var numbers: ContiguousArray<Int32>
  private var finder = KeyFinder()

  /// - Parameter count: how many objects the property list has.
  init(count: Int) { numbers = ContiguousArray(repeating: -1, count: count) }

  /// The keys by their numbers.
  var keys: [String] { finder.keys }

  /// The numbers of keys, from the references to them; -1 for one that is no string.
  ///
  /// - Parameter found: has room for as many or more.
  @inline(__always)
  mutating func read(
    _ list: borrowing BinaryPropertyList, at start: Int, count: Int, into found: inout ContiguousArray<Int32>
  ) {
    // Through spans, it is found out once that nobody else has the arrays.
    var found = found.mutableSpan
    var taken: ContiguousArray<Int32> = []
    swap(&taken, &self.numbers)
    defer { swap(&taken, &self.numbers) }
    var numbers = taken.mutableSpan
    for entry in 0..<count {
      let object = list.reference(at: start &+ entry &* list.referenceSize)
      var number = numbers[object]
      if number < 0 {
        number = Int32(truncatingIfNeeded: finder.number(at: list.offset(of: object), in: list))
        numbers[object] = number
      }
      found[entry] = number
    }
  }
}

/// The numbers of keys by their text. Foundation writes a string for each key of each object, so they are found by their
/// bytes.
private struct KeyFinder {
  /// The keys by their numbers.
  private(set) var keys: [String] = []
  private var numbersByKey: [ExactKey: Int] = [:]
  /// The keys that were met lately, each in one of two slots of a fixed number.
  private var slots = [Slot](repeating: Slot(), count: 256)

  /// The first and the last bytes of a key, which are all that one of up to 16 bytes has, and where a longer one has the
  /// others.
  private struct Slot {
    var first: UInt64 = 0
    var last: UInt64 = 0
    var length: Int32 = -1
    var number: Int32 = 0
    var start = 0

    /// Whether the key is the one of this length at an offset.
    @inline(__always)
    func holds(
      _ first: UInt64, _ last: UInt64, _ length: Int, at start: Int, of list: borrowing BinaryPropertyList
    ) -> Bool {
      guard self.first == first, self.last == last, self.length == Int32(truncatingIfNeeded: length) else {
        return false
      }
      var offset = 8
      while offset &+ 8 < length {
        guard list.word(at: start &+ offset) == list.word(at: self.start &+ offset) else { return false }
        offset &+= 8
      }
      return true
    }
  }

  /// How long the keys in slots are at most.
  private static let mostBytes = 64

  /// The number of the key at an offset; -1 where that is no string.
  @inline(__always)
  mutating func number(at offset: Int, in list: borrowing BinaryPropertyList) -> Int {
    guard list.marker(at: offset) >> 4 == 0x5 else {
      guard let key = KeyedTable.string(at: offset, of: list) else { return -1 }
      return findNumber(of: key)
    }
    let (start, length) = list.content(at: offset)
    guard length > 0, length <= Self.mostBytes else { return findNumber(of: list.string(at: offset)) }
    let first = list.unsigned(at: start, size: min(length, 8))
    let last = length <= 8 ? 0 : list.word(at: start &+ length &- 8)
    let mixed = (first ^ last &* 0xD6E8_FEB8_6659_FD93 ^ UInt64(length)) &* 0x9E37_79B9_7F4A_7C15
    let slot = Int(mixed >> 56)
    if slots[slot].holds(first, last, length, at: start, of: list) { return Int(slots[slot].number) }
    let other = slot ^ 1
    if slots[other].holds(first, last, length, at: start, of: list) { return Int(slots[other].number) }
    let number = findNumber(of: list.string(at: offset))
    slots[slots[slot].length < 0 ? slot : other] = Slot(
      first: first, last: last, length: Int32(truncatingIfNeeded: length),
      number: Int32(truncatingIfNeeded: number), start: start)
    return number
  }

  @inline(never)
  private mutating func findNumber(of text: String) -> Int {
    if let number = numbersByKey[ExactKey(text)] { return number }
    numbersByKey[ExactKey(text)] = keys.count
    keys.append(text)
    return keys.count - 1
  }
}
