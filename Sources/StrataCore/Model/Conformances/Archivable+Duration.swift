import Foundation

/// A duration is archived as a decimal number of seconds and written to JSON as a number of seconds.
extension Duration: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.decimal)) }

  public func write(to writer: inout ArchiveWriter) throws {
    let attoseconds = WideInteger(twosComplement: WideInteger.Magnitude(high: UInt64(bitPattern: _high), low: _low))
    let parts = DecimalParts(isNegative: attoseconds.isNegative, mantissa: attoseconds.magnitude, exponent: -18)
    // A decimal has a mantissa of at most 128 bits, so it cannot represent the attoseconds of a very long duration.
    guard let seconds = parts.decimal else {
      throw ArchiveError(.notEncodable, "the duration is too long to be represented as a decimal")
    }
    writer.write(seconds)
  }

  /// Decodes a duration from a number of seconds, or from the pair of integers that `Codable` writes.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for any other value, and for a number of seconds that a duration cannot
  ///   represent exactly.
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Duration {
    if case .array(let words) = value, words.count == 2, let high = words[0].integer(as: Int64.self),
      let low = words[1].integer(as: UInt64.self)
    {
      return Duration(_high: high, low: low)
    }
    let seconds: Decimal
    do { seconds = try Decimal.decode(from: value, in: context) } catch {
      throw ArchiveError.mismatch(expected: "a duration in seconds", found: value.kind)
    }
    guard let parts = DecimalParts(seconds), let attoseconds = parts.attoseconds else {
      throw ArchiveError.mismatch(
        expected: "a number of seconds up to 1.7e20 with at most 18 decimal places",
        found: "a number that Duration cannot represent")
    }
    return Duration(_high: Int64(bitPattern: attoseconds.high), low: attoseconds.low)
  }
}

extension DecimalParts {
  /// The number of seconds as attoseconds, in two's complement; `nil` if the number of attoseconds is not an integer or
  /// has more than 127 bits.
  fileprivate var attoseconds: WideInteger.Magnitude? {
    guard mantissa != .zero else { return .zero }
    guard exponent >= -18, exponent <= 38 else { return nil }
    return mantissa.scaled(byPowerOfTen: exponent + 18)
      .flatMap { WideInteger(isNegative: isNegative, magnitude: $0).twosComplement }
  }
}
