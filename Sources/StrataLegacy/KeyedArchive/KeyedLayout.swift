internal import StrataCore

/// The set of keys shared by one or more dictionaries in a property list, usually all objects of one class. The order
/// of the keys can differ between the dictionaries. Everything derived from the keys is computed once, in the key order
/// of the first dictionary.
final class KeyedLayout {
  /// The keys, except `$class`, as they were passed to the archiver: without the extra `$` that the archiver adds to a
  /// key that already begins with `$`.
  let keys: [String]
  /// The keys as they appear in the archive, with the added `$`, in the order of ``keys``.
  let rawKeys: [String]
  /// The total length of all keys, in bytes.
  let keyBytes: Int
  /// A key that only the archiver may use, or `nil` if there is none. An object with such a key is malformed.
  let reservedKey: String?
  /// The number of keys in each dictionary, including `$class`.
  private let count: Int
  /// The index in ``keys`` for each key number (``KeyNumbers``); -1 for a key that is not in the layout, and -2 for
  /// `$class`.
  private let indices: [Int32]
  /// The same indices for key numbers that are too large for an array. Only hostile files have so many keys.
  private let largeIndices: [Int: Int32]
  // Swift's exclusivity checks are turned off for `plans` and `lastPlan`, because a check for each object would be too
  // slow. This is safe, because only the reader that created the layout accesses these properties.
  @exclusivity(unchecked) private var plans: [Plan] = []
  @exclusivity(unchecked) private var lastPlan: Plan?

  /// The instructions for decoding objects of one class that have the keys of the layout.
  final class Plan {
    fileprivate let identity: Int
    let type: KeyedClass
    /// A copy of the layout's keys.
    let keys: [String]
    let rawKeys: [String]
    /// The length of the class name, in bytes.
    let nameBytes: Int
    /// The Foundation class of the objects if they are decoded as plain values; otherwise `nil`.
    let foundation: FoundationValue?
    /// Whether each record has the same fields as its archived object, apart from the model version, which is not a
    /// field of a record.
    let keepsFields: Bool
    /// The index in `keys` of the key for the model version, or `nil` if there is none.
    let versionIndex: Int?
    /// Caches the shape of the latest record decoded with this plan, because the next record usually has the same
    /// shape.
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
  /// - Throws: `ArchiveError` with the code `damaged` if a key is not a string or occurs twice.
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

  /// Returns the index in ``keys`` for the key with the given number; -1 if the key is not in the layout, or -2 for
  /// `$class`.
  @inline(__always)
  private func index(of number: Int32) -> Int32 {
    if number >= 0, Int(number) < indices.count { return indices[Int(number)] }
    return largeIndex(of: Int(number))
  }

  @inline(never)
  private func largeIndex(of number: Int) -> Int32 { largeIndices[number] ?? -1 }

  /// Finds the index in ``keys`` of each key of a dictionary, given the numbers of the keys.
  ///
  /// - Parameters:
  ///   - count: the number of keys in the dictionary. `numbers` may have more elements.
  ///   - found: receives the indices, starting at position `first`. If the dictionary does not have the keys of this
  ///     layout, the contents are meaningless.
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
    // `seen` has a bit for each of 64 keys. If there are more keys, duplicates are found with a set.
    if count > 64 {
      var others = Set<Int32>(minimumCapacity: count)
      for entry in 0..<count where !others.insert(found[first &+ entry]).inserted { return nil }
    }
    return classEntry
  }

  /// Returns the plan for objects of one class. `identity` is the identity of the class in the archive.
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

  /// Returns whether only the archiver may use a key. Such a key begins with a single `$` that is not followed by a
  /// number.
  private static func isReserved(_ key: String) -> Bool {
    guard key.hasPrefix("$"), !key.hasPrefix("$$") else { return false }
    return key.count == 1 || !key.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
  }

  /// Removes the extra `$` that the archiver adds to a key that already begins with `$`.
  static func unescaped(_ keys: [String]) -> [String] {
    guard keys.contains(where: { $0.hasPrefix("$$") }) else { return keys }
    let known = Set(keys.map { ExactKey($0) })
    // The `$` is not removed if the result is already a key. For example, `$$0` must not become `$0`, which is the key
    // of a value that was archived without a key.
    return keys.map { key in
      guard key.hasPrefix("$$"), !known.contains(ExactKey(String(key.dropFirst()))) else { return key }
      return String(key.dropFirst())
    }
  }
}
