import Foundation
import StrataCore
import StrataTestSupport
import Testing

private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

/// A model that contains itself. Fields with a common path prefix aren't declared next to each other.
private struct Scattered: DescribedModel, Equatable {
  var a: Int
  var b: String
  var c: Double
  var inner: [Scattered]
  var d: String?
  static let fields = Fields(
    Scattered.self, version: 1,
    Field("a", \.a, json: "x.a"), Field("b", \.b, json: #"b\.b"#),
    Field("inner", \.inner, json: "deep.er.inner", default: []),
    Field("c", \.c, json: "x.y.c"), Field("d", \.d, archive: .excluded, json: "x.d", default: "kept"),
    make: { Scattered(a: $0, b: $1, c: $3, inner: $2, d: $4) })
}

@Suite("Writing models as JSON")
struct JSONModelWriterTests {
  @Test("J-23: fields with a common path prefix share an object at the position of the first field")
  func groups() throws {
    let leaf = Scattered(a: 1, b: "\"\n", c: 0.5, inner: [], d: nil)
    let model = Scattered(a: -2, b: "é", c: 1e22, inner: [leaf, leaf], d: "d")
    let inner = #"{"x":{"a":1,"y":{"c":0.5},"d":null},"b.b":"\"\n","deep":{"er":{"inner":[]}}}"#
    let expected = #"{"x":{"a":-2,"y":{"c":1e+22},"d":"d"},"b.b":"é","deep":{"er":{"inner":[\#(inner),\#(inner)]}}}"#
    #expect(try text(model.jsonData()) == expected)
    #expect(try Scattered(fromJSON: model.jsonData()) == model)
    #expect(try text(JSONWriter().write([leaf])) == "[\(inner)]")
  }

  @Test("A model with grouped fields that is nested 100 levels deep round-trips")
  func nested() throws {
    var model = Scattered(a: 0, b: "", c: 0, inner: [], d: nil)
    for depth in 1...100 { model = Scattered(a: depth, b: "b", c: 1, inner: [model], d: nil) }
    #expect(try Scattered(fromJSON: model.jsonData()) == model)
  }

  @Test("Output can be pretty-printed and sorted by key")
  func pretty() throws {
    let model = Scattered(a: 1, b: "", c: 2, inner: [], d: nil)
    #expect(
      try text(model.jsonData(isPretty: true)) == """
        {
          "x": {
            "a": 1,
            "y": {
              "c": 2.0
            },
            "d": null
          },
          "b.b": "",
          "deep": {
            "er": {
              "inner": []
            }
          }
        }
        """)
    #expect(
      try text(model.jsonData(sortsKeys: true))
        == #"{"b.b":"","deep":{"er":{"inner":[]}},"x":{"a":1,"d":null,"y":{"c":2.0}}}"#)
    #expect(
      try model.jsonData(isPretty: true, sortsKeys: true)
        == JSONWriter(isPretty: true, sortsKeys: true).write(JSONReader().read(model.jsonData())))
  }

  @Test("A model with every kind of property round-trips")
  func everything() throws {
    var model = Everything()
    // JSON dates have nanosecond precision.
    model.date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
    model.nested = [Everything()]
    model.nested[0].date = Date(timeIntervalSinceReferenceDate: -1)
    #expect(try Everything(fromJSON: model.jsonData()) == model)
    #expect(try Everything(fromJSON: model.jsonData(isPretty: true)) == model)
    // Reading the text and reading the parsed value give the same model.
    let value = try JSONReader().read(model.jsonData())
    #expect(try Everything(fromJSON: value) == model)
    #expect(try JSONWriter().write(value) == model.jsonData())
  }

  @Test(
    "Each value type is written in its JSON form",
    arguments: [
      ([1: "a", -2: "b"] as [Int: String] as any Archivable & Sendable, #"{"1":"a","-2":"b"}"#),
      ([true: 1] as [Bool: Int], "[[true,1]]"), ([:] as [Bool: Int], "{}"), ([:] as [String: Int], "{}"),
      ([UInt128.max: 1] as [UInt128: Int], #"{"340282366920938463463374607431768211455":1}"#),
      (Set([3, 1]), "[1,3]"), (Date(timeIntervalSince1970: 0), #""1970-01-01T00:00:00Z""#),
      (Date(timeIntervalSince1970: -1.5), #""1969-12-31T23:59:58.5Z""#), (Data([255, 254]), #""//4=""#),
      (Decimal(string: "12.50") ?? 0, "12.5"), (Float(0.1), "0.1"), (UInt64.max, "18446744073709551615"),
      (Int64.min, "-9223372036854775808"), (Int128.min, "-170141183460469231731687303715884105728"),
      (Payment.card(number: "1", expiry: nil), #"{"card":{"number":"1","expiry":null}}"#), (State.open, "\"open\""),
      (Int?.none, "null"), ("\u{1}\u{1f}\u{7f}/\\\t", #""\u0001\u001f"# + "\u{7f}" + #"/\\\t""#),
    ] as [(any Archivable & Sendable, String)])
  func forms(value: any Archivable & Sendable, expected: String) throws {
    #expect(try text(JSONWriter().write(value)) == expected)
    // The value that is decoded from an archive is written as the same text.
    #expect(
      try text(JSONWriter().write(ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value)))) == expected)
  }

  @Test("Dates are written in ISO 8601 for the years 0 to 9999 and rejected outside this range")
  func dates() throws {
    for day in stride(from: -719_528, through: 2_932_896, by: 997) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400 + Double(day & 0xFFFF))
      #expect(try text(JSONWriter().write(date)) == ISO8601.string(from: date).map { "\"\($0)\"" })
    }
    for seconds in [-62_167_219_201.0, 253_402_300_800, 1e15, -1e300, .infinity] {
      #expect(throws: ArchiveError.self) { try JSONWriter().write(Date(timeIntervalSince1970: seconds)) }
    }
  }

  @Test("A value that JSON cannot represent is rejected with its path")
  func refused() throws {
    let model = Scattered(a: 1, b: "", c: 1, inner: [Scattered(a: 1, b: "", c: .nan, inner: [], d: nil)], d: nil)
    let error = #expect(throws: ArchiveError.self) { try model.jsonData() }
    #expect(error?.code == .notEncodable)
    #expect(error?.pathDescription == "inner[0].c")
    #expect(error?.typeName == "Scattered")
    let keyed = #expect(throws: ArchiveError.self) {
      try JSONWriter().write(["a": [1.5, .infinity]] as [String: [Double]])
    }
    #expect(keyed?.pathDescription == "a[1]")
  }

  @Test("J-25: two fields with conflicting JSON paths throw invalidMapping", arguments: [0, 1, 2])
  func conflicts(kind: Int) {
    let paths: [[JSONField]] = [["a", "a"], ["a", "a.b"], ["a.b.c", "a.b"]]
    let fields = zip(["p", "q"], paths[kind]).map { FieldInfo($0, Int.self, json: $1) }
    let error = #expect(throws: ArchiveError.self) { try JSONWriter().write(Clash(fields: fields)) }
    #expect(error?.code == .invalidMapping)
    #expect(error?.pathDescription == "q")
  }

  private struct Clash: Archivable {
    let schema: ModelSchema
    init(fields: [FieldInfo]) { schema = ModelSchema(Clash.self, name: "Clash", version: 1, fields: fields) }
    func write(to writer: inout ArchiveWriter) throws {
      try writer.beginRecord(schema)
      writer.write(Int64(1))
      writer.write(Int64(2))
      writer.leave()
    }
    static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Clash { Clash(fields: []) }
  }

  @Test("Unknown fields are written after the declared fields")
  func unknownFields() throws {
    struct Keeping: VersionedModel, Equatable {
      var id: Int
      var archivedUnknownFields: UnknownFields
      static let schema = ModelSchema(
        Keeping.self, name: "Keeping", version: 1, fields: [FieldInfo("id", Int.self, json: "meta.id")],
        keepsUnknownFields: true)
      init(id: Int, _ unknown: UnknownFields) { (self.id, archivedUnknownFields) = (id, unknown) }
      init(fields reader: inout ArchiveReader) throws {
        id = try reader.field(0)
        archivedUnknownFields = reader.readUnknownFields()
      }
      func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, id) }
    }
    let model = Keeping(id: 1, UnknownFields(ArchiveObject([.init(key: "extra", value: [1, 2])])))
    #expect(try text(model.jsonData()) == #"{"meta":{"id":1},"extra":[1,2]}"#)
  }

  @Test("A document can contain more than 255 record shapes")
  func manyShapes() throws {
    struct Shape: Archivable {
      let schemas: [ModelSchema]
      func write(to writer: inout ArchiveWriter) throws {
        writer.beginArray(count: schemas.count * 2)
        for schema in schemas + schemas {
          try writer.beginRecord(schema)
          writer.write(Int64(schema.modelVersion))
          writer.leave()
        }
      }
      static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Shape { Shape(schemas: []) }
    }
    let schemas = (0..<300).map {
      ModelSchema(
        Shape.self, name: "S", version: $0,
        fields: [FieldInfo("v", Int.self, json: JSONField(stringLiteral: "a.k\($0)"))])
    }
    let records = (0..<300).map { "{\"a\":{\"k\($0)\":\($0)}}" }
    #expect(try text(JSONWriter().write(Shape(schemas: schemas))) == "[\((records + records).joined(separator: ","))]")
  }
}
