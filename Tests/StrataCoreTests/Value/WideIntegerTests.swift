import StrataTestSupport
import Testing

@testable import StrataCore

/// Compares the library's wide integers with the standard library's 128-bit types.
@Suite("128-bit integers")
struct WideIntegerTests {
  /// Numbers of every width, and the neighbors of powers of two.
  private static func numbers(_ random: inout SeededRandom) -> [UInt128] {
    var numbers: [UInt128] = [0, 1, 9, 10, .max, .max - 1, 10_000_000_000_000_000_000, 99_999_999_999_999_999_999]
    for bits in 0..<128 {
      numbers += [
        1 << UInt128(bits), (1 << UInt128(bits)) &- 1,
        UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128(bits),
      ]
    }
    return numbers
  }

  @Test("Arithmetic of magnitudes matches UInt128")
  func magnitudes() throws {
    var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))
    for number in Self.numbers(&random) {
      let magnitude = WideInteger.Magnitude(number)
      #expect(magnitude.number == number)
      #expect(magnitude.description == number.description)
      #expect(WideInteger.Magnitude(digits: number.description.utf8) == magnitude)
      #expect(magnitude.leadingZeroBitCount == number.leadingZeroBitCount)
      #expect(magnitude.trailingZeroBitCount == number.trailingZeroBitCount)
      #expect(magnitude.negated.number == 0 &- number)
      if number > 0 { #expect(magnitude.predecessor.number == number - 1) }
      #expect(Double(exactly: magnitude) == Double(exactly: number), "\(number)")
      for count in [UInt64(1), 4, 8, 16, 63] {
        #expect(
          magnitude.appending(bits: 1, count: count).number == number << UInt128(count) | 1, "\(number) << \(count)")
      }
      for factor in [0, 1, 7, 10, UInt64.max, random.next() >> UInt64(random.below(64))] {
        let (product, overflows) = number.multipliedReportingOverflow(by: UInt128(factor))
        #expect(magnitude.multiplied(by: factor)?.number == (overflows ? nil : product), "\(number) * \(factor)")
        let (sum, carries) = number.addingReportingOverflow(UInt128(factor))
        #expect(magnitude.adding(factor)?.number == (carries ? nil : sum), "\(number) + \(factor)")
        #expect(
          (magnitude &+ WideInteger.Magnitude(high: factor, low: factor)).number == number
            &+ (UInt128(factor) << 64 | UInt128(factor)))
        #expect((magnitude < WideInteger.Magnitude(factor)) == (number < UInt128(factor)))
        guard factor > 0 else { continue }
        let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: factor)
        #expect(quotient.number == number / UInt128(factor) && UInt128(remainder) == number % UInt128(factor))
      }
    }
  }

  @Test("Parsing returns nil for numbers beyond 128 bits, empty text and invalid characters")
  func refusedDigits() {
    #expect(WideInteger.Magnitude(digits: "340282366920938463463374607431768211455".utf8)?.number == .max)
    for text in ["340282366920938463463374607431768211456", "", "1a", "-1", "+1", " 1", "1 ", "１"] {
      #expect(WideInteger.Magnitude(digits: text.utf8) == nil, "\(text)")
    }
    for text in ["", "-", "+", "--1", "+-1", "1.0"] { #expect(WideInteger(text) == nil, "\(text)") }
  }

  @Test("Conversions of wide integers match the integer types of the standard library")
  func integers() throws {
    var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))
    func check<T: FixedWidthInteger>(_ integer: WideInteger, _ number: UInt128, _ isNegative: Bool, _ type: T.Type) {
      // The standard library's two types together cover -2^127 to 2^128 - 1.
      let expected =
        isNegative
        ? (number <= 1 << 127 ? T(exactly: Int128(truncatingIfNeeded: 0 &- number)) : nil) : T(exactly: number)
      #expect(integer.exactly(T.self) == expected, "\(integer) as \(T.self)")
    }
    for number in Self.numbers(&random) {
      for isNegative in [false, true] {
        let integer = WideInteger(isNegative: isNegative, magnitude: number)
        check(integer, number, isNegative, Int8.self)
        check(integer, number, isNegative, UInt8.self)
        check(integer, number, isNegative, Int64.self)
        check(integer, number, isNegative, UInt64.self)
        check(integer, number, isNegative, Int128.self)
        check(integer, number, isNegative, UInt128.self)
        #expect(WideInteger(integer.description) == integer)
        let double = (isNegative ? -1 : 1) * Double(number)
        if double.magnitude < 0x1p128 {
          #expect(
            WideInteger(exactly: double) == WideInteger(isNegative: isNegative, magnitude: UInt128(double.magnitude)))
        }
        guard let signed = integer.exactly(Int128.self) else {
          #expect(integer.twosComplement == nil)
          continue
        }
        #expect(integer.twosComplement?.number == UInt128(bitPattern: signed))
        #expect(WideInteger(twosComplement: WideInteger.Magnitude(UInt128(bitPattern: signed))) == integer)
        #expect(WideInteger(signed) == integer)
        for other in [Int128.min, -1, 0, 1, .max] { #expect((integer < WideInteger(other)) == (signed < other)) }
      }
    }
    for number in [0.5, -0.5, .nan, .infinity, -.infinity, 0x1p128, 1e300] {
      #expect(WideInteger(exactly: number) == nil)
    }
  }
}
