/// Small numbers for the keys of dictionaries, the same one for equal keys.
struct KeyNumbers {
  /// The numbers by the objects of the property list; -1 where an object was not met as a key.
  private var numbers: [Int32]
  private var numbersByKey: [ExactKey: Int32] = [:]
  private(set) var keys: [String] = []
  /// The numbers of keys that were met lately, each in one of a fixed number of slots: Foundation writes a string for each
  /// key of each object.
  private var recent = [Int](repeating: -1, count: 64)

  init(count: Int) { numbers = [Int32](repeating: -1, count: count) }

  /// The number of the key that an object is; `nil` where it is no string, or no object.
  mutating func number(of object: Int, in list: PropertyList) -> Int? {
    guard numbers.indices.contains(object) else { return nil }
    let known = numbers[object]
    if known >= 0 { return Int(known) }
    guard case .string(let key) = list.objects[object] else { return nil }
    let text = key.utf8
    let slot = (text.count &* 7 &+ Int(text.first ?? 0) &+ 31 &* Int(text.last ?? 0)) & 63
    let last = recent[slot]
    let number = last >= 0 && ExactKey.isSame(keys[last], key) ? last : self.number(of: key)
    recent[slot] = number
    numbers[object] = Int32(number)
    return number
  }

  private mutating func number(of key: String) -> Int {
    if let number = numbersByKey[ExactKey(key)] { return Int(number) }
    numbersByKey[ExactKey(key)] = Int32(keys.count)
    keys.append(key)
    return keys.count - 1
  }

  /// The number of a key that was met before.
  subscript(object: Int) -> Int { Int(numbers[object]) }
}

/// The keys of dictionaries that have the same ones, in whatever order: usually all objects of a class. What they say is
/// found out once, in the order of the first dictionary.
final class KeyedLayout {
  /// The numbers of the keys.
  private let numbers: [Int]
  private let places: [Int: Int]
  private let classNumber: Int
  /// The keys without `$class`, as they were before the archiver marked them.
  let keys: [String]
  /// The keys as they stand in the archive.
  let rawKeys: [String]
  /// Bytes of the keys.
  let keyBytes: Int
  /// A key that only the archiver itself has.
  let reservedKey: String?
  private var plans: [Plan] = []

  /// What objects of one class with these keys become.
  final class Plan {
    fileprivate let place: Int
    let type: KeyedClass
    /// The plain value of Foundation's.
    let plain: FoundationValue?
    /// Whether the fields of a record stay what they are, apart from the version of the model.
    let isPlainRecord: Bool
    /// Where the version of the model stands.
    let versionPlace: Int?
    /// The shape of the last record.
    var shape: RecordShape?

    fileprivate init(_ type: KeyedClass, at place: Int, _ keys: [String]) {
      self.type = type
      self.place = place
      plain = FoundationValue(type, keys: keys)
      isPlainRecord = FoundationRecord.isPlain(type.name)
      versionPlace = keys.firstIndex(of: KeyedLayout.versionKey)
    }
  }

  /// The key under which Mantle writes a model's version.
  static let versionKey = "MTLModelVersion"

  /// A layout of keys by their numbers, without duplicates.
  init(_ numbers: [Int], keys: [String]) {
    classNumber = numbers.first { keys[$0] == "$class" } ?? -1
    let others = numbers.filter { [classNumber] in $0 != classNumber }
    self.numbers = others
    places = others.count <= 16 ? [:] : Dictionary(uniqueKeysWithValues: others.enumerated().map { ($1, $0) })
    rawKeys = others.map { keys[$0] }
    self.keys = Self.unescaped(rawKeys)
    keyBytes = self.keys.reduce(0) { $0 + $1.utf8.count }
    reservedKey = rawKeys.first(where: Self.isReserved)
  }

  /// Whether a dictionary has these keys and no others.
  func fits(_ entries: [PropertyList.Entry], _ keyNumbers: KeyNumbers) -> Bool {
    guard entries.count == numbers.count + (classNumber < 0 ? 0 : 1) else { return false }
    guard entries.count <= 64 else {
      let found = Set(entries.map { keyNumbers[$0.key] })
      return found.count == entries.count && found.allSatisfy { $0 == classNumber || place(of: $0) != nil }
    }
    var seen: UInt64 = 0
    for entry in entries {
      let number = keyNumbers[entry.key]
      guard let place = number == classNumber ? 63 : place(of: number) else { return false }
      let bit: UInt64 = 1 << UInt64(place)
      guard seen & bit == 0 else { return false }
      seen |= bit
    }
    return true
  }

  /// Where a key stands in ``keys``.
  func place(of number: Int) -> Int? {
    guard places.isEmpty else { return places[number] }
    for place in numbers.indices where numbers[place] == number { return place }
    return nil
  }

  /// The entry that names the class.
  func classEntry(of entries: [PropertyList.Entry], _ keyNumbers: KeyNumbers) -> Int? {
    guard classNumber >= 0 else { return nil }
    return entries.firstIndex { keyNumbers[$0.key] == classNumber }
  }

  /// What objects become whose class stands at a place.
  func plan(ofClassAt place: Int, _ type: () throws -> KeyedClass) rethrows -> Plan {
    for known in plans where known.place == place { return known }
    let plan = Plan(try type(), at: place, keys)
    // Data can hold classes without end.
    if plans.count >= 8 { plans.removeFirst() }
    plans.append(plan)
    return plan
  }

  /// Whether only the archiver itself has a key: one `$` before anything but a number.
  private static func isReserved(_ key: String) -> Bool {
    guard key.hasPrefix("$"), !key.hasPrefix("$$") else { return false }
    return key.count == 1 || !key.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  /// Keys without the mark that the archiver gives to those that begin with `$`, which it needs for itself.
  static func unescaped(_ keys: [String]) -> [String] {
    guard keys.contains(where: { $0.hasPrefix("$$") }) else { return keys }
    let plain = Set(keys.map { ExactKey($0) })
    // Values without a key have `$0`, `$1` …, which an escaped key must not take from them.
    return keys.map { key in
      guard key.hasPrefix("$$"), !plain.contains(ExactKey(String(key.dropFirst()))) else { return key }
      return String(key.dropFirst())
    }
  }
}
