import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

@Suite("Parts of decimals")
struct DecimalPartsTests {
  /// The parts of a decimal, parsed from its description.
  private func parts(ofText decimal: Decimal) -> (isNegative: Bool, mantissa: UInt128, exponent: Int)? {
    var text = Substring(decimal.description)
    let isNegative = text.first == "-"
    if isNegative { text.removeFirst() }
    var exponent = 0
    if let point = text.firstIndex(of: ".") {
      exponent = -text.distance(from: point, to: text.endIndex) + 1
      text.remove(at: point)
    }
    while text.count > 1, text.last == "0" {
      text.removeLast()
      exponent += 1
    }
    guard let mantissa = UInt128(text) else { return nil }
    return mantissa == 0 ? (false, 0, 0) : (isNegative, mantissa, exponent)
  }

  private func check(_ decimal: Decimal) throws {
    let parts = try #require(DecimalParts(decimal))
    let expected = try #require(self.parts(ofText: decimal))
    #expect((parts.isNegative, parts.mantissa.number, parts.exponent) == expected, "\(decimal)")
    let back = try #require(parts.decimal)
    #expect(back == decimal && back.description == decimal.description, "\(decimal)")
  }

  @Test("The parts match the digits, and a decimal built from them equals the one that Foundation parses", .tags(.long))
  func digits() throws {
    var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))
    for _ in 0..<Effort.rounds(2_000, long: 50_000) {
      let mantissa =
        UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128(random.below(128))
        / (0..<1 + random.below(4)).reduce(1) { power, _ in power * 10 } * (random.below(2) == 0 ? 1 : 10)
      let exponent = random.below(300) - 150
      let isNegative = random.below(2) == 0
      let text = (isNegative ? "-" : "") + String(mantissa) + "e" + String(exponent)
      let parsed = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
      let made = DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: exponent).decimal
      guard let made else {
        // A number with too many digits or too large an exponent is rejected, not rounded.
        #expect(exponent > 127 || exponent < -128 || parsed == nil, "\(text)")
        continue
      }
      if let parsed, exponent <= 127, exponent >= -128 { #expect(made == parsed, "\(text)") }
      try check(made)
    }
  }

  @Test(
    "The parts of extreme and computed decimals match their digits",
    arguments: [
      Decimal.greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, 0, 1, -1, 65_536, 100, 0.1,
      Decimal(UInt64.max), Decimal(Int64.min), Decimal(1) / 3, Decimal(string: "1.50") ?? 0, Decimal(7) * 1_000_000,
      Decimal(1_000) - 999, Decimal(UInt64.max) * 2 - Decimal(UInt64.max),
    ])
  func arithmetic(decimal: Decimal) throws {
    try check(decimal)
    try check(-decimal)
  }

  @Test("NaN has no parts")
  func notANumber() { #expect(DecimalParts(.nan) == nil) }
}
