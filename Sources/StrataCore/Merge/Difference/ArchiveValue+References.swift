extension ArchiveValue {
  /// Whether two values are equal. If a set contains references, the order of its members is ignored, because archives sort such members by
  /// the fields of the referenced objects.
  func isEqual(to other: ArchiveValue) -> Bool {
    Self.areEqual(self, other, Self.areEqualScalars, hasOrder: false)
  }

  /// Whether values from two sides of a merge are equal. Any NaN equals any other NaN, because the sides may store NaN in different number
  /// types.
  ///
  /// - Parameter canonical: returns the number to use when comparing a reference. All references to one object get the same number.
  func isEqual(to other: ArchiveValue, _ canonical: (Int) -> Int) -> Bool {
    func areEqual(_ one: ArchiveValue, _ other: ArchiveValue) -> Bool {
      guard case (.reference(let left), .reference(let right)) = (one, other) else {
        return Self.areEqualScalars(one, other) || one.isNotANumber && other.isNotANumber
      }
      return left == right || canonical(left) == canonical(right)
    }
    return Self.areEqual(self, other, areEqual, hasOrder: false) { $0.canonical(canonical) }
  }

  /// Returns the value with the number in each reference replaced by the result of `number`, which is the same for all references to one
  /// object. The members of sets are sorted by the new numbers.
  func canonical(_ number: (Int) -> Int) -> ArchiveValue {
    guard hasReferences else { return self }
    switch self {
    case .reference(let reference): return .reference(number(reference))
    case .set(let members):
      let members = members.map { $0.canonical(number) }
      // If a member cannot be encoded, the members keep their order. The set then differs from a set with the same members in a different
      // order.
      return .set((try? CanonicalOrder.sorted(members) { try $0.write($1.mapReferences { .integer($0) }) }) ?? members)
    case .array, .object, .map, .record: return mapInside { $0.canonical(number) }
    default: return self
    }
  }
}

extension ModelRecord {
  func isEqual(to other: ModelRecord) -> Bool { ArchiveValue.record(self).isEqual(to: .record(other)) }
}

extension ArchiveValue? {
  func isEqual(to other: ArchiveValue?) -> Bool {
    guard let self, let other else { return self == nil && other == nil }
    return self.isEqual(to: other)
  }
}
