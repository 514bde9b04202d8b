internal import StrataCore

/// A set of keys that several dictionaries share, usually all objects of a class. The dictionaries can have the keys in
/// any order. Values derived from the keys are computed once, in the key order of the first dictionary.
final class KeyedLayout {
  /// The keys without `$class`, and without the `$` that the archiver adds to escape keys.
  let keys: [String]
  /// The keys as they appear in the archive, with escapes.
  let rawKeys: [String]
  /// The total length of all keys, in bytes.
  let keyBytes: Int
  /// A key that is reserved for the archiver, or `nil` if there is none.
  let reservedKey: String?
  /// The number of keys in a dictionary, including `$class`.
  private let count: Int
  /// The index in ``keys``, by key number. The index is -1 for an unknown key, and -2 for `$class`.
  private let indices: [Int32]
  /// The indices for large key numbers, for which an array would be too long. Large key numbers occur in hostile data
  /// with many keys.
  private let largeIndices: [Int: Int32]
  // Unchecked, because exclusivity checks for each object would be too slow. Only the reader that created the layout
  // accesses these properties.
  @exclusivity(unchecked) private var plans: [Plan] = []
  @exclusivity(unchecked) private var lastPlan: Plan?

  /// The instructions for decoding objects of one class that have the keys of the layout.
  final class Plan {
    fileprivate let identity: Int
    let type: KeyedClass
    /// The keys of the layout.
    let keys: [String]
    let rawKeys: [String]
    /// The length of the class name, in bytes.
    let nameBytes: Int
    /// The Foundation class of the objects, if they become values, otherwise `nil`.
    let foundation: FoundationValue?
    /// Whether the fields of a record are kept unchanged, except for the model version.
    let keepsFields: Bool
    /// The index of the model version among the fields, or `nil` if there is none.
    let versionIndex: Int?
    /// The shape of the most recent record.
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

  /// Creates a layout from key numbers.
  ///
  /// - Throws: `ArchiveError` with the code `damaged` if a key number does not belong to a string or is a duplicate.
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

  /// Returns the index in ``keys`` for a key number, -1 for an unknown key, or -2 for `$class`.
  @inline(__always)
  private func index(of number: Int32) -> Int32 {
    if number >= 0, Int(number) < indices.count { return indices[Int(number)] }
    return largeIndex(of: Int(number))
  }

  @inline(never)
  private func largeIndex(of number: Int) -> Int32 { largeIndices[number] ?? -1 }

  /// Finds the indices of a dictionary's keys by their key numbers.
  ///
  /// - Parameters:
  ///   - count: the number of keys. The array may be longer.
  ///   - found: receives the indices, starting at `first`. The indices are meaningless if the dictionary does not have
  ///     the keys of this layout.
  /// - Returns: the position of `$class` in the dictionary, or -1 if `$class` is absent. Returns `nil` if the
  ///   dictionary does not have the keys of this layout.
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
    // `seen` covers 64 keys. If there are more keys, a set finds the duplicates.
    if count > 64 {
      var others = Set<Int32>(minimumCapacity: count)
      for entry in 0..<count where !others.insert(found[first &+ entry]).inserted { return nil }
    }
    return classEntry
  }

  /// Returns the plan for objects whose class has the given identity.
  @inline(__always)
  func plan(ofClass identity: Int, _ type: () throws -> KeyedClass) rethrows -> Plan {
    if let lastPlan, lastPlan.identity == identity { return lastPlan }
    let plan = try plans.first { $0.identity == identity } ?? Plan(type(), identity: identity, self)
    if !plans.contains(where: { $0 === plan }) {
      // The cache is limited, because hostile data can contain any number of classes.
      if plans.count >= 8 { plans.removeFirst() }
      plans.append(plan)
    }
    lastPlan = plan
    return plan
  }

  /// Returns whether a key is reserved for the archiver, because it begins with a single `$` that is not followed by a
  /// number.
  private static func isReserved(_ key: String) -> Bool {
    guard key.hasPrefix("$"), !key.hasPrefix("$$") else { return false }
    return key.count == 1 || !key.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  /// Removes the `$` that the archiver adds to keys that begin with `$`.
  static func unescaped(_ keys: [String]) -> [String] {
    guard keys.contains(where: { $0.hasPrefix("$$") }) else { return keys }
    let known = Set(keys.map { ExactKey($0) })
    // Values without a key have the keys `$0`, `$1` and so on, and an unescaped key must not collide with these keys.
    return keys.map { key in
      guard key.hasPrefix("$$"), !known.contains(ExactKey(String(key.dropFirst()))) else { return key }
      return String(key.dropFirst())
    }
  }
}
