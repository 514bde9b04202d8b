import Foundation
internal import StrataCore

// Decodes and encodes the Foundation classes that hold a single value.

extension FoundationValue {
  // MARK: NSString

  static func string(_ fields: KeyedFields) throws -> ArchiveValue {
    if fields["NS.string"] != nil { return .string(try fields.string("NS.string")) }
    return .string(
      try fields.required("NS.bytes", "UTF-8 text") {
        switch $0 {
        case .data(let data): String(validUTF8: data)
        case .string(let text): text
        default: nil
        }
      })
  }

  static func string(_ text: String) -> FoundationEncoding {
    FoundationEncoding(["NSString", "NSObject"], [("NS.string", .inlined(.string(text)))])
  }

  // MARK: NSNumber. A property list holds numbers itself.

  static func number(_ fields: KeyedFields) throws -> ArchiveValue {
    if fields["NS.boolval"] != nil {
      return .bool(try fields.required("NS.boolval", "a boolean") { $0.boolValue ?? $0.intValue.map { $0 != 0 } })
    }
    let key = fields["NS.intval"] == nil ? "NS.dblval" : "NS.intval"
    return try fields.required(key, "a number") { value in
      switch value {
      case .int, .uint, .wideInteger, .float, .double: value
      default: nil
      }
    }
  }

  // MARK: NSDecimalNumber

  /// Decodes a decimal number. The mantissa has up to eight digits in base 65,536, starting with the lowest.
  /// `NS.length` is the number of digits in use. `NS.mantissa.bo` is the byte order of each digit: 1 for little-endian,
  /// 2 for big-endian.
  static func decimal(_ fields: KeyedFields) throws -> ArchiveValue {
    let bytes = Array(try fields.data("NS.mantissa"))
    let length = try fields.integer("NS.length")
    let isNegative = try fields.required("NS.negative", "a boolean") { $0.boolValue ?? $0.intValue.map { $0 != 0 } }
    let isBig = fields["NS.mantissa.bo"]?.intValue == 2
    guard (0...8).contains(length), bytes.count >= 2 * length, bytes.count <= 16 else {
      throw ArchiveError(
        .damaged, "the size of a decimal's mantissa does not match the value of NS.length", path: [.key("NS.mantissa")])
    }
    // A negative sign without digits represents NaN.
    guard length > 0 || !isNegative else { return .decimal(.nan) }
    var mantissa = WideInteger.Magnitude.zero
    for digit in (0..<length).reversed() {
      let (first, second) = (UInt64(bytes[2 * digit]), UInt64(bytes[2 * digit + 1]))
      mantissa = mantissa.appending(bits: isBig ? first << 8 | second : second << 8 | first, count: 16)
    }
    let parts = DecimalParts(isNegative: isNegative, mantissa: mantissa, exponent: try fields.integer("NS.exponent"))
    guard let decimal = parts.decimal else {
      throw ArchiveError(
        .damaged, "the mantissa of a decimal has more than 128 bits, or its exponent is not between -128 and 127")
    }
    return .decimal(decimal)
  }

  /// Encodes eight digits in base 65,536, starting with the lowest. Each digit is in little-endian byte order.
  static func decimal(_ decimal: Decimal) -> FoundationEncoding {
    // A negative sign without digits represents NaN.
    let parts = DecimalParts(decimal) ?? DecimalParts(isNegative: true, mantissa: .zero, exponent: 0)
    let (mantissa, exponent) = parts.withinRange
    let digits = [mantissa.low, mantissa.high].flatMap { half in
      (0..<4).map { UInt16(truncatingIfNeeded: half >> UInt64(16 * $0)) }
    }
    let length = 8 - digits.reversed().prefix { $0 == 0 }.count
    return FoundationEncoding(
      ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"],
      [
        ("NS.exponent", .inlined(.integer(WideInteger(exponent)))),
        ("NS.length", .inlined(.integer(WideInteger(length)))),
        ("NS.negative", .inlined(.bool(parts.isNegative))), ("NS.compact", .inlined(.bool(true))),
        ("NS.mantissa", .inlined(.data(Data(digits.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] })))),
        ("NS.mantissa.bo", .inlined(.integer(1))),
      ])
  }

  // MARK: NSDate

  static func date(_ fields: KeyedFields) throws -> ArchiveValue {
    .date(Date(timeIntervalSinceReferenceDate: try fields.double("NS.time")))
  }

  static func date(_ date: Date) -> FoundationEncoding {
    FoundationEncoding(["NSDate", "NSObject"], [("NS.time", .inlined(.double(date.timeIntervalSinceReferenceDate)))])
  }

  // MARK: NSData. A property list holds data itself.

  static func data(_ fields: KeyedFields) throws -> ArchiveValue {
    .data(try fields.data(fields["NS.data"] == nil ? "NS.bytes" : "NS.data"))
  }

  // MARK: NSURL

  static func url(_ fields: KeyedFields) throws -> ArchiveValue {
    let relative = try fields.string("NS.relative")
    // Some archives contain URLs that Foundation accepted earlier but rejects now, such as the empty string. They are
    // decoded as strings.
    switch fields["NS.base"] {
    case nil, .null?:
      // Foundation accepts an empty scheme, but RFC 3986 does not allow it. Such a text is decoded as a string.
      guard relative.utf8.first != UInt8(ascii: ":") else { return .string(relative) }
      return URL(exactly: relative).map { .url($0) } ?? .string(relative)
    case .url(let base)?:
      return URL(string: relative, relativeTo: base.absoluteURL).map { .url($0) }
        ?? ["base": .url(base), "relative": .string(relative)]
    default: throw ArchiveError(.damaged, "a relative URL has an invalid base URL", path: [.key("NS.base")])
    }
  }

  static func url(_ url: URL) -> FoundationEncoding {
    FoundationEncoding(
      ["NSURL", "NSObject"],
      [("NS.base", .object(url.baseURL.map { .url($0) })), ("NS.relative", .object(.string(url.relativeString)))])
  }

  // MARK: NSUUID

  static func uuid(_ fields: KeyedFields) throws -> ArchiveValue {
    let bytes = Array(try fields.data("NS.uuidbytes"))
    guard bytes.count == 16 else {
      throw ArchiveError(.damaged, "a UUID is not 16 bytes long", path: [.key("NS.uuidbytes")])
    }
    let uuid = (
      bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10],
      bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
    )
    return .uuid(UUID(uuid: uuid))
  }

  static func uuid(_ uuid: UUID) -> FoundationEncoding {
    FoundationEncoding(
      ["NSUUID", "NSObject"], [("NS.uuidbytes", .inlined(.data(withUnsafeBytes(of: uuid.uuid) { Data($0) })))])
  }
}
