import Foundation
import StrataCore
import StrataTestSupport
import Testing

private func read(_ text: String) throws -> ArchiveValue { try JSONReader().read(Data(text.utf8)) }

private func failure(_ data: Data, limits: ArchiveLimits = ArchiveLimits()) -> ArchiveError? {
  var reader = JSONReader()
  reader.limits = limits
  return archiveError { try reader.read(data) }
}

@Suite("JSON reader")
struct JSONReaderTests {
  @Test(
    "Integers are read and written exactly",
    arguments: [
      ("0", .int(0)), ("-9223372036854775808", .int(.min)), ("9223372036854775807", .int(.max)),
      ("9223372036854775808", .uint(1 << 63)), ("18446744073709551615", .uint(.max)),
      ("18446744073709551616", .wideInteger(WideInteger(isNegative: false, magnitude: 1 << 64))),
      ("-9223372036854775809", .wideInteger(WideInteger(isNegative: true, magnitude: (1 << 63) + 1))),
      ("-18446744073709551616", .wideInteger(WideInteger(isNegative: true, magnitude: 1 << 64))),
      (
        "340282366920938463463374607431768211455",
        .wideInteger(WideInteger(isNegative: false, magnitude: .max))
      ),
      (
        "-340282366920938463463374607431768211455",
        .wideInteger(WideInteger(isNegative: true, magnitude: .max))
      ),
    ] as [(String, ArchiveValue)])
  func integers(text: String, value: ArchiveValue) throws {
    #expect(try read(text) == value)
    #expect(try JSONWriter().write(value) == Data(text.utf8))
  }

  @Test(
    "Numbers that fit no integer or double become decimals, or keep their text if no decimal fits",
    arguments: [
      ("340282366920938463463374607431768211456", false), ("987654321098765432109876543210987654321", false),
      ("1" + String(repeating: "0", count: 40), true), ("7" + String(repeating: "0", count: 127), true),
      ("-98765432109876543210987654321098765432" + String(repeating: "0", count: 90), true),
      ("7" + String(repeating: "0", count: 128), true), ("7" + String(repeating: "0", count: 165), false),
      ("3.14159265358979323846", true), ("-0.1234567890123456789", true), ("123456789.123456789", true),
      ("123456789012345678901234567890.5", true), ("9007199254740993.25", true), ("0.10000000000000001", true),
      ("9007199254740993.0", false), ("900719925474099.30E1", false), ("1e400", false), ("-1e-400", false),
      ("2.4703282292062328e-324", false), ("4.9406564584124654e-324", false), ("1.79769313486231580e308", false),
      ("1.00000000000000011102230246251565404236316680908203125", false),
    ])
  func exactNumbers(text: String, isDecimal: Bool) throws {
    let value = try read(text)
    switch value {
    case .decimal(let decimal):
      #expect(isDecimal)
      #expect(decimal.description == text)
    case .number(let number):
      #expect(!isDecimal)
      #expect(number.text == text)
    default: Issue.record("\(value.kind)")
    }
    #expect(value.doubleValue == Double(text).flatMap { $0.isFinite ? $0 : nil })
    #expect(value.intValue == nil)
    #expect(try JSONWriter().write(value) == Data(text.utf8))
    #expect(try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value)) == value)
  }

  @Test(
    "NumberText rejects text that is not a JSON number",
    arguments: ["", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "NaN", "1 "])
  func noNumber(text: String) { #expect(NumberText(text) == nil) }

  @Test("NumberText keeps the original spelling", arguments: ["0", "-0.0", "12E+05", "3.10", "1e999"])
  func numberText(text: String) { #expect(NumberText(text)?.text == text) }

  @Test(
    "Numbers with a fraction or an exponent become doubles if the double prints as the same number",
    arguments: [
      "1.0", "0.1", "-0.0", "1e6", "1E+6", "1e-7", "0.000001", "0.8333333", "1e22", "1e23", "3.10", "0e999",
      "1.7976931348623157e308", "5e-324", "8.41e21", "9.5e-30", "0.00000000000000000001e20", "-0.30000000000000004",
      "2.2250738585072014e-308", "9007199254740992.0", "123456789012345000.0",
    ])
  func doubles(text: String) throws {
    guard case .double(let number) = try read(text) else {
      Issue.record("no double")
      return
    }
    #expect(number.bitPattern == Double(text)?.bitPattern)
  }

  @Test("Minus zero keeps its sign")
  func minusZero() throws {
    for text in ["-0", "-0.0", "-0e5"] {
      guard case .double(let number) = try read(text) else {
        Issue.record("no double")
        return
      }
      #expect(number == 0 && number.sign == .minus)
    }
    #expect(String(decoding: try JSONWriter().write(.double(-0.0)), as: UTF8.self) == "-0.0")
  }

  @Test("Very long numbers keep their text", arguments: [1000, 100_000])
  func longNumbers(count: Int) throws {
    let digits = String(repeating: "1234567890", count: count / 10)
    for text in ["0.\(digits)", digits, "1e\(digits)", "1e-\(digits)", "-\(digits)e-\(digits)"] {
      #expect(try read(text) == .number(#require(NumberText(text))))
    }
    #expect(try read("0." + String(repeating: "0", count: count) + "1e\(count + 1)") == .double(1))
  }

  @Test("Random doubles and integers round-trip")
  func randomNumbers() throws {
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    print("JSON numbers: \(random)")
    for _ in 0..<20_000 {
      let double = Double(bitPattern: random.next())
      if double.isFinite {
        #expect(try JSONReader().read(JSONWriter().write(.double(double))) == .double(double))
      }
      let bits = random.next()
      let signed = Int64(truncatingIfNeeded: bits) >> Int64(random.next() % 64)
      #expect(try JSONReader().read(JSONWriter().write(.int(signed))) == .int(signed))
      #expect(try read("\(bits)") == .integer(bits))
      let wide = WideInteger(isNegative: bits % 2 == 0, magnitude: UInt128(bits) << 64 | UInt128(random.next()))
      #expect(try JSONReader().read(JSONWriter().write(.wideInteger(wide))) == .wideInteger(wide))
      // The reader converts short decimal fractions on a fast path that does not use the conversion from text.
      let text = "\(random.next() % 1_000_000_000).\(random.next() % 1_000_000)e\(Int(random.next() % 44) - 22)"
      #expect(try read(text) == .double(try #require(Double(text))))
    }
  }

  @Test("X-6: true is not 1")
  func booleans() throws {
    #expect(try read("[true, false, null, 1]") == .array([.bool(true), .bool(false), .null, .int(1)]))
    #expect(try read("true") != .int(1))
  }

  @Test(
    "Strings with escapes and non-ASCII characters round-trip",
    arguments: [
      (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{c}\n\r\tz"), (#""\u00e9\uD83D\ude00""#, "é😀"),
      (#""😀é""#, "😀é"), (#""\u0000""#, "\0"), ("\"\u{7f}\"", "\u{7f}"), (#""a\ufffeé""#, "a\u{fffe}é"),
    ])
  func strings(text: String, string: String) throws {
    #expect(try read(text) == .string(string))
    #expect(try JSONReader().read(JSONWriter().write(.string(string))) == .string(string))
  }

  @Test("Keys keep their order, and the last of duplicate keys wins")
  func keys() throws {
    let object = try read(#"{"b": 1, "a": 2, "b": 3, "c": {}}"#).objectValue
    #expect(object?.keys == ["b", "a", "c"])
    #expect(object?["b"] == 3)
    let many = "{" + (0..<400).map { "\"k\($0 % 200)\":\($0)" }.joined(separator: ",") + "}"
    let values = try read(many).objectValue
    #expect(values?.count == 200)
    #expect(values?["k7"] == 207)
    #expect(values?.keys.first == "k0")
    // Two spellings of a character have different bytes and are different keys.
    #expect(try read(#"{"é": 1, "e\u0301": 2}"#).objectValue?.entries.map(\.value) == [1, 2])
  }

  @Test("Duplicate keys are detected in objects of every size", arguments: 2...70)
  func keysStandingTwice(count: Int) throws {
    // The keys have equal lengths and differ in one or two bytes. Some contain escapes or non-ASCII characters.
    for style in ["a%02dbcdefgh%02d", "%d%d", "\\u0061%d.%d", "é%d.%d"] {
      let keys = (0..<count).map { String(format: style, $0 / 7, $0 % 7) }
      let members = keys.enumerated().map { "\"\($1)\": \($0)" }
      let values = (0..<count).map { ArchiveValue.int(Int64($0)) }
      #expect(try read("{\(members.joined(separator: ","))}").objectValue?.entries.map(\.value) == values)
      for place in [0, count / 2, count - 1] {
        let text = "{\"x\": {\((members + ["\"\(keys[place])\": null"]).joined(separator: ","))}, \"y\": 1}"
        let outer = try #require(try read(text).objectValue)
        #expect(outer.keys == ["x", "y"])
        #expect(outer["x"]?.objectValue?.count == count)
        #expect(outer["x"]?.objectValue?.entries[place].value == .null)
      }
    }
    #expect(try read(#"{"": 1, "": 2, "a": 3, "\u0061": 4}"#) == ["": 2, "a": 4])
  }

  @Test(
    "Errors name the position and the problem",
    arguments: [
      ("", 0, "line 1, column 1 (in bytes): the text is empty; a JSON document must contain a value"),
      (
        " \n", 2,
        "line 2, column 1 (in bytes): the text contains only whitespace; a JSON document must contain a value"
      ),
      (
        "\u{feff}{}", 0,
        "line 1, column 1 (in bytes): the text starts with a byte order mark; remove the first three bytes"
      ),
      (
        "[1,\n 2,]", 7,
        "line 2, column 4 (in bytes): an array has a comma after its last element; remove the comma"
      ),
      ("{\"é\" 1}", 6, "line 1, column 7 (in bytes): found a digit after a key; a colon must follow the key"),
      (
        "[1 x", 3,
        "line 1, column 4 (in bytes): found a letter after a value in an array; a comma or \"]\" must follow the value"
      ),
      ("{} #", 3, "line 1, column 4 (in bytes): found \"#\" after the end of the JSON document"),
      (
        "[\"\\ud800\"]", 2,
        "line 1, column 3 (in bytes): a \\u escape is a high surrogate that no low surrogate follows"
      ),
    ])
  func errors(text: String, offset: Int, reason: String) {
    let error = failure(Data(text.utf8))
    #expect(error?.code == .invalidJSON)
    #expect(error?.reason == reason)
    #expect(error?.byteOffset == offset)
  }

  @Test(
    "Invalid UTF-8 is reported at its first byte",
    arguments: [
      ([0x80], 1), ([0x61, 0xC3], 2), ([0xED, 0xA0, 0x80], 1), ([0xC3, 0xA9, 0xC0, 0x80], 3),
      ([0x5C, 0x6E, 0xF4, 0x90, 0x80, 0x80], 3), ([0xFF], 1),
    ] as [([UInt8], Int)])
  func invalidUTF8(bytes: [UInt8], offset: Int) {
    let error = failure(Data([0x22] + bytes + [0x22]))
    #expect(error?.code == .invalidJSON)
    #expect(error?.byteOffset == offset)
  }

  @Test("Error messages never quote content of the document")
  func noContent() {
    for text in ["[sesame]", "{\"open\": sesame}", "\"sesame", "[\"sesame\" \"sesame\"]", "{\"sesame\":1 2}"] {
      #expect(failure(Data(text.utf8))?.description.contains("sesame") == false)
    }
  }

  @Test("Exceeding a limit throws limitExceeded with line and column")
  func limits() throws {
    var limits = ArchiveLimits()
    limits.count = 2
    limits.stringLength = 3
    limits.depth = 2
    func limit(_ text: String) -> ArchiveLimits.Limit? {
      guard let error = failure(Data(text.utf8), limits: limits) else { return nil }
      #expect(error.code == .limitExceeded)
      #expect(error.byteOffset != nil && error.reason.hasPrefix("line 1, column "))
      return error.limit
    }
    #expect(limit("[[1,2],2]") == nil)
    #expect(limit("[1,2,3]") == .count)
    #expect(limit("{\"a\":1,\"b\":2,\"c\":3}") == .count)
    #expect(limit("[[[]]]") == .depth)
    #expect(limit("\"é1\"") == nil)
    #expect(limit("\"\\u00e9é\"") == .stringLength)
    #expect(limit("\"\\n\\n\\n\"") == nil)
    #expect(limit("\"1234\"") == .stringLength)
    #expect(limit("{\"1234\":1}") == .stringLength)
  }

  @Test(
    "Nesting beyond the limit throws limitExceeded in less than a second", arguments: ["[", "{\"a\":"], [512, 1 << 20])
  func deep(opening: String, depth: Int) throws {
    var limits = ArchiveLimits()
    limits.depth = depth
    let start = ContinuousClock.now
    let error = failure(Data(String(repeating: opening, count: 100_000).utf8), limits: limits)
    #expect(error?.code == .limitExceeded)
    #expect(error?.limit == .depth)
    #expect(start.duration(to: .now) < .seconds(1))
  }

  @Test("Values with the maximum nesting can be compared, written and released", arguments: ["[", "{\"a\":"])
  func deepest(opening: String) throws {
    var reader = JSONReader()
    var writer = JSONWriter()
    reader.limits.depth = JSONReader.maximumDepth
    writer.limits.depth = JSONReader.maximumDepth
    let count = JSONReader.maximumDepth
    let closing = opening == "[" ? "]" : "}"
    let text =
      String(repeating: opening, count: count - 1) + "[]" + String(repeating: closing, count: count - 1)
    let value = try reader.read(Data(text.utf8))
    #expect(try writer.write(value) == Data(text.utf8))
    #expect(value == (try reader.read(Data(text.utf8))))
    #expect(throws: ArchiveError.self) { try JSONWriter().write(value) }
    #expect(failure(Data("[\(text)]".utf8), limits: reader.limits)?.limit == .depth)
  }

  @Test("Every truncation throws invalidJSON, and no changed byte traps")
  func damage() throws {
    let text = #"{"a": [1, -2.5e+3, "x\n\u00e9\ud83d\ude00é", true, false, null], "b": {"c": {}, "d": []}} "#
    let bytes = Array(text.utf8)
    for count in 0..<(bytes.count - 1) {
      let error = failure(Data(bytes[..<count]))
      #expect(error?.code == .invalidJSON)
      #expect(error?.reason.contains("line 1, column ") == true)
    }
    for place in bytes.indices {
      for byte in UInt8.min ... .max {
        var changed = bytes
        changed[place] = byte
        _ = failure(Data(changed))
      }
    }
    // The start index of a slice of data isn't zero.
    #expect(try JSONReader().read(Data(bytes).dropFirst(6).prefix(1) + Data("]".utf8)) == [])
  }
}
