import Foundation

extension ArchiveValue {
  /// Whether two values are equal, except that NaN is the same as itself.
  ///
  /// - Complexity: linear in the size of the smaller one; does not use the stack.
  package func isSame(as other: ArchiveValue) -> Bool { Self.areEqual(self, other, Self.areSameScalars) }

  /// Whether two values have the same structure, and equal values in it.
  ///
  /// - Parameters:
  ///   - areEqual: compares two values of which at least one holds no others.
  ///   - hasOrder: whether the members of sets with references are in a defined order.
  ///   - members: converts the members of other sets with references for the comparison.
  static func areEqual(
    _ left: ArchiveValue, _ right: ArchiveValue, _ areEqual: (ArchiveValue, ArchiveValue) -> Bool,
    hasOrder: Bool = false,
    members: (ArchiveValue) -> ArchiveValue = { $0 }
  ) -> Bool {
    var waiting: [(ArchiveValue, ArchiveValue)] = []
    var compared = ComparedStorage()
    // Containers are deferred, so that nesting does not use the stack.
    func mayBeEqual(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
      guard left.holdsValues, right.holdsValues else { return areEqual(left, right) }
      waiting.append((left, right))
      return true
    }
    // Not `zip`, because its pairs take most of the time of a comparison in builds without optimization.
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
    guard mayBeEqual(left, right) else { return false }
    while let (left, right) = waiting.popLast() {
      let isEqual =
        switch (left, right) {
        case (.set(let one), .set(let other)) where !hasOrder && left.hasReferences:
          one.count == other.count && Set(one.map(members)) == Set(other.map(members))
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

  /// Pairs of arrays that were compared or are pending, so that a part that a value repeats is compared once.
  private struct ComparedStorage {
    private struct Pair: Hashable {
      let left: StorageIdentity
      let right: StorageIdentity
      var shapes: [ObjectIdentifier] = []
    }

    /// The number of comparisons before pairs are remembered. Remembering costs more than comparing, and few values
    /// have so many parts.
    private static let remembers = 1 << 20

    private var count = 0
    private var pairs = Set<Pair>()

    /// Whether a pair need not be compared again. A pair that was not equal has already ended the comparison.
    ///
    /// The compared values retain the arrays, so no address is reused.
    ///
    /// - Parameter shapes: the shapes of records with different keys, which determine the values that are compared.
    mutating func holds<T>(_ left: [T], _ right: [T], _ shapes: RecordShape...) -> Bool {
      count += 1
      guard count > Self.remembers, !left.isEmpty else { return false }
      let pair = Pair(
        left: StorageIdentity(left), right: StorageIdentity(right), shapes: shapes.map { ObjectIdentifier($0) })
      return !pairs.insert(pair).inserted
    }
  }

  static func areSameScalars(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
    left == right || left.isNotANumber && left.markingNaN == right.markingNaN
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

  /// The number of values: this one and all inside.
  ///
  /// - Parameter depth: the number of levels around this value.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if more levels than the limit are nested.
  /// - Complexity: linear in that number; does not use the stack.
  func size(atDepth depth: Int = 0, limit: Int = .max) throws -> Int {
    guard holdsValues else {
      guard depth <= limit else { throw ArchiveError.tooDeep(limit) }
      return 1
    }
    var size = 1
    var waiting = [(value: self, depth: depth)]
    while let (value, depth) = waiting.popLast() {
      guard depth < limit else { throw ArchiveError.tooDeep(limit) }
      value.forEachInside { inside in
        size += 1
        if inside.holdsValues { waiting.append((inside, depth + 1)) }
      }
    }
    return size
  }
}

extension Array {
  /// Whether two arrays share their memory, so that their elements need not be compared.
  func isStored(like other: [Element]) -> Bool {
    withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && own.count == $0.count }
    }
  }
}

/// A value for lookup tables: NaN equals itself.
package struct SameValue: Hashable {
  let value: ArchiveValue
  /// The value with each NaN replaced by a marker; `nil` if there is none.
  private let marked: ArchiveValue?
  /// Whether the value contains NaN.
  var hasNaN: Bool { marked != nil }

  package init(_ value: ArchiveValue) {
    self.value = value
    marked = (value.holdsValues ? value.hasNaN : value.isNotANumber) ? value.markingNaN : nil
  }

  package static func == (left: SameValue, right: SameValue) -> Bool {
    left.marked ?? left.value == right.marked ?? right.value
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(marked ?? value) }
}

extension ArchiveValue {
  /// Whether the value contains NaN, so that it is not equal to itself.
  var hasNaN: Bool {
    var waiting = [self]
    while let value = waiting.popLast() {
      if value.isNotANumber { return true }
      value.forEachInside { waiting.append($0) }
    }
    return false
  }

  /// Returns a copy in which each NaN is replaced by a marker, so that NaN equals itself.
  fileprivate var markingNaN: ArchiveValue {
    switch self {
    case .double(let number) where number.isNaN: .number(NumberText(checked: "NaN"))
    case .float(let number) where number.isNaN: .number(NumberText(checked: "float NaN"))
    case .decimal(let number) where number.isNaN: .number(NumberText(checked: "decimal NaN"))
    case .date where isNotANumber: .number(NumberText(checked: "date NaN"))
    default: mapInside(\.markingNaN)
    }
  }
}
