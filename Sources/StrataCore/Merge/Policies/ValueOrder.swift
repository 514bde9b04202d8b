import Foundation

/// Which of two values is the greater one, for values that have an order.
enum ValueOrder {
  /// -1, 0 or 1; `nil` where the values have no order.
  static func compare(_ left: Value, _ right: Value) -> Int? {
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

  /// An order of all values, which both sides of an exchange find the same: by their bytes in an archive.
  static func isGreater(_ left: Value?, than right: Value?) throws -> Bool {
    guard let left else { return false }
    guard let right else { return true }
    func bytes(_ value: Value) throws -> [UInt8] {
      var writer = ArchiveWriter(usesReferences: false, minimumCapacity: 64)
      try writer.write(value)
      return writer.buffer.array()
    }
    return try bytes(right).lexicographicallyPrecedes(bytes(left))
  }

  private static func sign(_ isSmaller: Bool, _ isEqual: Bool) -> Int { isSmaller ? -1 : isEqual ? 0 : 1 }

  private static func compareNumbers(_ left: Value, _ right: Value) -> Int? {
    if let left = left.integer(as: Int128.self), let right = right.integer(as: Int128.self) {
      return sign(left < right, left == right)
    }
    if case .decimal(let left) = left, case .decimal(let right) = right, left.isFinite, right.isFinite {
      return sign(left < right, left == right)
    }
    guard let one = left.doubleValue, let other = right.doubleValue else { return nil }
    // What is not a number is below all numbers.
    if one.isNaN || other.isNaN { return sign(one.isNaN && !other.isNaN, one.isNaN && other.isNaN) }
    return sign(one < other, one == other)
  }
}
