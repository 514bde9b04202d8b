internal import StrataCore

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
  init(_ numbers: ContiguousArray<Int32>, keys: [String]) throws {
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

  /// The indices of keys by their numbers.
  ///
  /// - Parameters:
  ///   - count: how many keys there are; the array may have more room.
  ///   - found: gets the indices, from `first` on. Where the keys are not those of this layout, they mean nothing.
  /// - Returns: at which of them the class is, -1 where there is none; `nil` where the keys are not those of this layout.
  @inline(__always)
  func find(
    _ numbers: ContiguousArray<Int32>, count: Int, in found: inout ContiguousArray<Int32>, from first: Int
  ) -> Int? {
    guard count == self.count else { return nil }
    let numbers = numbers.span
    var found = found.mutableSpan
    var classEntry = -1
    var seen: UInt64 = 0
    for entry in 0..<count {
      let index = index(of: numbers[entry])
      found[first &+ entry] = index
      if index == -2, classEntry < 0 {
        classEntry = entry
      } else if index >= 0, index >= 64 || seen & 1 &<< UInt64(index) == 0 {
        seen |= index < 64 ? 1 &<< UInt64(index) : 0
      } else {
        return nil
      }
    }
    // Of many keys, those with an index above may be duplicates.
    if count > 64 {
      var others = Set<Int32>(minimumCapacity: count)
      for entry in 0..<count where !others.insert(found[first &+ entry]).inserted { return nil }
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
