import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

@Suite("Digits of doubles", .tags(.long))
struct DoubleDigitsTests {
  private var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))

  /// Returns the digits in the description of a number, without trailing zeros, and their power of ten.
  private func digits(of description: String) throws -> (significand: UInt64, power: Int) {
    let halves = description.split(separator: "e")
    let parts = halves[0].drop { $0 == "-" }.split(separator: ".")
    var digits = Substring(parts.joined())
    var power = (halves.count > 1 ? try #require(Int(halves[1])) : 0) - (parts.count > 1 ? parts[1].count : 0)
    while digits.count > 1, digits.last == "0" { (digits, power) = (digits.dropLast(), power + 1) }
    return (try #require(UInt64(digits)), power)
  }

  private func check(_ double: Double) throws {
    guard let shortest = double.shortestDigits else { return }
    #expect(try shortest == digits(of: double.description), "\(double), \(random)")
  }

  @Test("The shortest digits match the description")
  mutating func shortest() throws {
    for _ in 0..<Effort.rounds(2_000, long: 100_000) {
      let exponent = UInt64(1023 - 38 + random.below(92))
      let fraction = UInt64.random(in: 0..<1 << 52, using: &random)
      try check(Double(bitPattern: exponent << 52 | fraction))
      // Numbers next to a power of two, where the distance to the neighboring doubles changes.
      try check(-Double(bitPattern: exponent << 52 | fraction % 8))
      try check(Double(bitPattern: exponent << 52 - fraction % 8))
      // A number with few binary places can lie halfway between two numbers of 17 digits.
      try check(Double(fraction) / Double(1 << random.below(10)))
      let decimal = UInt64.random(in: 1..<100_000_000_000_000_000, using: &random)
      try check(#require(Double("\(decimal)e\(-random.below(21))")))
    }
  }

  @Test("Most doubles have shortest digits, but zero, powers of two and ties have none")
  mutating func covered() {
    for double in [0.1, -0.1, 1.5, 3, 43.42027300000001, 4503599627370495.5, 3e-11] {
      #expect(double.shortestDigits != nil, "\(double)")
    }
    for double in [0, -0.0, 1, 0.5, 4096, .nan, .infinity, 1e-300, 1e300, 10000000000000.0625] {
      #expect(double.shortestDigits == nil, "\(double)")
    }
  }

  @Test("A double built from digits equals the one that Swift parses from their text")
  mutating func nearest() throws {
    func check(_ significand: UInt64, _ power: Int) throws {
      for isNegative in [false, true] {
        let double = Double(isNegative: isNegative, significand: significand, power: power)
        // Positive and negative zero are equal, but have different bits.
        let expected = try #require(Double("\(isNegative ? "-" : "")\(significand)e\(power)"))
        guard let double else {
          #expect(significand == 0 || power.magnitude > 27, "\(significand)e\(power)")
          continue
        }
        #expect(double.bitPattern == expected.bitPattern, "\(significand)e\(power), \(random)")
      }
    }
    let tens = (0...19).map { (0..<$0).reduce(1) { power, _ in power * 10 } as UInt64 }
    for edge in [0, 1, 1 << 53, 1 << 54, 1 << 62, 1 << 63, .max] + tens {
      for significand in [edge &- 1, edge, edge &+ 1] {
        for power in -28...28 { try check(significand, power) }
      }
    }
    for _ in 0..<Effort.rounds(2_000, long: 100_000) {
      try check(UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64(random.below(64)), random.below(60) - 30)
      // Checks the number halfway between two doubles, and its neighbors.
      let midway = (UInt64.random(in: 1 << 52..<1 << 53, using: &random) * 2 + 1) << UInt64(random.below(9))
      for significand in [midway - 1, midway, midway + 1] { try check(significand, random.below(3)) }
    }
  }
}
