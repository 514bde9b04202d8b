import Foundation
import StrataCore
import Testing

@Suite("Decimals at the limits of their range")
struct DecimalRangeTests {
  /// Returns a body that contains the decimal with the given exponent and mantissa.
  private func body(exponent: Int, mantissa: UInt8) -> Data {
    var bytes: [UInt8] = [0xD9, 0x01, 0x00, 0xC4, 0x82]
    let magnitude = exponent < 0 ? ~exponent : exponent
    let major: UInt8 = exponent < 0 ? 0x20 : 0
    bytes += magnitude < 24 ? [major | UInt8(magnitude)] : [major | 24, UInt8(magnitude)]
    bytes += mantissa < 24 ? [mantissa] : [24, mantissa]
    return Data(bytes)
  }

  @Test(
    "X-34: a decoded decimal round-trips through archives and JSON",
    arguments: [(126, 100), (127, 10), (128, 1), (127, 1), (129, 25), (-128, 1), (-130, 100), (-129, 10), (0, 0)])
  func ends(exponent: Int, mantissa: Int) throws {
    let body = body(exponent: exponent, mantissa: UInt8(mantissa))
    let decimal = try ArchiveDecoder().decodeBody(Decimal.self, from: body)
    let again = try ArchiveEncoder().encodeBody(decimal)
    #expect(try ArchiveDecoder().decodeBody(Decimal.self, from: again) == decimal)
    #expect(try ArchiveEncoder().encodeBody(ArchiveDecoder().decodeBody(Decimal.self, from: again)) == again)
    let json = try JSONWriter().write(.array([.decimal(decimal)]))
    let value = try JSONReader().read(json)
    #expect(try [Decimal].decode(from: value, in: DecodingContext(source: .json)) == [decimal])
  }

  @Test(
    "X-34: the extreme values of Foundation's Decimal round-trip",
    arguments: [Decimal.greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, 0, .nan])
  func extremes(decimal: Decimal) throws {
    let back = try ArchiveDecoder().decode(Decimal.self, from: ArchiveEncoder().encode(decimal))
    #expect(back == decimal || back.isNaN && decimal.isNaN)
  }

  @Test("Decoding a decimal out of range throws an error", arguments: [(170, 1), (-140, 1), (165, 7)])
  func beyond(exponent: Int, mantissa: Int) {
    #expect(throws: ArchiveError.self) {
      try ArchiveDecoder().decodeBody(Decimal.self, from: body(exponent: exponent, mantissa: UInt8(mantissa)))
    }
  }
}
