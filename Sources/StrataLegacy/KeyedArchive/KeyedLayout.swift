internal import StrataCore

/// Small numbers for the keys of a keyed archive, the same one for equal keys. Foundation writes a string for each key of
/// each object, so they are found by their bytes.
struct KeyNumbers {
  /// The keys by their numbers.
  private(set) var keys: [String] = []
  /// The numbers by the objects of the property list; -1 where an object was not met as a key.
  private var numbers: [Int32]
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

  /// - Parameter count: how many objects the property list has.
  init(count: Int) { numbers = [Int32](repeating: -1, count: count) }

  /// The number of the key that an object is; -1 where it is no string.
  @inline(__always)
  mutating func number(of object: Int, in list: borrowing BinaryPropertyList) -> Int {
    let known = numbers[object]
    if known >= 0 { return Int(known) }
    let number = findNumber(at: list.offset(of: object), in: list)
    numbers[object] = Int32(truncatingIfNeeded: number)
    return number
  }

  @inline(__always)
  private mutating func findNumber(at offset: Int, in list: borrowing BinaryPropertyList) -> Int {
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

/// The keys of dictionaries that have the same ones, in whatever order: usually all objects of a class. What follows from
/// them is found out once, in the order of the first dictionary.
final class KeyedLayout {
  /// The keys without `$class`, without the `$` that the archiver put before them.
  let keys: [String]
  /// The keys as they are in the archive.
  let rawKeys: [String]
  /// Bytes of the keys.
  let keyBytes: Int
  /// A key that only the archiver itself has.
  let reservedKey: String?
  /// How many keys dictionaries have, `$class` included.
  private let count: Int
  /// The index in ``keys`` by the number of a key: -1 for none, -2 for `$class`.
  private let indices: [Int32]
  /// The same where numbers are large, as in data that has keys without end: an array of them would be too long.
  private let largeIndices: [Int: Int32]
  // Only the reader that made a layout uses it, and checking that at each object would cost more than the rest.
  @exclusivity(unchecked) private var plans: [Plan] = []
  @exclusivity(unchecked) private var lastPlan: Plan?

  /// What objects of one class with these keys become.
  final class Plan {
    fileprivate let identity: Int
    let type: KeyedClass
    /// The keys of the layout.
    let keys: [String]
    let rawKeys: [String]
    /// How many bytes the name of the class has.
    let nameBytes: Int
    /// The class of Foundation whose objects are values.
    let foundation: FoundationValue?
    /// Whether the fields of a record stay unchanged, apart from the version of the model.
    let keepsFields: Bool
    /// The index of the version of the model.
    let versionIndex: Int?
    /// The shape of the last record.
    @exclusivity(unchecked) var shape: RecordShape?

    fileprivate init(_ type: KeyedClass, identity: Int, _ layout: KeyedLayout) {
      self.type = type
      (keys, rawKeys) = (layout.keys, layout.rawKeys)
      self.identity = identity
      nameBytes = type.name.utf8.count
      foundation = FoundationValue(type, keys: keys)
      keepsFields = FoundationRecord.keepsFields(of: type.name)
      versionIndex = keys.firstIndex(of: KeyedLayout.versionKey)
    }
  }

  /// The key under which Mantle writes a model's version.
  static let versionKey = "MTLModelVersion"

  private static let classKey = "$class"

  /// A layout of keys by their numbers.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` where a number names no key, as that of a key that is no string
  ///   does, or is a duplicate.
  init(_ numbers: [Int32], keys: [String]) throws {
    var rawKeys: [String] = []
    var indices: [Int32] = []
    var largeIndices: [Int: Int32] = [:]
    for number in numbers {
      guard number >= 0 else { throw KeyedTable.keyIsNoString }
      let key = keys[Int(number)]
      let isClass = key == Self.classKey
      let index = isClass ? -2 : Int32(rawKeys.count)
      if !isClass { rawKeys.append(key) }
      guard Self.index(of: Int(number), indices, largeIndices) == -1 else { throw KeyedTable.duplicate(key) }
      if number < 64 + 8 * numbers.count {
        while indices.count <= number { indices.append(-1) }
        indices[Int(number)] = index
      } else {
        largeIndices[Int(number)] = index
      }
    }
    count = numbers.count
    (self.indices, self.largeIndices) = (indices, largeIndices)
    self.rawKeys = rawKeys
    self.keys = Self.unescaped(rawKeys)
    keyBytes = self.keys.reduce(0) { $0 + $1.utf8.count }
    reservedKey = rawKeys.first(where: Self.isReserved)
  }

  private static func index(of number: Int, _ indices: [Int32], _ largeIndices: [Int: Int32]) -> Int32 {
    indices.indices.contains(number) ? indices[number] : largeIndices[number] ?? -1
  }

  /// The index in ``keys`` of a number: -1 for none, -2 for `$class`.
  @inline(__always)
  private func index(of number: Int32) -> Int32 {
    if number >= 0, Int(number) < indices.count { return indices[Int(number)] }
    return largeIndex(of: Int(number))
  }

  @inline(never)
  private func largeIndex(of number: Int) -> Int32 { largeIndices[number] ?? -1 }

  /// Appends the indices of keys by their numbers.
  ///
  /// - Returns: at which of them the class is, -1 where there is none; `nil` where the keys are not those of this layout,
  ///   and then nothing is appended.
  @inline(__always)
  func append(_ numbers: [Int32], to found: inout [Int32]) -> Int? {
    guard numbers.count == count else { return nil }
    let start = found.count
    found.append(contentsOf: numbers)
    let classEntry = replace(&found, from: start)
    guard let classEntry else {
      found.removeLast(count)
      return nil
    }
    // Of many keys, those with an index above may be duplicates.
    if count > 64, Set(found[start...]).count < count {
      found.removeLast(count)
      return nil
    }
    return classEntry
  }

  /// Puts indices in the places of the numbers of keys.
  ///
  /// - Returns: as ``append(_:to:)``, but duplicates among indices above 63 are not found.
  @inline(__always)
  private func replace(_ found: inout [Int32], from start: Int) -> Int? {
    var entries = found.mutableSpan
    var classEntry = -1
    var seen: UInt64 = 0
    for entry in start..<entries.count {
      let index = index(of: entries[entry])
      entries[entry] = index
      if index == -2, classEntry < 0 {
        classEntry = entry &- start
      } else if index >= 0, index >= 64 || seen & 1 &<< UInt64(index) == 0 {
        seen |= index < 64 ? 1 &<< UInt64(index) : 0
      } else {
        return nil
      }
    }
    return classEntry
  }

  /// What objects become whose class has an identity.
  @inline(__always)
  func plan(ofClass identity: Int, _ type: () throws -> KeyedClass) rethrows -> Plan {
    if let lastPlan, lastPlan.identity == identity { return lastPlan }
    let plan = try plans.first { $0.identity == identity } ?? Plan(type(), identity: identity, self)
    if !plans.contains(where: { $0 === plan }) {
      // Data can hold classes without end.
      if plans.count >= 8 { plans.removeFirst() }
      plans.append(plan)
    }
    lastPlan = plan
    return plan
  }

  /// Whether only the archiver itself has a key: one `$` before anything but a number.
  private static func isReserved(_ key: String) -> Bool {
    guard key.hasPrefix("$"), !key.hasPrefix("$$") else { return false }
    return key.count == 1 || !key.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  /// Keys without the `$` that the archiver puts before those that begin with one, which it needs for itself.
  static func unescaped(_ keys: [String]) -> [String] {
    guard keys.contains(where: { $0.hasPrefix("$$") }) else { return keys }
    let known = Set(keys.map { ExactKey($0) })
    // Values without a key have `$0`, `$1` …, which an escaped key must not take from them.
    return keys.map { key in
      guard key.hasPrefix("$$"), !known.contains(ExactKey(String(key.dropFirst()))) else { return key }
      return String(key.dropFirst())
    }
  }
}
