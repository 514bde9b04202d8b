extension ArchiveValue {
  /// Whether two values with references are the same. NaN is the same as any other NaN, because the sides of a merge
  /// may have it in different types.
  ///
  /// - Parameter canonical: returns the same number for all references to one object.
  func isEqual(to other: ArchiveValue, _ canonical: (Int) -> Int) -> Bool {
    Self.areEqual(self, other) { one, other in
      guard case (.reference(let left), .reference(let right)) = (one, other) else {
        return Self.areEqualScalars(one, other) || one.isNotANumber && other.isNotANumber
      }
      return left == right || canonical(left) == canonical(right)
    } members: {
      $0.hasReferences ? $0.withoutReferences(canonical) : $0
    }
  }

  /// The value with references replaced by numbers, and with sets sorted accordingly.
  private func withoutReferences(_ canonical: (Int) -> Int) -> ArchiveValue {
    switch self {
    case .reference(let number): return .integer(canonical(number))
    case .set(let members):
      let members = members.map { $0.withoutReferences(canonical) }
      // A value that cannot be written differs from all others, in any order.
      return .set((try? CanonicalOrder.sorted(members) { try $0.write($1) }) ?? members)
    case .array, .object, .map, .record: return mapInside { $0.withoutReferences(canonical) }
    default: return self
    }
  }
}
