import Foundation
internal import StrataCore

/// Reads an XML property list into a table of objects. The format is defined by CFPropertyList.c in
/// swift-corelibs-foundation and by PropertyList-1.0.dtd.
///
/// Open elements are kept in a list instead of on the call stack, so deep nesting does not overflow the stack.
struct XMLPropertyList: ~Escapable {
  private var tokenizer: XMLTokenizer
  private let limits: ArchiveLimits
  private var list = PropertyList(objects: [], root: 0)
  private var open: [Container] = []

  private struct Container {
    /// The object number of the collection in the table.
    let number: Int
    let isDictionary: Bool
    let start: Int
    var elements: [Int] = []
    var entries: [PropertyList.Entry] = []
    /// In a dictionary, the object number of the key whose value has not been read yet; otherwise `nil`.
    var key: Int?
  }

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan, limits: ArchiveLimits) {
    tokenizer = XMLTokenizer(bytes, limits: limits)
    self.limits = limits
  }

  mutating func read() throws -> PropertyList {
    try tokenizer.skipProlog()
    var tag = try tokenizer.nextTag()
    let isWrapped = tag.side == .start && tag.name == .plist
    if isWrapped {
      guard !tag.isEmpty else { throw ArchiveError.damaged("the property list has no value", at: tag.start) }
      tag = try tokenizer.nextTag()
    }
    repeat {
      try handle(tag)
      if !open.isEmpty { tag = try tokenizer.nextTag() }
    } while !open.isEmpty
    // The loop ends when the root value is complete. After that value, only the end tag of `plist` may follow.
    if isWrapped {
      let end = try tokenizer.nextTag()
      guard end.side == .end, end.name == .plist else {
        throw ArchiveError.damaged(
          "the first value of the property list is not followed by \"</plist>\"", at: end.start)
      }
    }
    try tokenizer.expectEnd()
    return list
  }

  private mutating func handle(_ tag: XMLTokenizer.Tag) throws {
    if tag.side == .end { return try close(tag) }
    switch tag.name {
    case .dict, .array:
      let number = try add(.null, tag)
      guard open.count < limits.depth else {
        throw ArchiveError(
          .limitExceeded,
          "the property list is nested deeper than the limit of \(limits.depth) levels", limit: .depth,
          byteOffset: tag.start)
      }
      open.append(Container(number: number, isDictionary: tag.name == .dict, start: tag.start))
      if tag.isEmpty { try finish() }
    case .key:
      guard let last = open.indices.last, open[last].isDictionary, open[last].key == nil else {
        throw ArchiveError.damaged("found a key where a value is expected", at: tag.start)
      }
      list.objects.append(.string(try tokenizer.text(of: tag)))
      open[last].key = list.objects.count - 1
    case .true, .false:
      try add(tag, "a <true> or <false> element is not empty") { $0.isEmpty ? .bool(tag.name == .true) : nil }
    case .string: _ = try add(.string(try tokenizer.text(of: tag)), tag)
    case .integer:
      try add(tag, "the text of an <integer> element is not an integer of at most 128 bits") {
        XMLScalars.integer($0).map { .integer($0) }
      }
    case .real:
      try add(tag, "the text of a <real> element is not a number") { XMLScalars.real($0).map { .double($0) } }
    case .date:
      try add(tag, "the text of a <date> element does not have the form YYYY-MM-DDThh:mm:ssZ") {
        XMLScalars.date($0).map { .date($0) }
      }
    case .data:
      try add(tag, "the text of a <data> element is not valid Base64") { XMLScalars.data($0).map { .data($0) } }
    case .plist, .other:
      throw ArchiveError.damaged("an element has a name that property lists do not allow", at: tag.start)
    }
  }

  /// Parses the text of a scalar element without surrounding white space and adds the result as an object.
  private mutating func add(
    _ tag: XMLTokenizer.Tag, _ error: String, _ make: (Substring.UTF8View) -> PropertyList.Object?
  ) throws {
    let text = try tokenizer.text(of: tag)
    guard let object = make(XMLScalars.trimmed(text)) else { throw ArchiveError.damaged(error, at: tag.start) }
    _ = try add(object, tag)
  }

  /// Adds an object to the table and to the innermost open collection. Returns the object's number.
  private mutating func add(_ object: PropertyList.Object, _ tag: XMLTokenizer.Tag) throws -> Int {
    let number = list.objects.count
    list.objects.append(object)
    guard let last = open.indices.last else { return number }
    if !open[last].isDictionary {
      open[last].elements.append(number)
    } else if let key = open[last].key {
      open[last].entries.append(PropertyList.Entry(key: key, value: number))
      open[last].key = nil
    } else {
      throw ArchiveError.damaged("a value of a dictionary has no key", at: tag.start)
    }
    guard open[last].elements.count <= limits.count, open[last].entries.count <= limits.count else {
      throw ArchiveError(
        .limitExceeded, "a collection has more elements than the limit of \(limits.count) elements", limit: .count,
        byteOffset: tag.start)
    }
    return number
  }

  private mutating func close(_ tag: XMLTokenizer.Tag) throws {
    guard let last = open.last, tag.name == (last.isDictionary ? .dict : .array) else {
      throw ArchiveError.damaged("an end tag does not match its start tag", at: tag.start)
    }
    guard last.key == nil else { throw ArchiveError.damaged("a key of a dictionary has no value", at: tag.start) }
    try finish()
  }

  private mutating func finish() throws {
    let done = open.removeLast()
    guard done.isDictionary else {
      list.objects[done.number] = .array(done.elements)
      return
    }
    // XML has no element for a UID. `NSKeyedArchiver` writes a UID as a dictionary with the single key `CF$UID`
    // instead.
    if done.entries.count == 1, let entry = done.entries.first, case .string("CF$UID") = list.objects[entry.key],
      case .integer(let value) = list.objects[entry.value], let uid = value.exactly(UInt64.self)
    {
      list.objects.removeLast(2)
      list.objects[done.number] = .uid(uid)
    } else {
      list.objects[done.number] = .dictionary(done.entries)
    }
  }
}

/// Parses the text of numbers, dates and data in XML property lists.
enum XMLScalars {
  static func trimmed(_ text: String) -> Substring.UTF8View {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
    var bytes = text[...].utf8
    bytes = bytes.drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return bytes
  }

  /// Parses an integer with an optional sign, written in decimal digits or, after `0x`, in hexadecimal digits.
  static func integer(_ text: Substring.UTF8View) -> WideInteger? {
    let isNegative = text.first == UInt8(ascii: "-")
    var digits = isNegative || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
    let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
    if isHexadecimal { digits = digits.dropFirst(2) }
    guard let magnitude = isHexadecimal ? hexadecimal(digits) : WideInteger.Magnitude(digits: digits) else {
      return nil
    }
    let integer = WideInteger(isNegative: isNegative, magnitude: magnitude)
    return integer.twosComplement == nil ? nil : integer
  }

  private static func hexadecimal(_ digits: Substring.UTF8View) -> WideInteger.Magnitude? {
    let significant = digits.drop { $0 == UInt8(ascii: "0") }
    guard !digits.isEmpty, significant.count <= 32 else { return nil }
    var magnitude = WideInteger.Magnitude.zero
    for digit in significant {
      guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
      magnitude = magnitude.appending(bits: UInt64(value), count: 4)
    }
    return magnitude
  }

  /// Parses a decimal number with an optional exponent, or a word for infinity or NaN. Case is ignored.
  static func real(_ text: Substring.UTF8View) -> Double? {
    let word = String(Substring(text))
    switch word.lowercased() {
    case "nan", "+nan", "-nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default: break
    }
    let isNumber = text.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || "+-.eE".utf8.contains($0) }
    return isNumber ? Double(word) : nil
  }

  /// Parses a date in the form `YYYY-MM-DDThh:mm:ssZ` (ISO 8601). The Gregorian calendar is used for all years.
  static func date(_ text: Substring.UTF8View) -> Date? {
    let isNegative = text.first == UInt8(ascii: "-")
    let bytes = Array(isNegative ? text.dropFirst() : text)
    // The year may have more than four digits, so it is everything before the last 16 bytes. The part after the year
    // always has 16 bytes.
    let end = bytes.count - 16
    guard 4...9 ~= end, let year = number(bytes[..<end]) else { return nil }
    let rest = Array(bytes[end...])
    for (index, mark) in zip([0, 3, 6, 9, 12, 15], "--T::Z".utf8) where rest[index] != mark { return nil }
    guard let month = number(rest[1..<3]), let day = number(rest[4..<6]), let hour = number(rest[7..<9]),
      let minute = number(rest[10..<12]), let second = number(rest[13..<15])
    else { return nil }
    guard hour < 24, minute < 60, second < 60,
      let days = ISO8601.days(fromYear: isNegative ? -year : year, month: month, day: day)
    else { return nil }
    let seconds = (days - ISO8601.daysToReference) * 86_400 + hour * 3600 + minute * 60 + second
    return Date(timeIntervalSinceReferenceDate: Double(seconds))
  }

  /// Decodes Base64 (RFC 4648 §4), ignoring white space and control characters.
  static func data(_ text: Substring.UTF8View) -> Data? {
    Data(base64Encoded: Data(text.filter { $0 > 0x20 }))
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for digit in digits {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
      value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return value
  }
}
