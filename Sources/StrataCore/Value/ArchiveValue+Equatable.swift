import Foundation

extension ArchiveValue: Hashable {
  /// Whether two values have the same kind and equal contents. NaN equals NaN of the same kind, because every value must be equal to
  /// itself. The order of keys does not matter in objects and records.
  ///
  /// - Complexity: linear in the size of the values. Repeated parts that share storage are compared only once. Does not use
  ///   recursion.
  public static func == (left: ArchiveValue, right: ArchiveValue) -> Bool {
    guard left.holdsValues else { return areEqualScalars(left, right) }
    guard right.holdsValues else { return false }
    return areEqualFlat(left, right) ?? areEqual(left, right, areEqualScalars)
  }

  /// Fast path for arrays, sets and records without nested collections. Returns `nil` if the result is unknown: if both values have a
  /// nested collection at the same position, if two records have different shapes, or if the values are any other two collections.
  private static func areEqualFlat(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool? {
    switch (left, right) {
    case (.array(let one), .array(let other)), (.set(let one), .set(let other)): areEqualFlat(one, other)
    case (.record(let one), .record(let other)) where one.shape === other.shape: areEqualFlat(one.values, other.values)
    default: nil
    }
  }

  private static func areEqualFlat(_ left: [ArchiveValue], _ right: [ArchiveValue]) -> Bool? {
    guard left.count == right.count else { return false }
    if left.isStored(like: right) { return true }
    for (one, other) in zip(left, right) {
      if one.holdsValues, other.holdsValues { return nil }
      if !areEqualScalars(one, other) { return false }
    }
    return true
  }

  static func areEqualScalars(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.int(let one), .int(let other)): one == other
    case (.uint(let one), .uint(let other)): one == other
    case (.wideInteger(let one), .wideInteger(let other)): one == other
    case (.float(let one), .float(let other)): one == other || one.isNaN && other.isNaN
    case (.double(let one), .double(let other)): one == other || one.isNaN && other.isNaN
    case (.decimal(let one), .decimal(let other)): one == other || one.isNaN && other.isNaN
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): one == other
    case (.data(let one), .data(let other)): one == other
    case (.date(let one), .date(let other)): one == other || left.isNotANumber && right.isNotANumber
    case (.url(let one), .url(let other)): one == other
    case (.uuid(let one), .uuid(let other)): one == other
    case (.reference(let one), .reference(let other)): one == other
    default: false
    }
  }
}

extension ArchiveValue {
  /// Returns whether two values have the same structure and equal values at each position.
  ///
  /// - Parameters:
  ///   - areEqual: compares two values. At least one of them is of a kind that cannot contain other values, such as a string.
  ///   - hasOrder: whether the members of sets that contain references are compared in order.
  ///   - members: if `hasOrder` is false, converts each member of a set that contains references before the set is compared.
  static func areEqual(
    _ left: ArchiveValue, _ right: ArchiveValue, _ areEqual: (ArchiveValue, ArchiveValue) -> Bool,
    hasOrder: Bool = true,
    members: (ArchiveValue) -> ArchiveValue = { $0 }
  ) -> Bool {
    var waiting: [(ArchiveValue, ArchiveValue)] = []
    var compared = ComparedStorage()
    // Compares two values. Pairs of containers are only queued for comparison, because recursion into deeply nested values could overflow
    // the stack.
    func mayBeEqual(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
      guard left.holdsValues, right.holdsValues else { return areEqual(left, right) }
      waiting.append((left, right))
      return true
    }
    // Compares or queues the elements of two arrays. The loop uses indices, because in builds without optimization, `zip` would take most
    // of the time of a comparison.
    func mayBeEqualInside(_ left: [ArchiveValue], _ right: [ArchiveValue]) -> Bool {
      var place = 0
      while place < left.count, place < right.count {
        guard mayBeEqual(left[place], right[place]) else { return false }
        place += 1
      }
      return true
    }
    func haveEqual(_ left: [ArchiveObject.Entry], _ right: [ArchiveObject.Entry]) -> Bool {
      guard left.count == right.count else { return false }
      var places = KeyPlaces(right)
      return left.enumerated().allSatisfy { number, entry in
        places.place(of: entry.key, near: number).map { mayBeEqual(entry.value, right[$0].value) } ?? false
      }
    }
    func counts(_ elements: [ArchiveValue]) -> [ArchiveValue: Int] {
      elements.reduce(into: [:]) { $0[members($1), default: 0] += 1 }
    }
    guard mayBeEqual(left, right) else { return false }
    while let (left, right) = waiting.popLast() {
      let isEqual =
        switch (left, right) {
        case (.set(let one), .set(let other)) where !hasOrder && !one.isStored(like: other) && left.hasReferences:
          counts(one) == counts(other)
        case (.array(let one), .array(let other)), (.set(let one), .set(let other)):
          one.isStored(like: other)
            || one.count == other.count
              && (compared.holds(one, other) || mayBeEqualInside(one, other))
        case (.object(let one), .object(let other)):
          one.entries.isStored(like: other.entries) || compared.holds(one.entries, other.entries)
            || haveEqual(one.entries, other.entries)
        case (.record(let one), .record(let other)):
          one.hasSameType(as: other)
            && (one.shape === other.shape || one.shape.hasSameKeys(as: other.shape)
              ? one.values.isStored(like: other.values) || compared.holds(one.values, other.values)
                || mayBeEqualInside(one.values, other.values)
              : compared.holds(one.values, other.values, one.shape, other.shape)
                || haveEqual(one.object.entries, other.object.entries))
        case (.map(let one), .map(let other)):
          one.count == other.count
            && (one.isStored(like: other) || compared.holds(one, other)
              || zip(one, other).allSatisfy { mayBeEqual($0.key, $1.key) && mayBeEqual($0.value, $1.value) })
        case (.graph(let one), .graph(let other)):
          one.objects.count == other.objects.count && mayBeEqualInside(one.objects, other.objects)
            && mayBeEqual(one.root, other.root)
        default: false
        }
      guard isEqual else { return false }
    }
    return true
  }

  /// Stores pairs of arrays that have already been compared or queued for comparison, so that repeated parts of a value are compared only
  /// once.
  private struct ComparedStorage {
    private struct Pair: Hashable {
      let left: StorageIdentity
      let right: StorageIdentity
      var shapes: [ObjectIdentifier] = []
    }

    /// Pairs are stored only after this number of comparisons. Storing a pair costs more than comparing it, and few values need so many
    /// comparisons.
    private static let remembers = 1 << 20

    private var count = 0
    private var pairs = Set<Pair>()

    /// Returns whether a pair of arrays was already stored and does not need to be compared again. If the arrays are not equal, the earlier
    /// comparison of the same pair makes the overall result false.
    ///
    /// The arrays are identified by address. The addresses are not reused, because the compared values retain the arrays.
    ///
    /// - Parameter shapes: the record shapes, if the arrays are the values of two records with different keys. The shapes determine which
    ///   values are compared with each other.
    mutating func holds<T>(_ left: [T], _ right: [T], _ shapes: RecordShape...) -> Bool {
      count += 1
      guard count > Self.remembers, !left.isEmpty else { return false }
      let pair = Pair(
        left: StorageIdentity(left), right: StorageIdentity(right), shapes: shapes.map { ObjectIdentifier($0) })
      return !pairs.insert(pair).inserted
    }
  }

  var isNotANumber: Bool {
    switch self {
    case .double(let number): number.isNaN
    case .float(let number): number.isNaN
    case .decimal(let number): number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }

  /// Whether the value is NaN or contains NaN. An archived set may contain several equal values with NaN, because a Swift `Set` can contain
  /// several NaNs.
  var hasNaN: Bool {
    var waiting = [self]
    while let value = waiting.popLast() {
      if value.isNotANumber { return true }
      value.forEachInside { waiting.append($0) }
    }
    return false
  }
}

extension Array {
  /// Returns whether two arrays share their storage, in which case their elements need no comparison.
  func isStored(like other: [Element]) -> Bool {
    withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && own.count == $0.count }
    }
  }
}
