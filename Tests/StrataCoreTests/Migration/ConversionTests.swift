import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Migration conversions lose nothing or fail")
struct ConversionTests {
  private func converted(_ value: ArchiveValue, _ conversion: ValueConversion) throws -> ArchiveValue? {
    var record = ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", .object(["v": value]))])
    record = try MigrationPlan(.step(from: 1, to: 2, .convert("a.v", conversion))).upgrade(record)
    return record["a.v" as ValuePath]
  }

  static func number(_ text: String) -> ArchiveValue { NumberText(text).map { .number($0) } ?? .null }

  static let decimal = Decimal(string: "0.1") ?? 0
  static let wide = ArchiveValue.wideInteger(WideInteger(isNegative: true, magnitude: 1 << 64))

  @Test(
    "Values that can be converted without loss are converted",
    arguments: [
      ("9007199254740992", .toDouble, .double(9_007_199_254_740_992)), ("0.1", .toDouble, .double(0.1)),
      ("-1.50e3", .toDouble, .double(-1500)), ("1e22", .toDouble, .double(1e22)),
      ("5e-324", .toDouble, .double(.leastNonzeroMagnitude)),
      ("18446744073709551616", .toDouble, .double(18_446_744_073_709_551_616)), ("-0", .toDouble, .double(-0.0)),
      ("0.30000000000000004", .toDouble, .double(0.1 + 0.2)), (.int(3), .toDouble, .double(3)),
      (.float(0.5), .toDouble, .double(0.5)), (.decimal(decimal), .toDouble, .double(0.1)),
      (wide, .toDouble, .double(-18_446_744_073_709_551_616)), ("12", .toInteger, .int(12)),
      (".5", .toDouble, .double(0.5)), ("+2.", .toDouble, .double(2)), ("+7", .toInteger, .int(7)),
      (
        "340282366920938463463374607431768211455", .toInteger,
        .wideInteger(WideInteger(isNegative: false, magnitude: .max))
      ),
      ("-18446744073709551616", .toInteger, wide), ("12.0", .toInteger, .int(12)), ("1e2", .toInteger, .int(100)),
      (.double(1e19), .toInteger, .uint(10_000_000_000_000_000_000)), (.float(8), .toInteger, .int(8)),
      (.decimal(7), .toInteger, .int(7)),
      (number("9007199254740993.0"), .toInteger, .int(9_007_199_254_740_993)),
      (.bool(true), .toInteger, .int(1)), (wide, .toString, "-18446744073709551616"),
      (.decimal(decimal), .toString, "0.1"),
      (.date(Date(timeIntervalSince1970: 0.25)), .toString, "1970-01-01T00:00:00.25Z"), ("true", .toBool, true),
      (0, .toBool, false),
      (.decimal(2), .toDate, .date(Date(timeIntervalSince1970: 2))),
      ("99.10", .toDecimal, .decimal(Decimal(string: "99.1") ?? 0)), (.double(0.1), .toDecimal, .decimal(decimal)),
      (.int(-7), .toDecimal, .decimal(-7)), (wide, .toDecimal, .decimal(Decimal(string: "-18446744073709551616") ?? 0)),
      ("-1.50e3", .toDecimal, .decimal(-1500)), ("0.00", .toDecimal, .decimal(0)),
      (.decimal(decimal), .toDecimal, .decimal(decimal)),
      (
        "-99999999999999999999999999999999999999e10", .toDecimal,
        .decimal(Decimal(string: "-99999999999999999999999999999999999999e10") ?? 0)
      ),
      (number("1e-120"), .toDecimal, .decimal(Decimal(string: "1e-120") ?? 0)),
      ("1970-01-01T00:00:00Z", .toDate, .date(Date(timeIntervalSince1970: 0))),
    ] as [(ArchiveValue, ValueConversion, ArchiveValue)])
  func kept(value: ArchiveValue, conversion: ValueConversion, expected: ArchiveValue) throws {
    #expect(try converted(value, conversion) == expected)
    // A conversion to an integer can be reversed, unless the text had a plus sign.
    if case .string(let text) = value, conversion == .toInteger, Int128(text) != nil, !text.hasPrefix("+") {
      #expect(try converted(expected, .toString) == value)
    }
  }

  @Test(
    "Values that cannot be converted without loss throw migrationFailed",
    arguments: [
      ("1234567890123456789012345678901234567891", .toDecimal), ("1e999", .toDecimal), ("1e-999", .toDecimal),
      ("", .toDecimal),
      ("1e99999999999999999999", .toDecimal), ("12 EUR", .toDecimal), ("1,5", .toDecimal), ("nan", .toDecimal),
      (.bool(true), .toDecimal),
      (.decimal(.nan), .toDecimal), (.double(.infinity), .toDecimal), (.double(1e300), .toDecimal),
      ("9007199254740993", .toDouble), ("1e999", .toDouble), ("-1e999", .toDouble), ("1e-400", .toDouble),
      ("inf", .toDouble),
      ("nan", .toDouble), ("0x1p3", .toDouble), ("3.14159265358979323846", .toDouble),
      ("0.1000000000000000055", .toDouble),
      ("", .toDouble), (" 1", .toDouble), (.int(9_007_199_254_740_993), .toDouble), (.uint(.max), .toDouble),
      (.wideInteger(WideInteger(isNegative: false, magnitude: .max)), .toDouble),
      (number("1e400"), .toDouble), (.decimal(.nan), .toDouble), (.bool(true), .toDouble),
      ("1.5", .toInteger), ("1e-1", .toInteger), ("1e40", .toInteger), ("1e999999999999999999999", .toInteger),
      ("1e999999999999999999999", .toDouble), ("++1", .toDouble),
      ("+-5", .toInteger), ("+-5", .toDecimal), ("+-5", .toDouble), ("-+5", .toInteger), ("--5", .toDecimal),
      ("+", .toInteger),
      ("340282366920938463463374607431768211456", .toInteger), ("0x10", .toInteger), ("", .toInteger),
      (.double(0.5), .toInteger), (.double(.nan), .toInteger), (.double(1e300), .toInteger),
      (.float(.infinity), .toInteger),
      (.decimal(decimal), .toInteger), (number("1e400"), .toInteger), (2, .toBool), ("TRUE", .toBool),
      (.double(.infinity), .toDate), ("1e999", .toDate), ("2011-02-30T00:00:00Z", .toDate), ("no url: %", .toURL),
      (.date(Date(timeIntervalSinceReferenceDate: 1e-11)), .toString), (.date(.distantFuture + 1e12), .toString),
      (.data(Data([1])), .toString), ([], .toString),
    ] as [(ArchiveValue, ValueConversion)])
  func refused(value: ArchiveValue, conversion: ValueConversion) {
    let error = #expect(throws: ArchiveError.self) { try converted(value, conversion) }
    #expect(error?.code == .migrationFailed)
    #expect(error?.codingPath == [.key("a"), .key("v")])
    #expect((error?.underlyingError as? ArchiveError)?.code == .typeMismatch)
  }

  @Test(
    "Random doubles round-trip through text, and text with an additional digit is rejected", .tags(.long),
    arguments: [1, 2, 3] as [UInt64])
  func random(seed: UInt64) throws {
    var state = seed
    for _ in 0..<Effort.rounds(100, long: 2000) {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let number = Double(bitPattern: state ^ state >> 17)
      guard number.isFinite else { continue }
      #expect(try converted(.string(number.description), .toDouble) == .double(number), "seed \(seed)")
      // The appended digits make a different number, which no double equals.
      let parts = number.description.split(separator: "e", maxSplits: 1)
      let mantissa = parts[0].contains(".") ? parts[0] : parts[0] + "."
      let text = mantissa + "00000000000000000001" + (parts.count > 1 ? "e" + parts[1] : "")
      #expect(throws: ArchiveError.self, "seed \(seed) \(text)") { try converted(.string(String(text)), .toDouble) }
    }
  }
}
