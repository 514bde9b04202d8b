internal import StrataCore

/// Assigns small numbers to the keys of a keyed archive, so that keys can be compared by number. Equal keys have the
/// same number.
struct KeyNumbers {
  /// The key number of each object in the property list; -1 if the object has not been read as a key yet.
  private var numbers: ContiguousArray<Int32>
  /// The keys, by key number.
  private(set) var keys: [String] = []
  private var numbersByKey: [ExactKey: Int32] = [:]

  /// - Parameter count: the number of objects in the property list.
  init(count: Int) { numbers = ContiguousArray(repeating: -1, count: count) }

  /// Reads references to keys and writes the key number of each to `found`. The number of a key that is not a string is
  /// -1.
  ///
  /// - Parameter found: receives the key numbers, starting at index 0. The array must already have at least `count`
  ///   elements.
  @inline(__always)
  mutating func read(
    _ list: borrowing BinaryPropertyList, at start: Int, count: Int, into found: inout ContiguousArray<Int32>
  ) {
    // A span checks only once that its array is uniquely referenced. The array itself would check at each access.
    var found = found.mutableSpan
    var taken: ContiguousArray<Int32> = []
    swap(&taken, &self.numbers)
    defer { swap(&taken, &self.numbers) }
    var numbers = taken.mutableSpan
    for entry in 0..<count {
      let object = list.reference(at: start &+ entry &* list.referenceSize)
      var number = numbers[object]
      if number < 0 {
        number = find(at: list.offset(of: object), in: list)
        numbers[object] = number
      }
      found[entry] = number
    }
  }

  /// Returns the key number of the object at an offset, or -1 if the object is not a string.
  @inline(never)
  private mutating func find(at offset: Int, in list: borrowing BinaryPropertyList) -> Int32 {
    guard let key = KeyedTable.string(at: offset, of: list) else { return -1 }
    if let number = numbersByKey[ExactKey(key)] { return number }
    let number = Int32(truncatingIfNeeded: keys.count)
    numbersByKey[ExactKey(key)] = number
    keys.append(key)
    return number
  }
}
