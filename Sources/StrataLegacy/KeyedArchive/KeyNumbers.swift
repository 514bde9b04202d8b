internal import StrataCore

/// Small numbers for the keys of a keyed archive. Equal keys have the same number.
struct KeyNumbers {
  /// The key number of each property list object; -1 if the object has not occurred as a key.
  private var numbers: ContiguousArray<Int32>
  private var finder = KeyFinder()

  /// - Parameter count: the number of objects in the property list.
  init(count: Int) { numbers = ContiguousArray(repeating: -1, count: count) }

  /// The keys by their numbers.
  var keys: [String] { finder.keys }

  /// Reads the numbers of keys from the references to them; -1 for a key that is not a string.
  ///
  /// - Parameter found: has room for at least `count` numbers.
  @inline(__always)
  mutating func read(
    _ list: borrowing BinaryPropertyList, at start: Int, count: Int, into found: inout ContiguousArray<Int32>
  ) {
    // With spans, the uniqueness of the arrays is checked only once.
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

/// Finds the number of a key by its bytes, because Foundation writes a separate string for each key of each object.
private struct KeyFinder {
  /// The keys by their numbers.
  private(set) var keys: [String] = []
  private var numbersByKey: [ExactKey: Int] = [:]
  /// Recent keys. Each key has two possible slots.
  private var slots = [Slot](repeating: Slot(), count: 256)

  /// The first and the last 8 bytes of a key, which are all of a key of up to 16 bytes, and the offset of a longer key.
  private struct Slot {
    var first: UInt64 = 0
    var last: UInt64 = 0
    var length: Int32 = -1
    var number: Int32 = 0
    var start = 0

    /// Returns whether this is the key of the given length at an offset.
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

  /// The maximum length of keys in slots.
  private static let mostBytes = 64

  /// Returns the number of the key at an offset; -1 if it is not a string.
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
