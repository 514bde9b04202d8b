import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// The sign, the digits and the exponent of a JSON number, parsed from its text.
private struct Spelled {
  let text: String
  let isNegative: Bool
  /// The digits without leading and trailing zeros.
  let digits: Substring
  let power: Int

  init(_ text: String) {
    self.text = text
    isNegative = text.hasPrefix("-")
    let halves = text.split { $0 == "e" || $0 == "E" }
    let parts = halves[0].drop { $0 == "-" }.split(separator: ".")
    var digits = Substring(parts.joined()).drop { $0 == "0" }
    var power = (halves.count > 1 ? Int(halves[1]) ?? 0 : 0) - (parts.count > 1 ? parts[1].count : 0)
    while digits.last == "0" { (digits, power) = (digits.dropLast(), power + 1) }
    (self.digits, self.power) = digits.isEmpty ? (digits, 0) : (digits, power)
  }

  func isSame(as other: Spelled) -> Bool {
    isNegative == other.isNegative && digits == other.digits && power == other.power
  }

  /// Foundation's decimal, or `nil` if Foundation rounds or rejects the number.
  var decimal: Decimal? {
    if digits.isEmpty { return 0 }
    guard power <= 200 else { return nil }
    // Foundation accepts exponents only up to 127. For a larger exponent, zeros are appended to the digits instead.
    let zeros = String(repeating: "0", count: max(power - 127, 0))
    let text = (isNegative ? "-" : "") + digits + zeros + "e\(min(power, 127))"
    guard let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), decimal.isFinite,
      isSame(as: Spelled(decimal.description))
    else { return nil }
    return decimal
  }

  var isInteger: Bool { !text.contains { ".eE".contains($0) } }

  var value: ArchiveValue {
    if digits.isEmpty { return isNegative || !isInteger ? .double(isNegative ? -0.0 : 0) : .int(0) }
    if isInteger, let magnitude = UInt128(text.drop { $0 == "-" }) {
      return ArchiveValue(WideInteger(isNegative: isNegative, magnitude: magnitude))
    }
    if !isInteger, let double = Double(text), double.isFinite, isSame(as: Spelled(double.description)) {
      return .double(double)
    }
    if isInteger || power < 0 || digits.count + power > 39, let decimal { return .decimal(decimal) }
    return .number(NumberText(checked: text))
  }
}

@Suite("JSON: exact numbers", .tags(.long))
struct JSONNumberLawTests {
  private var random = SeededRandom(seed: UInt64.random(in: 0..<1 << 32))

  /// Significands at which the implementation may switch to another representation: powers of two and of ten, and the maximum.
  private static let edges: [UInt128] =
    [53, 54, 63, 64].map { 1 << $0 } + [.max] + (0...38).map { (0..<$0).reduce(1) { power, _ in power * 10 } }

  private mutating func significand() -> UInt128 {
    switch random.below(4) {
    case 0: return random.oneOf(Self.edges) &+ UInt128(random.below(3)) &- 1
    case 1: return UInt128.random(in: 0...UInt128.max, using: &random) >> UInt128(random.below(128))
    // Coordinates often have 16 or 17 digits.
    case 2: return UInt128.random(in: 1_000_000_000_000_000..<100_000_000_000_000_000, using: &random)
    // The digits of a printed double.
    default:
      let double = Double(UInt64.random(in: 1..<1 << 52, using: &random)) / 0x1p45
      return UInt128(double.description.filter { $0 != "." && $0 != "-" }.prefix(18).filter(\.isNumber)) ?? 0
    }
  }

  private mutating func text() -> String {
    var digits = String(significand())
    if digits != "0", random.isOnce(in: 4) { digits += String(repeating: "0", count: random.below(24)) }
    let sign = random.isOnce(in: 3) ? "-" : ""
    if random.isOnce(in: 6) { return sign + digits }
    let places = random.isOnce(in: 8) ? random.below(60) : random.below(digits.count + 3)
    if places >= digits.count { digits = String(repeating: "0", count: places - digits.count + 1) + digits }
    var text = sign + digits.dropLast(places)
    if places > 0 { text += "." + digits.suffix(places) }
    if places == 0 || random.isOnce(in: 4) {
      let exponent = random.isOnce(in: 4) ? random.below(700) - 350 : random.below(60) - 30
      text += random.oneOf(["e", "E"]) + (exponent >= 0 && random.isOnce(in: 2) ? "+" : "") + String(exponent)
    }
    return text
  }

  private func same(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
    if case (.double(let left), .double(let right)) = (left, right) { return left.bitPattern == right.bitPattern }
    return left.kind == right.kind && left == right
  }

  private func check(_ text: String) throws {
    let spelled = Spelled(text)
    let json = Data("[\(text)]".utf8)
    let value = try #require(try JSONReader().read(json).arrayValue?.first)
    #expect(same(value, spelled.value), "\(text) is \(value) and not \(spelled.value), \(random)")
    let double = try #require(Double(text))
    let doubles = try? JSONReader().read([Double].self, from: json)
    if !spelled.isInteger {
      #expect(doubles?.first?.bitPattern == (double.isFinite ? double.bitPattern : nil), "\(text), \(random)")
    }
    #expect(doubles == (try? [Double].decode(from: .array([value]), in: DecodingContext(source: .json))), "\(text)")
    let decimals = try? JSONReader().read([Decimal].self, from: json)
    #expect(decimals == (try? [Decimal].decode(from: .array([value]), in: DecodingContext(source: .json))), "\(text)")
    if let decimal = spelled.decimal {
      #expect(decimals?.first?.description == decimal.description, "\(text), \(random)")
    } else if let found = decimals?.first {
      #expect(spelled.isSame(as: Spelled(found.description)), "\(text), \(random)")
    }
    // The number survives a round trip through JSON and through an archive.
    let written = try JSONWriter().write(.array([value]))
    #expect(try same(JSONReader().read(written).arrayValue?.first ?? .null, value), "\(text)")
    let archive = try ArchiveEncoder().encodeBody(ArchiveValue.array([value]))
    #expect(try same(ArchiveDecoder().decodeBody(ArchiveValue.self, from: archive).arrayValue?.first ?? .null, value))
    guard let decimals else { return }
    let body = try ArchiveEncoder().encodeBody(decimals)
    #expect(try ArchiveDecoder().decodeBody([Decimal].self, from: body) == decimals, "\(text), \(random)")
    #expect(try String(decoding: JSONWriter().write(decimals), as: UTF8.self) == "[\(decimals[0].description)]")
  }

  @Test("Reading, writing and archiving a random number preserves its exact value")
  mutating func law() throws {
    for _ in 0..<Effort.rounds(2_000, long: 60_000) { try check(text()) }
  }

  @Test(
    "Numbers with extra zeros or at the limits of a type keep their exact value",
    arguments: [
      "0", "-0", "0.0", "-0.0", "0e5", "-0e999999999999999999999", "0.000", "1.0", "1.50", "100e-2", "-1.10e1", "1e22",
      "1e23", "0.1", "0.0001", "0.00001", "52.51631700000001", "65.613616999999977", "43.420273000000009",
      "9007199254740993", "9007199254740993.0", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
      "18446744073709551615", "18446744073709551616", "18446744073709551616.5", "1844674407370955161.6",
      "10000000000000000000", "9999999999999999999", "999999999999999999.9", "1000000000000000000.1",
      "0.18446744073709551616", "99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
      "340282366920938463463374607431768211455", "340282366920938463463374607431768211456",
      "3.40282366920938463463374607431768211455", "3.40282366920938463463374607431768211456", "1e127", "1e128", "1e165",
      "1e166", "1e-128", "1e-129", "12345678901234567.5e-128", "10000000000000.0625", "10000000000000.062",
      "10000000000000.063", "1e-400", "1e400", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308",
      "0.1000000000000000055511151231257827021181583404541015625",
    ])
  func edge(text: String) throws {
    try check(text)
    if !text.hasPrefix("-") { try check("-" + text) }
  }

  @Test("A decimal is written as its description, also after arithmetic")
  mutating func decimalText() throws {
    for _ in 0..<Effort.rounds(1_000, long: 30_000) {
      let parts = DecimalParts(
        isNegative: random.isOnce(in: 2), mantissa: significand(), exponent: random.below(256) - 128)
      guard let decimal = parts.decimal else { continue }
      let other = Decimal(random.below(2_000) - 1_000) / Decimal(1 + random.below(100))
      // Foundation's decimal arithmetic traps near the limits of its range.
      let isMiddling = parts.exponent.magnitude <= 60
      for result in [decimal] + (isMiddling ? [decimal + other, decimal * other, other - 1] : []) where result.isFinite
      {
        let text = try JSONWriter().write(.array([.decimal(result)]))
        #expect(String(decoding: text, as: UTF8.self) == "[\(result.description)]", "\(random)")
      }
    }
  }

  @Test("A double is written as its description")
  mutating func doubleText() throws {
    for _ in 0..<Effort.rounds(2_000, long: 60_000) {
      let double = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64(random.below(3)))
      let near = Double(random.below(1 << 53)) / Double(1 << random.below(62)) * (random.isOnce(in: 2) ? 1 : -1)
      for number in [double, near, near.rounded(), Double(random.below(10_000)) / 1000] where number.isFinite {
        let texts = try [JSONWriter().write([number]), JSONWriter().write(.array([.double(number)]))]
        let expected = "[\(number.description)]"
        #expect(texts.map { String(decoding: $0, as: UTF8.self) } == [expected, expected], "\(random)")
      }
    }
  }
}
