public import Foundation

extension Archivable where Self: FixedWidthInteger {
  public static var typeShape: TypeShape { TypeShape(.scalar(.integer)) }

  /// Writes the integer in the fewest bytes, regardless of its type's width.
  public func write(to writer: inout ArchiveWriter) throws {
    if let small = Int64(exactly: self) {
      writer.write(small)
    } else if let large = UInt64(exactly: self) {
      writer.write(large)
    } else {
      guard bitWidth <= 128 || magnitude >> 128 == 0 else {
        throw ArchiveError(.notEncodable, "an integer exceeds the maximum of 128 bits that archives can store")
      }
      writer.write(WideInteger(self))
    }
  }

  public static func read(from reader: inout ArchiveReader) throws -> Self {
    if MemoryLayout<Self>.size > 8 { return try decode(from: reader.readValue(), in: reader.context) }
    let (isNegative, argument) = try reader.readInteger64()
    // CBOR encodes the negative integer n as the argument -1 - n, which is ~n.
    let value = isNegative ? Int64(exactly: argument).flatMap { Self(exactly: ~$0) } : Self(exactly: argument)
    guard let value else { throw tooWide() }
    return value
  }

  /// Creates an integer from an untyped number. Throws `typeMismatch` if the number is not an integer in the type's range.
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
    switch value {
    case .int, .uint, .wideInteger:
      guard let integer = value.integer(as: Self.self) else { throw tooWide() }
      return integer
    default:
      if let integer = Self(inKeyed: value, context) { return integer }
      throw ArchiveError.mismatch(expected: "an integer", found: value.kind)
    }
  }

  private static func tooWide() -> ArchiveError {
    ArchiveError.mismatch(
      expected: isSigned ? "an integer of \(bitWidth) bits" : "an unsigned integer of \(bitWidth) bits",
      found: "an integer that is out of range")
  }
}

extension Int: Archivable {
  public func write(to writer: inout ArchiveWriter) throws { writer.write(Int64(self)) }

  public static func read(from reader: inout ArchiveReader) throws -> Int {
    let (isNegative, argument) = try reader.readInteger64()
    guard argument <= UInt64(Int.max) else {
      throw ArchiveError.mismatch(expected: "an integer of \(bitWidth) bits", found: "an integer that is out of range")
    }
    return isNegative ? ~Int(argument) : Int(argument)
  }
}
extension Int8: Archivable {}
extension Int16: Archivable {}
extension Int32: Archivable {}
extension Int64: Archivable {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension Int128: Archivable {}
extension UInt: Archivable {}
extension UInt8: Archivable {}
extension UInt16: Archivable {}
extension UInt32: Archivable {}
extension UInt64: Archivable {}
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension UInt128: Archivable {}

extension Bool: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.bool)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Bool { try reader.readBool() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Bool {
    guard case .bool(let value) = value else {
      if let bool = Bool(inKeyed: value, context) { return bool }
      throw ArchiveError.mismatch(expected: "a boolean", found: value.kind)
    }
    return value
  }
}

extension Double: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.double)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Double { try reader.readDouble() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Double {
    if let number = Double(exactlyAs: value) ?? Double(inKeyed: value, context) { return number }
    if context.source == .json, case .wideInteger = value, let number = Double(withoutLossOf: value) { return number }
    // JSON has no decimal type, so a number with more digits than a double can hold is rounded to the nearest double.
    if context.source == .json, let number = Double(nearest: value) {
      guard number.isFinite else {
        throw ArchiveError.mismatch(expected: "a number in the range of a double", found: value.kind)
      }
      return number
    }
    throw ArchiveError.mismatch(expected: "a floating-point number", found: value.kind)
  }
}

extension Float: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.float)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Float { try reader.readFloat() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Float {
    if case .float(let value) = value { return value }
    let wide = try Double.decode(from: value, in: context)
    // JSON has no single-precision type, so fractions are rounded to the nearest float. Integers must be exact.
    if context.source == .json, !value.isInteger {
      return try rounded(wide) { value.exactNumberText ?? wide.description }
    }
    guard Double(Float(wide)) == wide || wide.isNaN else {
      throw ArchiveError.mismatch(expected: "a number that Float represents exactly", found: "a more precise number")
    }
    return Float(wide)
  }

  /// Rounds a decimal number, given as text, to the nearest float.
  ///
  /// - Parameters:
  ///   - wide: the double nearest to the number.
  ///   - text: returns the digits. Called only if the double alone is not enough to find the nearest float.
  static func rounded(_ wide: Double, _ text: () -> String) throws -> Float {
    var nearest = Float(wide)
    if !nearest.isFinite || wide.isMidway(besides: nearest) { nearest = Float(text()) ?? nearest }
    guard nearest.isFinite || !wide.isFinite else {
      throw ArchiveError.mismatch(expected: "a number in the range of Float", found: "a larger number")
    }
    return nearest
  }
}

extension Double {
  /// Returns whether the number is midway between the float `nearest` and an adjacent float. If so, the digits beyond the precision of a
  /// double decide which float is nearest.
  fileprivate func isMidway(besides nearest: Float) -> Bool {
    guard Double(nearest) != self else { return false }
    let other = Double(nearest) < self ? nearest.nextUp : nearest.nextDown
    // Both differences are exact, because a double has more than twice the precision of a float.
    return other.isFinite && abs(Double(other) - self) == abs(Double(nearest) - self)
  }
}

extension String: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.string)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> String { try reader.readString() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> String {
    guard case .string(let value) = value else {
      throw ArchiveError.mismatch(expected: "a string", found: value.kind)
    }
    return value
  }
}

extension Data: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.data)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Data { try reader.readData() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Data {
    if case .data(let value) = value { return value }
    if context.source == .json, case .string(let text) = value, let data = Data(exactlyBase64: text) {
      return data
    }
    throw ArchiveError.mismatch(expected: context.source == .json ? "Base64 data" : "binary data", found: value.kind)
  }
}

extension Date: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.date)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Date { try reader.readDate() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Date {
    if case .date(let value) = value { return value }
    if context.source == .json, case .string(let text) = value, let date = ISO8601.date(from: text) { return date }
    throw ArchiveError.mismatch(
      expected: context.source == .json ? "a date in the form 2011-01-26T19:01:12Z" : "a date", found: value.kind)
  }
}

extension Data {
  /// Decodes base64 with padding (RFC 4648, section 4). Returns `nil` for any other text.
  ///
  /// The padding is checked here, because Foundation decodes `====` as a zero byte and accepts `AAE==`.
  fileprivate init?(exactlyBase64 text: String) {
    let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding < 3, text.utf8.count % 4 == 0, !text.utf8.dropLast(padding).contains(UInt8(ascii: "=")) else {
      return nil
    }
    self.init(base64Encoded: text)
  }
}

extension URL: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.url)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> URL { try reader.readURL() }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> URL {
    if case .url(let value) = value { return value }
    if context.source == .json, case .string(let text) = value,
      let url = URL(exactly: text)
    {
      return url
    }
    if context.source == .json, case .string = value { throw ArchiveError.invalidURL }
    throw ArchiveError.mismatch(expected: "a URL", found: value.kind)
  }
}

extension ArchiveError {
  /// The error for a JSON string that is not a valid URL.
  static var invalidURL: ArchiveError {
    ArchiveError(
      .typeMismatch,
      "the text is not a valid URL; percent-encode spaces and special characters (%20 for a space), or read the field "
        + "with .url(percentEncoding: true)"
    )
  }
}

extension UUID: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.uuid)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> UUID {
    if case .uuid(let value) = value { return value }
    if context.source == .json, case .string(let text) = value, let uuid = UUID(uuidString: text) { return uuid }
    throw ArchiveError.mismatch(expected: "a UUID", found: value.kind)
  }
}

extension Decimal: Archivable {
  public static var typeShape: TypeShape { TypeShape(.scalar(.decimal)) }

  public func write(to writer: inout ArchiveWriter) throws { writer.write(self) }
  public static func read(from reader: inout ArchiveReader) throws -> Decimal {
    try reader.readDecimal() ?? decode(from: reader.readValue(), in: reader.context)
  }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Decimal {
    switch value {
    case .decimal(let value): return value
    case .int(let value): return Decimal(value)
    case .uint(let value): return Decimal(value)
    case .wideInteger(let value):
      let parts = DecimalParts(isNegative: value.isNegative, mantissa: value.magnitude, exponent: 0)
      if let decimal = parts.decimal { return decimal }
    // Servers write a double as its shortest decimal text. The decimal is therefore created from this text instead of
    // from the binary digits.
    case .double(let value) where context.source == .json && value.isFinite:
      if let decimal = Decimal(ofJSON: value.description) { return decimal }
    case .number(let number) where context.source == .json:
      if let decimal = Decimal(ofJSON: number.text) { return decimal }
    default: break
    }
    throw ArchiveError.mismatch(expected: "a decimal", found: value.kind)
  }
}

extension ArchiveValue: Archivable {
  public static var typeShape: TypeShape { TypeShape(.untyped) }

  public static func read(from reader: inout ArchiveReader) throws -> ArchiveValue {
    let value = try reader.readValue()
    return try reader.context.objects?.withoutReferences(value) ?? value
  }
  public func write(to writer: inout ArchiveWriter) throws { try writer.write(self) }
  /// The type name in the headers (stamps) of archives.
  public static var _archiveTypeName: String { "Value" }
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> ArchiveValue {
    try context.objects?.withoutReferences(value) ?? value
  }
}

extension Decimal {
  /// Creates a decimal with exactly the digits of a JSON number.
  fileprivate init?(ofJSON text: String) {
    guard let decimal = ByteBuffer.withUTF8(of: text, { JSONNumber($0.bytes).decimal }) else { return nil }
    self = decimal
  }
}

extension Double {
  /// Creates the double nearest to a decimal or to the text of a number. The result is infinite if the number is too
  /// large, and `nil` if the value is neither a decimal nor a number.
  fileprivate init?(nearest value: ArchiveValue) {
    if case .decimal(let decimal) = value, let parts = DecimalParts(decimal), parts.mantissa.high == 0,
      let number = Double(isNegative: parts.isNegative, significand: parts.mantissa.low, power: parts.exponent)
    {
      self = number
    } else {
      guard let text = value.exactNumberText else { return nil }
      self.init(text)
    }
  }
}

extension ArchiveValue {
  fileprivate var isInteger: Bool {
    switch self {
    case .int, .uint, .wideInteger: true
    default: false
    }
  }

  /// The digits of a decimal, or of a JSON number that no other case can represent; `nil` for any other value.
  fileprivate var exactNumberText: String? {
    switch self {
    case .decimal(let decimal) where decimal.isFinite: decimal.description
    case .number(let number): number.text
    default: nil
    }
  }
}
