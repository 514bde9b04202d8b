import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model that is written directly, without creating a value first.
private struct Plain: DescribedModel {
  var flag: String
  var note: ArchiveValue
  static let fields = Fields(
    Plain.self, version: 1, Field("flag", \.flag), Field("note", \.note), make: { Plain(flag: $0, note: $1) })
}

/// A model with the same JSON. Because it has a transformer, the writer must create a value first.
private struct Mapped: DescribedModel {
  var flag: Bool
  var note: ArchiveValue
  static let fields = Fields(
    Mapped.self, version: 1,
    Field(
      "flag", \.flag,
      json: .path("flag", ReversibleTransformer<String, Bool>({ $0 == "Y" }, reverse: { $0 ? "Y" : "N" }))),
    Field("note", \.note), make: { Mapped(flag: $0, note: $1) })
}

/// The result of one way to write: a text, or the code and path of an error.
private enum Written: Equatable {
  case text(String)
  case error(ArchiveError.Code, String)

  init(_ write: () throws -> Data) {
    do { self = .text(String(decoding: try write(), as: UTF8.self)) } catch let error as ArchiveError {
      self = .error(error.code, ArchiveError.describe(error.jsonPath))
    } catch { self = .error(.rejected, "\(error)") }
  }
}

private enum Samples {
  static let writers = [(false, false), (true, true)].map {
    JSONWriter(isPretty: $0, sortsKeys: $1)
  }

  static func url(_ text: String, relativeTo base: URL? = nil) -> URL {
    URL(string: text, relativeTo: base) ?? URL(filePath: "/")
  }
  static func uuid(_ text: String) -> UUID { UUID(uuidString: text) ?? UUID() }
  static func number(_ text: String) -> ArchiveValue { NumberText(text).map { .number($0) } ?? .null }

  static let date = Date(timeIntervalSinceReferenceDate: 0.5)
  /// Two different dates that have the same text in JSON.
  static let sameDates = [Date(timeIntervalSinceReferenceDate: 1e-11), Date(timeIntervalSinceReferenceDate: 2e-11)]

  static let scalars: [ArchiveValue] = [
    .null, .bool(true), .bool(false), .int(0), .int(-5), .int(.min), .uint(.max),
    .wideInteger(WideInteger(isNegative: true, magnitude: 1 << 64)),
    .wideInteger(WideInteger(isNegative: false, magnitude: .max)),
    .double(1), .double(-0.0), .double(1e16), .double(1e-7), .double(.leastNonzeroMagnitude), .float(0.1),
    .float(16_777_216),
    .float(1e20),
    .float(1e-7), .decimal(Decimal(string: "12.50") ?? 0), number("1e400"),
    .string(""),
    .string("\"\\/\u{1}\u{1f}\t\r\n\u{8}\u{c}\u{7f}\u{e9}\u{1F600}"), .data(Data()), .data(Data([255, 254])),
    .date(date),
    .date(Date(timeIntervalSince1970: 1)), .date(Date(timeIntervalSince1970: -1.25)),
    .url(Samples.url("http://a.b/c?d=e")),
    .url(url("d", relativeTo: url("http://a.b/c/"))),
    .uuid(Samples.uuid("E621E1F8-C36C-495A-93FC-0C247A3E6E5F")),
  ]

  static let refused: [ArchiveValue] = [
    .double(.nan), .double(-.infinity), .float(.infinity), .decimal(.nan), .date(Date(timeIntervalSince1970: 1e12)),
    .date(Date(timeIntervalSinceReferenceDate: .infinity)),
  ]

  static func map(_ pairs: [(ArchiveValue, ArchiveValue)]) -> ArchiveValue {
    .map(pairs.map { ArchiveValue.MapEntry(key: $0, value: $1) })
  }

  static let record = ArchiveValue.record(ModelRecord(typeName: "T", modelVersion: 2, fields: [("b", 1), ("a", [])]))

  /// Every kind of value at the root, as a key, next to another key, in an array and as a member.
  static let values: [ArchiveValue] = {
    var values = scalars + refused
    values += [[], [:], .set([]), .set([1, 2]), map([]), record, ["b": 1, "a": [:], "\u{e9}\"": record, "\u{1}": 2]]
    values += (scalars + refused + [[1], ["k": 1], record]).map { map([($0, 1)]) }
    values += (scalars + refused).flatMap { [[.null, $0], ["k": ["n": $0]], map([(7, ["x": $0])])] }
    values.append(map(sameDates.map { (.date($0), 1) }))
    values.append(map([(1, "a"), ("1", "b")]))
    values.append(map([(1, "a"), (.decimal(1), "b")]))
    values.append(map([(.bool(true), "a"), ("true", "b")]))
    values.append(
      map([(.date(date), 1), (.url(Samples.url("a:b")), ["z": .null, "a": record]), (3, map([(.null, 1)]))]))
    // The first graph has a shared object, and the second one has a cycle.
    values.append(.graph(ObjectGraph(objects: [record], root: [.reference(0), .reference(0)])))
    values.append(.graph(ObjectGraph(objects: [["next": .reference(0)]], root: .reference(0))))
    return values
  }()
}

@Suite("JSON: all writers produce the same output")
struct JSONWritersAgreeTests {
  /// Encodes and decodes the value, which sorts its sets and maps.
  private func canonical(_ value: ArchiveValue) throws -> ArchiveValue {
    try ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value))
  }

  /// Replaces decimals with doubles, because the reader decodes most decimals as doubles.
  private func withoutDecimals(_ value: ArchiveValue) -> ArchiveValue {
    switch value {
    case .decimal(let number): .double(Double(number.description) ?? .nan)
    case .array(let elements): .array(elements.map(withoutDecimals))
    case .object(let object):
      .object(ArchiveObject(object.entries.map { .init(key: $0.key, value: withoutDecimals($0.value)) }))
    default: value
    }
  }

  @Test(
    "Writers and adapters write every value identically, alone, in models and in arrays",
    arguments: Samples.values.indices)
  func everyValue(place: Int) throws {
    let value = try canonical(Samples.values[place])
    let members: ArchiveValue = ["flag": "Y", "note": value]
    for writer in Samples.writers {
      let (isPretty, sortsKeys) = (writer.isPretty, writer.sortsKeys)
      let expected = Written { try writer.write(members) }
      let plain = Plain(flag: "Y", note: value)
      let mapped = Mapped(flag: true, note: value)
      let found = [
        Written { try writer.write(plain) }, Written { try writer.write(mapped) },
        Written { try JSONAdapter<Plain>().encode(plain, isPretty: isPretty, sortsKeys: sortsKeys) },
        Written { try JSONAdapter<Mapped>().encode(mapped, isPretty: isPretty, sortsKeys: sortsKeys) },
        Written { try JSONAdapter<Plain>(.identity).encode(plain, isPretty: isPretty, sortsKeys: sortsKeys) },
        Written { try JSONAdapter<Plain>().encode(plain, fields: .all, isPretty: isPretty, sortsKeys: sortsKeys) },
        Written { try writer.write(JSONAdapter<Plain>().encodeValue(plain)) },
        Written { try writer.write(JSONAdapter<Mapped>().encodeValue(mapped)) },
        Written { try mapped.jsonData(isPretty: isPretty, sortsKeys: sortsKeys) },
      ]
      for (way, text) in found.enumerated() { #expect(text == expected, "way \(way) of \(value)") }
      let array = Written { try writer.write(.array([value, value])) }
      #expect(Written { try writer.write([value, value]) } == array)
      #expect(
        Written {
          try JSONAdapter<ArchiveValue>().encodeArray([value, value], isPretty: isPretty, sortsKeys: sortsKeys)
        }
          == array)
      if case .text(let text) = expected {
        let read = try JSONReader().read(Data(text.utf8))
        #expect(try read == JSONReader().read(writer.write(JSONAdapter<Plain>().encodeValue(plain))))
        if !sortsKeys { #expect(try withoutDecimals(read) == withoutDecimals(JSONAdapter<Plain>().encodeValue(plain))) }
      }
    }
  }

  private func check<T: Archivable & Sendable>(_ value: T, _ expected: String) throws {
    for writer in Samples.writers {
      let text = Written { try writer.write(value) }
      let adapter = try JSONAdapter<T>()
      #expect(Written { try adapter.encode(value, isPretty: writer.isPretty, sortsKeys: writer.sortsKeys) } == text)
      #expect(Written { try writer.write(adapter.encodeValue(value)) } == text)
      #expect(
        Written { try writer.write(ArchiveDecoder().decodeValue(from: ArchiveEncoder().encode(value))) } == text)
    }
    #expect(Written { try JSONWriter().write(value) } == .text(expected))
  }

  @Test("Dictionaries are written as objects if their keys have a text form, and otherwise as pairs")
  func dictionaries() throws {
    try check([true: 1], "[[true,1]]")
    try check([1.5: 1], "[[1.5,1]]")
    try check([Decimal(2): 1], "[[2,1]]")
    try check([-3: ["a": true]], #"{"-3":{"a":true}}"#)
    try check([UInt64.max: 1], #"{"18446744073709551615":1}"#)
    try check([UInt128.max: 1], #"{"340282366920938463463374607431768211455":1}"#)
    try check([Samples.date: 1], #"{"2001-01-01T00:00:00.5Z":1}"#)
    try check([Data([255, 254]): 1], #"{"//4=":1}"#)
    try check([Samples.url("http://a.b/c"): 1], #"{"http://a.b/c":1}"#)
    try check(
      [Samples.uuid("e621e1f8-c36c-495a-93fc-0c247a3e6e5f"): 1], #"{"E621E1F8-C36C-495A-93FC-0C247A3E6E5F":1}"#)
    try check([[1]: 1], "[[[1],1]]")
    try check([:] as [Bool: Int], "{}")
    try check([:] as [Int: Int], "{}")
    try check([Float(16_777_216): Float(16_777_216)], "[[16777216.0,16777216.0]]")
  }

  @Test("Sorted keys are in byte order at every level, regardless of escapes")
  func sorted() throws {
    let value: ArchiveValue = ["b": ["z": 1, "a": 2], "\"": 1, "\u{1}": 2, "a": [["y": 1, "x": 2]], "!": 3, "": 4]
    let expected = #"{"":4,"\u0001":2,"!":3,"\"":1,"a":[{"x":2,"y":1}],"b":{"a":2,"z":1}}"#
    #expect(Written { try JSONWriter(sortsKeys: true).write(value) } == .text(expected))
    #expect(Written { try JSONWriter(sortsKeys: true).write([value]) } == .text("[\(expected)]"))
    // A round trip through pretty-printed text keeps the order.
    let pretty = try JSONWriter(isPretty: true, sortsKeys: true).write(value)
    #expect(Written { try JSONWriter().write(JSONReader().read(pretty)) } == .text(expected))
  }

  @Test("Unknown fields are written even if a field uses a transformer")
  func unknownFields() throws {
    struct Keeping: VersionedModel {
      var archivedUnknownFields: UnknownFields
      static let schema = ModelSchema(
        Keeping.self, name: "KeepingOfWriters", version: 1,
        fields: [
          FieldInfo(
            "id", Int.self, json: .path("meta.id", ReversibleTransformer<Int, Int>({ $0 }, reverse: { $0 })))
        ], keepsUnknownFields: true)
      init(_ unknown: UnknownFields) { archivedUnknownFields = unknown }
      init(fields reader: inout ArchiveReader) throws { archivedUnknownFields = reader.readUnknownFields() }
      func encodeFields(to writer: inout ArchiveWriter) throws { try writer.field(0, 1) }
    }
    let model = Keeping(UnknownFields(ArchiveObject([.init(key: "extra", value: [1, 2])])))
    #expect(Written { try model.jsonData() } == .text(#"{"meta":{"id":1},"extra":[1,2]}"#))
    // An adapter writes the unknown fields of a model only if it captures unknown keys.
    #expect(Written { try JSONAdapter<Keeping>().encode(model) } == .text(#"{"meta":{"id":1}}"#))
    #expect(
      Written { try JSONAdapter<Keeping>(unknownKeys: .capture).encode(model) }
        == .text(#"{"meta":{"id":1},"extra":[1,2]}"#))
    // An unknown key at the path of a field is rejected, not omitted.
    let inTheWay = Keeping(UnknownFields(ArchiveObject([.init(key: "meta", value: 1)])))
    #expect(Written { try inTheWay.jsonData() } == .error(.invalidMapping, "meta"))
  }

  @Test("A record of another version is written with all its keys")
  func oldRecords() throws {
    let old = ArchiveValue.record(
      ModelRecord(typeName: "Plain", modelVersion: 0, fields: [("flag", "x"), ("gone", 1)]))
    let plain = Plain(flag: "Y", note: old)
    let expected = Written.text(#"{"flag":"Y","note":{"flag":"x","gone":1}}"#)
    #expect(Written { try JSONWriter().write(plain) } == expected)
    #expect(Written { try JSONWriter().write(JSONAdapter<Plain>().encodeValue(plain)) } == expected)
  }
}
