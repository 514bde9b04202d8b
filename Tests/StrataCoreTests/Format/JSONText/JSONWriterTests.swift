import Foundation
import StrataCore
import Testing

private func text(_ value: ArchiveValue, pretty: Bool = false, sorted: Bool = false) throws -> String {
  String(decoding: try JSONWriter(isPretty: pretty, sortsKeys: sorted).write(value), as: UTF8.self)
}

@Suite("JSON writer")
struct JSONWriterTests {
  static let spellings: [(ArchiveValue, String)] = [
    (.null, "null"), (.bool(true), "true"), (.int(-5), "-5"), (.uint(.max), "18446744073709551615"),
    (.double(1), "1.0"), (.double(1e16), "1e+16"), (.double(0.1), "0.1"),
    (.double(.leastNonzeroMagnitude), "5e-324"),
    (.float(0.1), "0.1"), (.decimal(Decimal(sign: .minus, exponent: -2, significand: 12345)), "-123.45"),
    (.string("\"\\/\u{1}\u{1f}\t\u{7f}é😀"), #""\"\\/\u0001\u001f\t"# + "\u{7f}é😀\""),
    (.data(Data([1, 2, 255])), "\"AQL/\""),
    (.date(Date(timeIntervalSinceReferenceDate: 0.5)), "\"2001-01-01T00:00:00.5Z\""),
    (.set([1, 2]), "[1,2]"),
    (.map([.init(key: 1, value: "a"), .init(key: .null, value: [])]), #"[[1,"a"],[null,[]]]"#),
    (.map([]), "{}"), (.map([.init(key: 1, value: "a")]), #"{"1":"a"}"#), (.object(ArchiveObject()), "{}"),
    (.record(ModelRecord(typeName: "T", modelVersion: 2, fields: [("b", 1), ("a", [])])), #"{"b":1,"a":[]}"#),
    (
      .uuid(UUID(uuid: (171, 205, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14))),
      "\"ABCD0102-0304-0506-0708-090A0B0C0D0E\""
    ),
  ]

  @Test("Each kind of value has its JSON form", arguments: spellings)
  func forms(value: ArchiveValue, expected: String) throws {
    #expect(try text(value) == expected)
    #expect(try text(.array([value])) == "[\(expected)]")
    _ = try JSONReader().read(Data(expected.utf8))
  }

  @Test("A URL is written as its absolute string")
  func url() throws {
    let url = try #require(URL(string: "https://example.org/a?b=c"))
    #expect(try text(.url(url)) == "\"https://example.org/a?b=c\"")
  }

  @Test("Pretty-printed output is indented and can have sorted keys")
  func pretty() throws {
    let record = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: nil, fields: [("z", 1), ("b", [])]))
    let value: ArchiveValue = ["é": [1, ["x": .null]], "z": [:], "a": record]
    #expect(
      try text(value, pretty: true, sorted: true) == """
        {
          "a": {
            "b": [],
            "z": 1
          },
          "z": {},
          "é": [
            1,
            {
              "x": null
            }
          ]
        }
        """)
    #expect(try text(value) == #"{"é":[1,{"x":null}],"z":{},"a":{"z":1,"b":[]}}"#)
  }

  @Test(
    "A value that JSON cannot represent throws notEncodable with its path",
    arguments: [
      .double(.nan), .double(.infinity), .float(-.infinity), .decimal(.nan),
      .date(.distantFuture + 1e12),
    ] as [ArchiveValue])
  func refused(value: ArchiveValue) throws {
    let record = ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", 1), ("b", .array([1, value]))])
    let error = #expect(throws: ArchiveError.self) {
      try text(["x": [.null, .map([.init(key: 1, value: .record(record))])]])
    }
    #expect(error?.code == .notEncodable)
    #expect(error?.pathDescription == #"x[1].1.b[1]"#)
  }

  // Foundation traps when it describes these dates, so they aren't test arguments.
  @Test("A date that is not finite or out of range throws an error")
  func noDate() {
    for interval in [Double.nan, .infinity, -.infinity, 1e300] {
      #expect(throws: ArchiveError.self) { try text(.date(Date(timeIntervalSinceReferenceDate: interval))) }
    }
  }

  @Test("Writing throws limitExceeded if the nesting exceeds the limit")
  func deep() throws {
    var value: ArchiveValue = []
    for _ in 1..<512 { value = [value] }
    #expect(try JSONWriter().write(value).count == 1024)
    let error = #expect(throws: ArchiveError.self) { try JSONWriter().write([value]) }
    #expect(error?.limit == .depth)
    #expect(error?.code == .limitExceeded)
  }
}
