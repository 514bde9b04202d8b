/// Compares values of kinds that have an order, such as numbers, dates and strings.
enum ValueOrder {
  /// Returns -1, 0 or 1; `nil` if the values have no order.
  ///
  /// Numbers of all kinds are compared by all of their digits, and strings by their Unicode scalars. NaN is less than any other number.
  ///
  /// - Complexity: linear in the length of the values.
  static func compare(_ left: ArchiveValue, _ right: ArchiveValue) -> Int? {
    switch (left, right) {
    case (.string(let left), .string(let right)):
      return sign(
        left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars),
        left.unicodeScalars.elementsEqual(right.unicodeScalars))
    case (.date(let left), .date(let right)): return sign(left < right, left == right)
    case (.bool(let left), .bool(let right)): return sign(!left && right, left == right)
    default: return compareNumbers(left, right)
    }
  }

  /// Whether the encoded bytes of the left value are greater than those of the right one. Any two different values can be ordered this way,
  /// so two programs that synchronize always choose the same value.
  static func isGreater(_ left: ArchiveValue?, than right: ArchiveValue?) throws -> Bool {
    guard let left else { return false }
    guard let right else { return true }
    func bytes(_ value: ArchiveValue) throws -> [UInt8] {
      var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
      try writer.write(value)
      return writer.buffer.array()
    }
    return try bytes(right).lexicographicallyPrecedes(bytes(left))
  }

  private static func sign(_ isSmaller: Bool, _ isEqual: Bool) -> Int { isSmaller ? -1 : isEqual ? 0 : 1 }

  /// Compares two numbers by all of their digits; see ``ExactNumber``.
  private static func compareNumbers(_ left: ArchiveValue, _ right: ArchiveValue) -> Int? {
    guard let left = ExactNumber(left), let right = ExactNumber(right) else { return nil }
    return sign(left < right, left == right)
  }
}
