import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

/// A table with an object of every kind.
let propertyListOfEverything = PropertyList(
  objects: [
    .dictionary([.init(key: 1, value: 2), .init(key: 3, value: 4)]), .string("naïve 🦀"), .array([5, 6, 7, 8, 9, 10]),
    .string("ascii"), .set([11, 12, 13, 14, 15]), .null, .bool(true), .bool(false), .integer(-1), .integer(200),
    .integer(70000), .float(1.5), .double(-2.25), .date(Date(timeIntervalSinceReferenceDate: 12345.5)),
    .data(Data([1, 2, 3])), .uid(300), .integer(WideInteger(UInt64.max)),
  ], root: 0)

private let xml = """
  <?xml version="1.0" encoding="UTF-8"?>
  <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
  <plist version="1.0">
  <!-- a comment --><dict>
    <key>a&amp;b</key><string>&lt;é&#xE9;&#128512;<![CDATA[<&>]]></string>
    <key>n</key><array><integer> -0x10 </integer><integer>+18446744073709551615</integer><real>1.5e3</real>
      <real>-Infinity</real><true/><false></false><date>2001-01-01T00:00:01Z</date><data> AQ
      ID </data><array/></array>
    <key>u</key><dict><key>CF$UID</key><integer>7</integer></dict>
  </dict>
  </plist>
  """

private let xmlValue: ArchiveValue = [
  "a&b": "<éé😀<&>",
  "n": [
    -16, .uint(.max), 1500.0, .double(-.infinity), true, false, .date(Date(timeIntervalSinceReferenceDate: 1)),
    .data(Data([1, 2, 3])), [],
  ],
  "u": ["CF$UID": 7],
]

private func read(_ text: String) throws -> ArchiveValue { try PropertyListReader().readValue(Data(text.utf8)) }

@Suite("Property lists")
struct PropertyListTests {
  @Test("A table with every kind of object round-trips")
  func everything() throws {
    let data = try PropertyListWriter().write(propertyListOfEverything)
    #expect(try PropertyListReader().read(data) == propertyListOfEverything)
    #expect(try PropertyListWriter().write(PropertyListReader().read(data)) == data)
  }

  @Test("Random tables round-trip", .tags(.long), arguments: [UInt64.random(in: 0 ... .max)])
  func randomTables(seed: UInt64) throws {
    print("property lists: seed \(seed)")
    var random = SeededRandom(seed: seed)
    for round in 0..<Effort.rounds(60, long: 400) {
      let count = round == 0 ? 70000 : Int.random(in: 1...(round.isMultiple(of: 20) ? 600 : 30), using: &random)
      let list = PropertyList(
        objects: (0..<count).map { _ in random.object(count) }, root: .random(in: 0..<count, using: &random))
      let data = try PropertyListWriter().write(list)
      #expect(try PropertyListReader().read(data) == list)
    }
  }

  @Test("Foundation and Strata read each other's property lists")
  func foundation() throws {
    let list = PropertyList(
      objects: [
        .dictionary([.init(key: 1, value: 2), .init(key: 3, value: 4)]), .string("naïve"), .array([5, 6]), .string("b"),
        .data(Data([9])), .integer(-5), .double(0.5),
      ], root: 0)
    let data = try PropertyListWriter().write(list)
    let theirs = try PropertyListSerialization.propertyList(from: data, format: nil)
    let expected: ArchiveValue = ["naïve": [-5, 0.5], "b": .data(Data([9]))]
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      let written = try PropertyListSerialization.data(fromPropertyList: theirs, format: format, options: 0)
      #expect(try PropertyListReader().readValue(written) == expected)
    }
  }

  @Test("XML: every kind of value is read")
  func xmlValues() throws {
    #expect(try read(xml) == xmlValue)
    #expect(try read("\u{FEFF}" + xml + "\n<!-- end -->\n\0\0") == xmlValue)
    #expect(try read(xml.replacing("\n", with: "\r\n")) == xmlValue)
    let wide = xml.replacing("UTF-8", with: "UTF-16")
    #expect(try PropertyListReader().readValue(#require(wide.data(using: .utf16LittleEndian))) == xmlValue)
    #expect(try PropertyListReader().readValue(#require(("\u{FEFF}" + wide).data(using: .utf16BigEndian))) == xmlValue)
    #expect(try read("<string>a\r\nb</string>") == "a\nb")
    let list = try PropertyListReader().read(Data(xml.utf8))
    #expect(list.objects.contains(.uid(7)))
  }

  @Test(
    "XML: dates are read",
    arguments: [
      ("2000-02-29T12:30:15Z", -26_479_785.0), ("0001-01-01T00:00:00Z", -63_113_904_000),
      ("12024-12-31T23:59:59Z", 316_326_902_399),
    ])
  func dates(text: String, seconds: Double) throws {
    #expect(try read("<date>\(text)</date>") == .date(Date(timeIntervalSinceReferenceDate: seconds)))
  }

  @Test(
    "XML: invalid property lists throw with an offset",
    arguments: [
      "<plist><integer>1.5</integer></plist>", "<plist><integer></integer></plist>",
      "<plist><integer>--1</integer></plist>",
      "<plist><integer>170141183460469231731687303715884105728</integer></plist>", "<plist><real>0x1p3</real></plist>",
      "<plist><date>2001-02-29T00:00:00Z</date></plist>", "<plist><data>AQI</data></plist>", "<plist></plist>",
      "<plist/>", "<plist><true>x</true></plist>", "<plist><url>x</url></plist>", "<plist><array>x</array></plist>",
      "<plist><dict><string>x</string></dict></plist>", "<plist><dict><key>x</key></dict></plist>",
      "<plist><dict><key>x</key><key>y</key></dict></plist>", "<plist><array></dict></plist>",
      "<plist><true/><true/></plist>", "<plist><true/></plist>x", "<plist><string>&undefined;</string></plist>",
      "<plist><string>&#0;</string></plist>", "<plist><string>&#xD800;</string></plist>",
      "<plist><string>\u{1}</string></plist>", "<plist><string a=b>x</string></plist>",
      "<plist><string><key>x</key></string></plist>", "<plist><string>x</key></plist>",
      "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>",
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><true/></plist>",
      "<plist><!-- a -- b --><true/></plist>", "<key>a</key>",
    ])
  func refusedXML(text: String) {
    let error = #expect(throws: ArchiveError.self) { try read(text) }
    #expect(error?.code == .damaged)
    #expect(error?.reason.hasPrefix("line 1, column ") == true)
    #expect(error?.byteOffset.map { $0 <= text.utf8.count } == true)
  }

  @Test(
    "Other formats throw an error that names the format",
    arguments: [
      ("{ a = b; }", "OpenStep"), ("// !$*UTF8*$!\n{}", "OpenStep"), ("(a, b)", "OpenStep"),
      ("<0fbd77 1c>", "OpenStep"),
      ("{\"a:b\": 1}", "JSON"), ("[1]", "JSON"), ("SQLite format 3\0", "SQLite"), ("<html></html>", "HTML"),
      ("bplist16abc", "a version other than 00"), ("", "no data"), (" \n", "whitespace"),
      ("\u{4}\u{B}streamtyped", "NSArchiver"),
      ("hello", "unknown"),
    ])
  func otherFormats(text: String, name: String) {
    let error = #expect(throws: ArchiveError.self) { try read(text) }
    #expect(error?.code == .notAnArchive)
    #expect(error?.reason.contains(name) == true, "\(error?.reason ?? "")")
  }

  @Test("A shared object is repeated for each reference, and a dictionary with other keys becomes a map")
  func values() throws {
    let shared = PropertyList(objects: [.array([1, 1]), .array([2]), .uid(3)], root: 0)
    #expect(try PropertyListReader().value(of: shared) == [[["CF$UID": 3]], [["CF$UID": 3]]])
    let map = PropertyList(
      objects: [
        .dictionary([.init(key: 1, value: 2), .init(key: 3, value: 1), .init(key: 1, value: 3)]), .integer(1),
        .set([3]),
        .string("x"),
      ], root: 0)
    #expect(
      try PropertyListReader().value(of: map) == .map([.init(key: 1, value: "x"), .init(key: "x", value: 1)]))
  }

  @Test("The writer throws for missing objects and invalid dates")
  func notEncodable() {
    for list in [
      PropertyList(objects: [], root: 0), PropertyList(objects: [.array([1])], root: 0),
      PropertyList(objects: [.null], root: -1),
      PropertyList(objects: [.dictionary([.init(key: 0, value: -1)])], root: 0),
      PropertyList(objects: [.date(Date(timeIntervalSinceReferenceDate: .nan))], root: 0),
    ] {
      let error = #expect(throws: ArchiveError.self) { try PropertyListWriter().write(list) }
      #expect(error?.code == .notEncodable)
    }
  }
}

/// Random objects of property lists.
extension SeededRandom {
  private mutating func numbers(_ count: Int) -> [Int] {
    (0..<Int.random(in: 0...20, using: &self)).map { _ in Int.random(in: 0..<count, using: &self) }
  }

  /// An integer of any width.
  private mutating func wide() -> UInt64 { next() >> (next() % 64) }

  fileprivate mutating func object(_ count: Int) -> PropertyList.Object {
    switch next() % 12 {
    case 0: return .null
    case 1: return .bool(next() & 1 == 0)
    case 2: return .integer(WideInteger(Int128(Int64(bitPattern: next())) &* Int128(wide())))
    case 3: return .integer(WideInteger(wide()))
    case 4: return .float(Float.random(in: -1...1, using: &self))
    case 5: return .double(Double.random(in: -1e300...1e300, using: &self))
    case 6: return .date(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e10...1e10, using: &self)))
    case 7: return .data(Data((0..<next() % 40).map { UInt8(truncatingIfNeeded: $0) }))
    case 8:
      let alphabet = next() & 1 == 0 ? Array("abc xyz") : Array("aé日🦀\0")
      return .string(String((0..<next() % 40).map { _ in alphabet.randomElement(using: &self) ?? "a" }))
    case 9: return .uid(wide())
    case 10: return next() & 1 == 0 ? .array(numbers(count)) : .set(numbers(count))
    default: return .dictionary(zip(numbers(count), numbers(count)).map { .init(key: $0, value: $1) })
    }
  }
}
