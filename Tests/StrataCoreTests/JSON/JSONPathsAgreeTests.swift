import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// A model with fields in nested objects.
struct Filing: DescribedModel, Equatable {
  var number: Int
  var login: String?
  var owner: Int
  var city: String
  var street: String?
  var state: State
  var note: ArchiveValue
  var price: Decimal
  var labels: [Label]

  struct Label: DescribedModel, Equatable {
    var name: String
    var weight: Double
    static let fields = Fields(
      Label.self, version: 1, Field("name", \.name), Field("weight", \.weight, default: 1),
      make: { Label(name: $0, weight: $1) })
  }

  static let fields = Fields(
    Filing.self, version: 1,
    Field("number", \.number, json: "id"), Field("login", \.login, json: "user.login"),
    Field("owner", \.owner, json: "user.id", default: -1),
    Field("city", \.city, json: "user.address.city", default: "?"),
    Field("street", \.street, json: "user.address.street"),
    Field("state", \.state, unknown: .useDefault, default: .open), Field("note", \.note, default: .null),
    Field("price", \.price, default: 0), Field("labels", \.labels, default: []),
    make: {
      Filing(
        number: $0, login: $1, owner: $2, city: $3, street: $4, state: $5, note: $6, price: $7, labels: $8)
    })
}

/// A model whose fields can contain null although they aren't optional.
private struct Annexed: DescribedModel, Equatable {
  var note: ArchiveValue
  var extra: ArchiveValue
  var spare: ArchiveValue
  var loose: ArchiveValue
  var mark: Mark

  /// A type that decodes null itself.
  struct Mark: Archivable, Equatable {
    var isNull: Bool
    func write(to writer: inout ArchiveWriter) throws { isNull ? writer.writeNull() : writer.write(true) }
    static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Mark {
      Mark(isNull: value.isNull)
    }
  }

  static let fields = Fields(
    Annexed.self, version: 1, Field("note", \.note, default: 0),
    Field("extra", \.extra, json: "meta.extra", default: 0),
    Field("spare", \.spare, json: .path("meta.spare").missing("none"), default: 0),
    Field("loose", \.loose, json: .path("loose").null(.fail), default: 0),
    Field("mark", \.mark, json: .path("marks.first").missing(1), default: Mark(isNull: false)),
    make: { Annexed(note: $0, extra: $1, spare: $2, loose: $3, mark: $4) })
}

/// The result of one way to read: a value, or the code, path and type of an error.
private enum Outcome<T: Equatable>: Equatable {
  case value(T)
  case error(ArchiveError.Code, String, String?)

  init(_ make: () throws -> T) {
    do { self = .value(try make()) } catch let error as ArchiveError {
      self = .error(error.code, error.pathDescription, error.typeName)
    } catch { self = .error(.rejected, "\(error)", nil) }
  }
}

/// Decodes a text directly and through a parsed value, and compares the results.
private func compare<T: Archivable & Equatable>(
  _ type: T.Type, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  let data = Data(text.utf8)
  let straight = Outcome { try JSONReader().read(T.self, from: data) }
  let detour = Outcome {
    var reader = JSONReader()
    reader.duplicateKeys = .refuse
    return try T.decode(from: reader.read(data), in: DecodingContext(source: .json))
  }
  #expect(straight == detour, "\(T.self) \(text)", sourceLocation: sourceLocation)
}

@Suite("JSON: decoding text agrees with decoding a parsed value")
struct JSONPathsAgreeTests {
  static let scalarTexts = [
    "null", "true", "false", "0", "-0", "1", "-1", "127", "128", "255", "256", "-129", "1e2", "1.0", "1.5", "-0.0",
    "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "170141183460469231731687303715884105727",
    "-170141183460469231731687303715884105728", "340282366920938463463374607431768211455",
    "340282366920938463463374607431768211456", "12345678901234567890123456789012345678901234567890",
    "100000000000000000000000000000000000000000", "3.14159265358979323846", "0.1", "0.30000000000000004", "1e22",
    "123456789012345678e-10", "9007199254740993.0", "1e400", "-1e400", "1e-400", "1e300", "3.5e38", "1.00", "12.30",
    "0.00000000000000000000000000000000000000000000001", "99999999999999999999999999999999999999.9", "\"\"",
    "\"a\"", "\"open\"", "\"op\\u0065n\"", "\"nope\"", "\"AQI=\"", "\"2011-01-26T19:01:12Z\"",
    "\"2011-01-26T19\\u003a01:12.25+02:00\"", "\"https://example.com/a?b=c\"", "\"https:\\/\\/example.com\"",
    "\"no url: %\"", "\"6BA7B810-9DAD-11D1-80B4-00C04FD430C8\"", "\"Zürich 🦀 \\ud83e\\udd80\"", "[]", "{}", "[1]",
    "[1,2,1]", "[null]", "[\"a\",\"b\"]", "[true,1]", "[[1],[2,3]]", "[1,2,\"x\"]", "{\"a\":1}",
    "{\"1\":\"a\",\"2\":\"b\"}",
    "{\"1\":1,\"01\":2}", "{\"a\":{\"b\":[1,{\"c\":null}]}}", "[[\"a\",1],[\"b\",2]]", "[[1,\"a\"],[2]]",
    "{\"x\":null}",
  ]

  @Test("Every type gives the same result for JSON text and for its parsed value", arguments: scalarTexts)
  func scalars(text: String) {
    compare(Bool.self, text)
    compare(Int.self, text)
    compare(Int8.self, text)
    compare(UInt8.self, text)
    compare(Int64.self, text)
    compare(UInt64.self, text)
    compare(Int128.self, text)
    compare(UInt128.self, text)
    compare(Double.self, text)
    compare(Float.self, text)
    compare(Decimal.self, text)
    compare(String.self, text)
    compare(Data.self, text)
    compare(Date.self, text)
    compare(URL.self, text)
    compare(UUID.self, text)
    compare(ArchiveValue.self, text)
    compare(State.self, text)
    compare(Priority.self, text)
    compare(Channel.self, text)
    compare(Int?.self, text)
    compare(String?.self, text)
    compare([Int].self, text)
    compare([Int?].self, text)
    compare([[Int]].self, text)
    compare(Set<Int>.self, text)
    compare([String: Int].self, text)
    compare([String: Int?].self, text)
    compare([Int: String].self, text)
    compare([UUID: Bool].self, text)
    compare(Payment.self, text)
    compare(Filing.self, text)
    compare(Everything.self, text)
    for field in Everything.schema.allKeys { compare(Everything.self, "{\"\(field)\": \(text)}") }
  }

  static let documents = [
    #"{"id":1,"user":{"login":"a","id":2,"address":{"city":"B","street":"C"}},"labels":[{"name":"x"}]}"#,
    #"{"user":{"address":{"street":null},"login":null},"id":1}"#, #"{"id":1,"user":null}"#,
    #"{"id":1,"user":{}}"#, #"{"id":1,"user":{"address":null}}"#, #"{"id":1,"user":7}"#,
    #"{"id":1,"user":{"address":[]}}"#, #"{"user":{"address":1},"id":"x"}"#, #"{"id":1,"user":{"id":null}}"#,
    #"{"id":1,"user":{"login":3}}"#, #"{}"#, #"{"id":null}"#, #"{"id":1,"state":"new"}"#, #"{"id":1,"state":1}"#,
    #"{"id":1,"labels":[{"name":"x","weight":"heavy"}]}"#, #"{"id":1,"labels":[{"name":"x"},{}]}"#,
    #"{"id":1,"labels":{}}"#, #"{"i\u0064":1,"us\u0065r":{"l\u006fgin":"a"}}"#, #"{"id":1,"price":12.30}"#,
    #"{"id":1,"note":{"a":[1,2,{"b":null}]},"more":{"a":{"b":[{}]}}}"#, #"{"id":1,"user":{"ID":2,"":3}}"#,
    #"{"id":1,"user.login":"a","unknown":1,"unknown":2}"#,
  ]

  @Test(
    "Nested paths, absent keys and nulls give the same result for text and for a parsed value", arguments: documents)
  func paths(text: String) {
    // The model skips unknown keys, so it accepts duplicates of them. The reader of a whole value rejects duplicates.
    if text.contains("unknown") {
      #expect(throws: Never.self) { try Filing(fromJSON: Data(text.utf8)) }
    } else {
      compare(Filing.self, text)
    }
    compare([Filing].self, "[\(text),\(text)]".replacing("\"unknown\":1,\"unknown\":2", with: "\"unknown\":1"))
  }

  @Test(
    "J-6: null is a valid value for a field whose type can hold it, whatever its path and mapping",
    arguments: [
      #"{"note":null,"meta":{"extra":null,"spare":null},"loose":null,"marks":{"first":null}}"#,
      #"{"note":null,"meta":null,"loose":null,"marks":null}"#,
    ])
  func nullOfFieldsThatHoldIt(text: String) throws {
    compare(Annexed.self, text)
    let data = Data(text.utf8)
    let expected = Annexed(note: .null, extra: .null, spare: .null, loose: .null, mark: .init(isNull: true))
    #expect(try Annexed(fromJSON: data) == expected)
    #expect(try JSONAdapter<Annexed>(unknownKeys: .refuse).decode(data) == expected)
    #expect(try JSONAdapter<Annexed>().decode(data, errors: .collectAll) == expected)
    #expect(try JSONAdapter<[Annexed]>().decode(JSONReader().read(Data("[\(text)]".utf8))) == [expected])
    var merged = try Annexed(fromJSON: Data("{}".utf8))
    try merged.mergeValues(fromJSON: data)
    #expect(merged == expected)
  }

  @Test("J-6: an absent key keeps the default, and null for a non-optional field throws typeMismatch")
  func absentAndNull() throws {
    #expect(try Filing(fromJSON: Data(#"{"id":1}"#.utf8)).owner == -1)
    let error = #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data(#"{"id":1,"user":{"id":null}}"#.utf8)) }
    #expect(error?.code == .typeMismatch)
    #expect(error?.pathDescription == "owner")
  }

  @Test(
    "J-5: a path through a non-object throws typeMismatch with its path",
    arguments: [("7", "user"), ("{\"address\":[1]}", "user.address"), ("\"x\"", "user"), ("[]", "user")])
  func pathThroughScalar(user: String, path: String) {
    let error = #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data("{\"id\":1,\"user\":\(user)}".utf8)) }
    #expect(error?.code == .typeMismatch)
    #expect(error?.jsonPathDescription == path)
    #expect(error?.typeName == "Filing")
  }

  @Test("Errors contain the full path, the byte offset, the line and the column")
  func places() {
    let text = "{\"id\": 1,\n \"labels\": [{\"name\": \"x\"},\n  {\"name\": 7}]}"
    let error = #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data(text.utf8)) }
    #expect(error?.pathDescription == "labels[1].name")
    #expect(error?.typeName == "Label")
    #expect(error?.byteOffset == text.utf8.count - 4)
    #expect(error?.reason == "line 3, column 12 (in bytes): the value must be a string; found integer")
    let missing = #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data("[\n{}]".utf8)[2...]) }
    #expect(missing?.code == .invalidJSON)
    let absent = #expect(throws: ArchiveError.self) { try JSONReader().read([Filing].self, from: Data("[\n{}]".utf8)) }
    #expect(absent?.code == .missingValue)
    #expect(absent?.pathDescription == "[0].number")
    #expect(absent?.reason.hasPrefix("line 2, column 1 (in bytes): ") == true)
  }

  @Test(
    "Errors of mapped fields contain the line and column of the value",
    arguments: [
      ("{\"days\": {\"first\":\n 7}}", "2, column 2", "day"),
      ("{\"days\": {\"first\":\n\n  \"2020-13-01\"}}", "3, column 4", "day"),
      ("{\"days\": {},\n\"id\": 1}", "1, column 10", "day"),
      ("{\"days\":\n[]}", "2, column 1", "day"),
      ("{\"homes\": [{\"street\": \"a\"},\n{\"street\":\n3}]}", "3, column 1", "homes[1].street"),
      ("{\"homes\": [{\"street\": \"a\"},\n {\"country\": \"b\"}]}", "2, column 2", "homes[1].street"),
    ])
  func placesOfMappedFields(text: String, place: String, path: String) {
    let error = #expect(throws: ArchiveError.self) { try Mapped(fromJSON: Data(text.utf8)) }
    #expect(error?.reason.hasPrefix("line \(place) (in bytes): ") == true, "\(error?.reason ?? "")")
    #expect(error?.pathDescription == path)
  }

  @Test("Adapter errors contain the line and column at a path, in an array and with collectAll")
  func placesOfAdapters() throws {
    let adapter = try JSONAdapter<Mapped>()
    let text = Data("{\"a\": [\n{\"days\":\n{\"first\": 7}, \"homes\": [{}]}]}".utf8)
    for body in [
      { _ = try adapter.decode(text, at: "a[0]") }, { _ = try adapter.decode(text, at: "a[0]", errors: .collectAll) },
      { _ = try adapter.decodeArray(text, at: "a") },
      { _ = try adapter.decodeArray(text, at: "a", errors: .collectAll) },
    ] as [() throws -> Void] {
      let error = #expect(throws: ArchiveError.self, performing: body)
      let first = error?.all.first { $0.reason.hasPrefix("line ") }
      #expect(first?.byteOffset != nil && error?.byteOffset == first?.byteOffset)
      #expect(error?.jsonPath.starts(with: [.key("a"), .index(0)]) == true)
    }
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(text, at: "a[0]") }
    #expect(error?.reason.hasPrefix("line 3, column 11 (in bytes): ") == true, "\(error?.reason ?? "")")
  }

  @Test(
    "Duplicate keys that a field reads are rejected",
    arguments: [
      (#"{"id":1,"id":1}"#, "id"), (#"{"id":1,"i\u0064":2}"#, "id"), (#"{"id":1,"user":{},"user":{"id":1}}"#, "user"),
      (#"{"id":1,"user":{"id":1,"id":2}}"#, "user.id"), (#"{"id":1,"note":{"a":{"b":1,"b":2}}}"#, "note.a.b"),
      (#"{"id":1,"labels":[{"name":"a","name":"b"}]}"#, "labels[0].name"),
    ])
  func duplicates(text: String, path: String) throws {
    let error = #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data(text.utf8)) }
    #expect(error?.code == .invalidJSON)
    #expect(error?.jsonPathDescription == path)
    #expect(error?.byteOffset != nil)
    // A parsed value has the last of several duplicates, unless the reader is set to reject duplicates.
    var reader = JSONReader()
    _ = try reader.read(Data(text.utf8))
    reader.duplicateKeys = .refuse
    let refused = #expect(throws: ArchiveError.self) { try reader.read(Data(text.utf8)) }
    #expect(refused?.code == .invalidJSON)
    #expect(refused?.pathDescription.isEmpty == false)
  }

  @Test("Merging rejects duplicate keys of a field and leaves the model unchanged")
  func duplicatesInMerges() throws {
    var report = try Filing(fromJSON: Data(#"{"id":1}"#.utf8))
    let before = report
    for text in [#"{"id":2,"id":3}"#, #"{"user":{"id":1,"id":2}}"#] {
      let error = #expect(throws: ArchiveError.self) { try report.mergeValues(fromJSON: Data(text.utf8)) }
      #expect(error?.code == .invalidJSON)
      #expect(report == before)
    }
    try report.mergeValues(fromJSON: Data(#"{"other":1,"other":2,"id":4}"#.utf8))
    #expect(report.number == 4)
  }

  @Test("Each flipped bit or truncation gives the same result for text and for a parsed value")
  func damage() {
    let text = Self.documents[0]
    let bytes = Array(text.utf8)
    for place in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[place] ^= 1 << bit
        // `compare` takes a string, so it cannot test invalid UTF-8. Reading such bytes throws an error.
        if let text = String(validating: changed, as: UTF8.self), !text.contains(where: { $0 == "\0" }) {
          compare(Filing.self, text)
        } else {
          #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data(changed)) }
        }
      }
    }
    for count in bytes.indices {
      #expect(throws: ArchiveError.self) { try Filing(fromJSON: Data(bytes[..<count])) }
      compare(Filing.self, String(text.prefix(count)))
    }
  }

  @Test("A model nested 100,000 levels deep exceeds the depth limit", arguments: ["[", "{\"nested\":[", "{\"a\":"])
  func deep(opening: String) {
    let data = Data(String(repeating: opening, count: 100_000).utf8)
    for depth in [512, 1 << 20] {
      var reader = JSONReader()
      reader.limits.depth = depth
      let error = #expect(throws: ArchiveError.self) { try reader.read(Everything.self, from: data) }
      #expect(error?.limit == .depth)
    }
  }

  @Test("A model nested to the depth limit round-trips")
  func deepest() throws {
    let levels = ArchiveLimits().depth / 2
    let text = String(repeating: "{\"nested\":[", count: levels) + String(repeating: "]}", count: levels)
    // The innermost object is empty, so it lacks the fields that have no default.
    let error = #expect(throws: ArchiveError.self) { try JSONReader().read(Everything.self, from: Data(text.utf8)) }
    #expect(error?.code == .missingValue)
    let inner = #""number":1,"labels":[]"#
    var json = "{\(inner),\"next\":null}"
    for _ in 1..<ArchiveLimits().depth - 1 { json = "{\(inner),\"next\":\(json)}" }
    let chain = try JSONReader().read(Chain.self, from: Data(json.utf8))
    #expect(try JSONReader().read(JSONWriter().write(chain)) == JSONReader().read(Data(json.utf8)))
  }

  /// A model that contains another one of its type.
  final class Chain: DescribedModel {
    let number: Int
    let labels: [String]
    let next: Chain?
    init(number: Int, labels: [String], next: Chain?) { (self.number, self.labels, self.next) = (number, labels, next) }
    static let fields = Fields(
      Chain.self, version: 1, Field("number", \.number), Field("labels", \.labels), Field("next", \.next),
      make: { Chain(number: $0, labels: $1, next: $2) })
  }

  @Test("A custom type can decode itself from the members of a JSONElement")
  func elements() throws {
    struct Sum: Archivable, Equatable {
      var total: Int
      func write(to writer: inout ArchiveWriter) throws { writer.write(Int64(total)) }
      static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Sum { Sum(total: -1) }
      static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Sum {
        var total = 0
        try element["n"]?.forEachElement { total += try Int.decode(fromJSON: $0, in: context) }
        var keys: [String] = []
        try element.forEachMember { key, value in keys.append("\(key):\(value.kind.rawValue)") }
        #expect(
          keys
            == ["a": "string", "n": "array", "x": "number", "y": "null", "z": "boolean"].sorted { $0.key < $1.key }.map
          { "\($0.key):\($0.value)" })
        #expect(element["x"]?.numberText == "1.50")
        #expect(element["a"]?.stringValue == "é")
        #expect(element["b"]?.isNull == nil)
        return Sum(total: total)
      }
    }
    let text = #"{"a": "\u00e9", "n": [1, 2, 3], "x": 1.50, "y": null, "z": true}"#
    #expect(try JSONReader().read(Sum.self, from: Data(text.utf8)) == Sum(total: 6))
  }
}

private struct Mapped: DescribedModel {
  var homes: [Address]
  var day: Date
  static let fields = Fields(
    Mapped.self, version: 1, Field("homes", \.homes, default: []),
    Field("day", \.day, json: .path("days.first", .date(format: "yyyy-MM-dd"))),
    make: { Mapped(homes: $0, day: $1) })
}
