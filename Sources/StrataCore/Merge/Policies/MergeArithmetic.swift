import Foundation

/// Adds up the changes that two sides made to a number.
enum MergeArithmetic {
  /// Returns `local + server - base`. Absent and null values count as 0. Returns `nil` if the values are not numbers of one kind, or if the
  /// sum exceeds 64 bits or the range of the floating-point type.
  static func sum(_ sides: MergePolicy.Sides) -> ArchiveValue? {
    let values = [sides.base, sides.local, sides.server].map { $0.flatMap { $0.isNull ? nil : $0 } }
    let present = values.compactMap(\.self)
    if present.allSatisfy({ $0.integer(as: Int64.self) != nil || $0.integer(as: UInt64.self) != nil }) {
      let numbers = values.map { $0?.wideInteger?.twosComplement ?? .zero }
      let sum = WideInteger(twosComplement: numbers[1] &+ numbers[2] &+ numbers[0].negated)
      return sum.exactly(Int64.self) != nil || sum.exactly(UInt64.self) != nil ? ArchiveValue(sum) : nil
    }
    if present.allSatisfy({ if case .decimal(let value) = $0 { value.isFinite } else { false } }) {
      let numbers = values.map { value -> Decimal in if case .decimal(let number)? = value { number } else { 0 } }
      let sum = numbers[1] + numbers[2] - numbers[0]
      return sum.isFinite ? .decimal(sum) : nil
    }
    let numbers = values.compactMap { value -> Double? in
      switch value {
      case nil: 0
      case .double(let number)?: number
      case .float(let number)?: Double(number)
      case .int(let number)?: Double(number)
      default: nil
      }
    }
    guard numbers.count == values.count else { return nil }
    // If two programs synchronize with each other, each of them calls this function with its own value as the local one. Adding the local
    // and the server's value first gives both programs the same rounded result.
    let sum = (numbers[1] + numbers[2]) - numbers[0]
    guard sum.isFinite else { return nil }
    guard present.allSatisfy({ if case .float = $0 { true } else { false } }) else { return .double(sum) }
    let narrow = Float(sum)
    return narrow.isFinite ? .float(narrow) : nil
  }
}
