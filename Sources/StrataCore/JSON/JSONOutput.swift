import Foundation

/// A destination for JSON: either JSON text, or the value that reading this text would return.
protocol JSONSink: ~Copyable {
  /// The number of bytes written so far, which may be approximate.
  var count: Int { get }
  mutating func open(isObject: Bool) throws(ArchiveError)
  mutating func close(isObject: Bool, isEmpty: Bool)
  /// Begins an element of an array or a member of an object.
  mutating func separate(isFirst: Bool, inObject: Bool)
  mutating func write(key: String)
  /// Writes a value that contains no other values.
  mutating func write(scalar: ArchiveValue) throws(ArchiveError)
}

/// Builds JSON text. This type formats strings, numbers and dates, indents lines, sorts keys, and checks the depth limit.
struct JSONOutput: ~Copyable, JSONSink {
  private(set) var buffer: ByteBuffer
  private let isPretty: Bool
  private let sortsKeys: Bool
  private let depthLimit: Int
  private var level = 0
  /// The members of each object that is not closed yet. They are recorded only if keys are sorted.
  private var openMembers: [[Member]] = []

  private struct Member {
    let start: Int
    var keyEnd = 0
  }

  init(isPretty: Bool, sortsKeys: Bool, limits: ArchiveLimits, minimumCapacity: Int = 1024) {
    buffer = ByteBuffer(minimumCapacity: minimumCapacity)
    self.isPretty = isPretty
    self.sortsKeys = sortsKeys
    depthLimit = limits.depth
  }

  var count: Int { buffer.count }

  mutating func takeData() -> Data { buffer.takeData() }

  // MARK: Containers

  @inline(__always)
  mutating func open(isObject: Bool) throws(ArchiveError) {
    level &+= 1
    guard level <= depthLimit else { throw ArchiveError.tooDeep(depthLimit) }
    buffer.append(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
    if sortsKeys, isObject { openMembers.append([]) }
  }

  @inline(__always)
  mutating func close(isObject: Bool, isEmpty: Bool) {
    if sortsKeys, isObject { sortMembers() }
    level &-= 1
    if isPretty, !isEmpty { breakLine() }
    buffer.append(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
  }

  @inline(__always)
  mutating func separate(isFirst: Bool, inObject: Bool) {
    if !isFirst { buffer.append(UInt8(ascii: ",")) }
    if isPretty { breakLine() }
    if sortsKeys, inObject { openMembers[openMembers.count - 1].append(Member(start: buffer.count)) }
  }

  private mutating func breakLine() {
    buffer.append(UInt8(ascii: "\n"))
    for _ in 0..<level { buffer.append("  " as StaticString) }
  }

  // MARK: Keys

  mutating func write(key: String) {
    write(string: key)
    endKey()
  }

  /// Writes a key with its quotes and escapes.
  @inline(__always)
  mutating func write(quotedKey: [UInt8]) {
    buffer.append(quotedKey.bytes)
    endKey()
  }

  /// Writes the colon after a key that was written as a string.
  @inline(__always)
  mutating func endKey() {
    if sortsKeys { noteKeyEnd() }
    buffer.append(UInt8(ascii: ":"))
    if isPretty { buffer.append(UInt8(ascii: " ")) }
  }

  private mutating func noteKeyEnd() {
    let object = openMembers.count - 1
    openMembers[object][openMembers[object].count - 1].keyEnd = buffer.count
  }

  /// Sorts the members of the innermost object by the UTF-8 bytes of their keys.
  private mutating func sortMembers() {
    let members = openMembers.removeLast()
    guard members.count > 1, let first = members.first else { return }
    let bytes = buffer.array(from: first.start)
    let keys = members.map { member in
      JSONEscape.unescaped(bytes[(member.start - first.start + 1)..<(member.keyEnd - first.start - 1)].span.bytes)
        .array()
    }
    let order = keys.indices.sorted { keys[$0].lexicographicallyPrecedes(keys[$1]) }
    guard order != Array(keys.indices) else { return }
    // The length of the separator: a comma, and in pretty text also a line feed and the indentation.
    let separator = isPretty ? 2 + 2 * level : 1
    buffer.removeLast(from: first.start)
    for (place, index) in order.enumerated() {
      if place > 0 {
        buffer.append(UInt8(ascii: ","))
        if isPretty { breakLine() }
      }
      let end = index + 1 < members.count ? members[index + 1].start - separator - first.start : bytes.count
      buffer.append(bytes[(members[index].start - first.start)..<end].span.bytes)
    }
  }

  // MARK: Going back

  /// A position in the text to which ``goBack(to:)`` can return, with the state of the output at that position.
  struct Mark {
    fileprivate let count, level, objects: Int
  }

  var mark: Mark { Mark(count: buffer.count, level: level, objects: openMembers.count) }

  /// Removes the text after a position, and restores the state of the output at that position.
  mutating func goBack(to mark: Mark) {
    buffer.removeLast(from: mark.count)
    level = mark.level
    openMembers.removeLast(openMembers.count - mark.objects)
  }

  // MARK: Scalars

  mutating func write(scalar: ArchiveValue) throws(ArchiveError) {
    switch scalar {
    case .null: writeNull()
    case .bool(let flag): write(flag)
    case .int(let integer): write(isNegative: integer < 0, magnitude: integer.magnitude)
    case .uint(let integer): buffer.append(decimal: integer)
    case .double(let number): try write(number)
    case .float(let number): try write(number)
    case .string(let string): write(string: string)
    case .date(let date): try write(date)
    case .decimal(let number): try write(number)
    case .wideInteger, .number: buffer.append(scalar.scalarText ?? "")
    default: write(string: try Self.text(of: scalar) ?? "")
    }
  }

  mutating func writeNull() { buffer.append("null" as StaticString) }

  mutating func write(_ flag: Bool) { buffer.append(flag ? "true" as StaticString : "false" as StaticString) }

  @inline(__always)
  mutating func write(isNegative: Bool, magnitude: UInt64) {
    if isNegative { buffer.append(UInt8(ascii: "-")) }
    buffer.append(decimal: magnitude)
  }

  /// Writes the fewest digits that read back as the same number, always with a decimal point or an exponent.
  mutating func write(_ number: Double) throws(ArchiveError) {
    guard number.isFinite else { throw Self.notFinite() }
    // Below 10^-4 and above 2^53, the description of the number is written unchanged. Except for 0, it contains an exponent.
    guard number.magnitude >= 1e-4, let digits = number.shortestDigits else { return buffer.append(number.description) }
    if number < 0 { buffer.append(UInt8(ascii: "-")) }
    buffer.append(WideInteger.Magnitude(digits.significand), power: digits.power)
    if digits.power >= 0 { buffer.append(".0" as StaticString) }
  }

  /// Writes the number with the same digits as its `description`.
  mutating func write(_ number: Decimal) throws(ArchiveError) {
    guard let parts = DecimalParts(number) else { throw Self.notFinite() }
    if parts.isNegative { buffer.append(UInt8(ascii: "-")) }
    buffer.append(parts.mantissa, power: parts.exponent)
  }

  /// Writes the shortest digits of the `Float`, not those of its conversion to `Double`.
  mutating func write(_ number: Float) throws(ArchiveError) {
    guard number.isFinite else { throw Self.notFinite() }
    let text = number.description
    // Above 2^24, the description of a float has an exponent. The double with the same digits is often described without an exponent, so
    // its description is written instead.
    buffer.append(text.utf8.contains(UInt8(ascii: "e")) ? Self.double(number).description : text)
  }

  /// Returns the double with the same shortest decimal digits as the float.
  static func double(_ number: Float) -> Double { Double(number.description) ?? Double(number) }

  mutating func write(_ date: Date) throws(ArchiveError) {
    buffer.append(UInt8(ascii: "\""))
    guard ISO8601.append(date, to: &buffer) else { throw Self.dateOutside() }
    buffer.append(UInt8(ascii: "\""))
  }

  mutating func write(string: String) { ByteBuffer.withUTF8(of: string) { buffer.append(jsonString: $0.bytes) } }

  @inline(__always)
  mutating func write(string: RawSpan) { buffer.append(jsonString: string) }

  mutating func writeQuote() { buffer.append(UInt8(ascii: "\"")) }

  // MARK: Text

  /// Returns the text that represents a string, an integer, a date, a URL, a UUID or data as a key of a JSON object. Returns `nil` for any
  /// other value. A map with any other key cannot become a JSON object.
  static func text(of value: ArchiveValue) throws(ArchiveError) -> String? {
    switch value {
    case .data(let data): return data.base64EncodedString()
    case .date:
      guard let text = value.scalarText else { throw dateOutside() }
      return text
    case .string, .int, .uint, .wideInteger, .url, .uuid: return value.scalarText
    default: return nil
    }
  }

  static func notFinite() -> ArchiveError {
    ArchiveError(.notEncodable, "JSON cannot represent NaN or infinity; write null or a string instead")
  }

  static func dateOutside() -> ArchiveError {
    ArchiveError(.notEncodable, "a date cannot be written as JSON because its year is not between 0 and 9999")
  }

  static func sameText() -> ArchiveError {
    ArchiveError(.notEncodable, "two keys of a dictionary have the same text in JSON; JSON keys must be unique")
  }
}
