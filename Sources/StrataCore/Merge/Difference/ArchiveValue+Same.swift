import Foundation

extension ArchiveValue {
  /// Whether two values are the same: equal, but that what is not a number is the same as itself.
  ///
  /// - Complexity: linear in the size of the smaller one; does not use the stack.
  package func isSame(as other: ArchiveValue) -> Bool { Self.areEqual(self, other, Self.areSameScalars) }

  /// Whether two values are the same where they refer to objects. What is not a number is the same as any other
  /// that is none: sides of a merge may spell it in types of their own.
  ///
  /// - Parameter canonical: the same number for all references to one object.
  func isSame(as other: ArchiveValue, _ canonical: (Int) -> Int) -> Bool {
    Self.areEqual(self, other) { one, other in
      guard case (.reference(let left), .reference(let right)) = (one, other) else {
        return Self.areSameScalars(one, other) || one.isNotANumber && other.isNotANumber
      }
      return left == right || canonical(left) == canonical(right)
    } members: {
      // The order of objects follows what they hold, which is not what is compared.
      $0.hasReferences ? $0.withoutReferences(canonical) : $0
    }
  }

  /// The value with numbers in the place of references, and with sets in the order that follows.
  private func withoutReferences(_ canonical: (Int) -> Int) -> ArchiveValue {
    switch self {
    case .reference(let number): return .integer(canonical(number))
    case .set(let members):
      let members = members.map { $0.withoutReferences(canonical) }
      // Values that cannot be written differ from all others, in any order.
      return .set((try? CanonicalOrder.sorted(members) { try $0.write($1) }) ?? members)
    case .array, .object, .map, .record: return mapInside { $0.withoutReferences(canonical) }
    default: return self
    }
  }

  /// Whether two values hold the same places, and equal values in them.
  ///
  /// - Parameters:
  ///   - areEqual: whether two values are equal that hold no others, or others of different kinds.
  ///   - hasOrder: whether sets with references are in an order of their own.
  ///   - members: what the members of a set are compared by where they are not.
  static func areEqual(
    _ left: ArchiveValue, _ right: ArchiveValue, _ areEqual: (ArchiveValue, ArchiveValue) -> Bool,
    hasOrder: Bool = false,
    members: (ArchiveValue) -> ArchiveValue = { $0 }
  ) -> Bool {
    var waiting: [(ArchiveValue, ArchiveValue)] = []
    var compared = ComparedStorage()
    // What holds others waits for its turn, so that nesting does not use the stack.
    func mayBeEqual(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
      guard left.holdsValues, right.holdsValues else { return areEqual(left, right) }
      waiting.append((left, right))
      return true
    }
    // Not in pairs of `zip`, which cost most of a comparison in builds without optimisation.
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

  /// Pairs of arrays that were compared, or wait for it: parts that a value has again and again are compared once.
  private struct ComparedStorage {
    private struct Pair: Hashable {
      let left: StorageIdentity
      let right: StorageIdentity
      var shapes: [ObjectIdentifier] = []
    }

    /// Remembering costs more than comparing does, and few values have so many parts.
    private static let remembers = 1 << 20

    private var count = 0
    private var pairs = Set<Pair>()

    /// Whether a pair needs not be compared: one that is not equal ends the whole comparison.
    ///
    /// The values that are compared hold the arrays, so none is gone while its place is known.
    ///
    /// - Parameter shapes: the shapes of records whose keys are not the same, which say what is compared with what.
    mutating func holds<T>(_ left: [T], _ right: [T], _ shapes: RecordShape...) -> Bool {
      count += 1
      guard count > Self.remembers, !left.isEmpty else { return false }
      let pair = Pair(
        left: StorageIdentity(left), right: StorageIdentity(right), shapes: shapes.map { ObjectIdentifier($0) })
      return !pairs.insert(pair).inserted
    }
  }

  private static func areSameScalars(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
    left == right || left.isNotANumber && left.markingNaN == right.markingNaN
  }

  fileprivate var isNotANumber: Bool {
    switch self {
    case .double(let number): number.isNaN
    case .float(let number): number.isNaN
    case .decimal(let number): number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }

  /// How many values there are, this one and those inside counted.
  ///
  /// - Parameter depth: how many levels there are around this one.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where more levels than the limit are nested.
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
  /// Whether two arrays are one in memory, so that nothing in them needs to be compared.
  func isStored(like other: [Element]) -> Bool {
    withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && own.count == $0.count }
    }
  }
}

/// A value that is found again: what is not a number is the same as itself.
package struct SameValue: Hashable {
  let value: ArchiveValue
  /// The value with marks for what is not a number; `nil` where everything is.
  private let marked: ArchiveValue?
  /// Whether something in the value is not a number.
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
  /// Whether something in the value is not a number, so that it is not equal to itself.
  var hasNaN: Bool {
    var waiting = [self]
    while let value = waiting.popLast() {
      if value.isNotANumber { return true }
      value.forEachInside { waiting.append($0) }
    }
    return false
  }

  /// The value with texts that no number has in place of what is not a number.
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
