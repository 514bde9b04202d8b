import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Inner: DescribedModel, Equatable {
  var name: String
  static let fields = Fields(
    Inner.self, name: "SameInner", version: 1, Field("name", \.name), make: { Inner(name: $0) })
}

private struct Outer: DescribedModel, Equatable {
  var id: Int
  var inner: Inner?
  var day: Date?
  var numbers: [Int] = []
  static let fields = Fields(
    Outer.self, name: "SameOuter", version: 1, Field("id", \.id), Field("inner", \.inner),
    Field("day", \.day, json: .path("dates.day", .date(format: "yyyy-MM-dd"))),
    Field("numbers", \.numbers, default: []),
    make: { Outer(id: $0, inner: $1, day: $2, numbers: $3) })
}

@Suite("JSON: all ways to decode a text agree")
struct JSONSameTextTests {
  private let adapter: JSONAdapter<Outer>
  init() throws { adapter = try JSONAdapter() }

  private func data(_ text: String) -> Data { Data(text.utf8) }

  /// The ways to read a text as one model.
  private func ways(_ text: String) -> [(String, () throws -> Outer)] {
    let adapter = adapter
    return [
      ("fromJSON", { try Outer(fromJSON: data(text)) }), ("decode", { try adapter.decode(data(text)) }),
      ("collectAll", { try adapter.decode(data(text), errors: .collectAll) }),
      ("at", { try adapter.decode(data("{\"a\": [\(text)]}"), at: "a[0]") }),
      ("at, collectAll", { try adapter.decode(data("{\"a\": [\(text)]}"), at: "a[0]", errors: .collectAll) }),
      ("decodeArray", { try adapter.decodeArray(data("[\(text)]"))[0] }),
      ("decodeArray, at", { try adapter.decodeArray(data("{\"a\":[\(text)]}"), at: "a")[0] }),
      ("each", { try adapter.decode(data("{\"a\": [{\"b\": \(text)}]}"), at: "a[0].b") }),
      (
        "merge",
        {
          var outer = Outer(id: 0)
          try adapter.merge(.json(data(text)), into: &outer)
          return outer
        }
      ),
    ]
  }

  @Test(
    "Duplicate keys that no field reads are accepted, whichever way the text is decoded",
    arguments: [
      #"{"id": 1, "x": 1, "x": 2}"#, #"{"id": 1, "x": {"y": 1, "y": 2}}"#,
      #"{"id": 1, "inner": {"name": "a", "x": 1, "x": 2}}"#, #"{"x": [{"y": 1, "y": 2}], "id": 1}"#,
    ])
  func unread(text: String) throws {
    for (name, read) in ways(text) { #expect(throws: Never.self, "\(name)") { try read() } }
    let around = data(#"{"x": 1, "x": 2, "a": "# + text + "}")
    #expect(throws: Never.self) { try adapter.decode(around, at: "a") }
    var failures: [ArchiveError] = []
    #expect(try adapter.decodeArray(data("[\(text), 1]"), onInvalid: { failures.append($0) }).count == 1)
    #expect(failures.map(\.codingPath) == [[.index(1)]])
  }

  @Test(
    "Duplicate keys that a field reads are rejected, and the error has their position",
    arguments: [
      #"{"id": 1, "id": 2}"#, #"{"id": 1, "inner": {"name": "a", "name": "b"}}"#,
      #"{"id": 1, "dates": {}, "dates": {}}"#,
    ])
  func read(text: String) {
    for (name, read) in ways(text) {
      let error = #expect(throws: ArchiveError.self, "\(name)") { try read() }
      #expect(error?.code == .invalidJSON && error?.byteOffset != nil, "\(name)")
    }
    #expect(throws: ArchiveError.self) { try adapter.decode(data(#"{"a": {"id": 1}, "a": {"id": 2}}"#), at: "a") }
    #expect(throws: ArchiveError.self) { try adapter.decodeArray(data(#"{"a": [], "a": [{"id": 2}]}"#), at: "a") }
  }

  @Test("With `collectAll`, a duplicate key that no field reads does not hide other errors")
  func collecting() {
    let text = data(#"{"x": 1, "x": 2, "id": "a", "inner": {"name": 1}}"#)
    let error = #expect(throws: ArchiveError.self) { try adapter.decode(text, errors: .collectAll) }
    #expect(error?.all.map(\.pathDescription) == ["id", "inner.name"])
  }

  /// Returns the rejected input of an error as a value. If a transformer threw the error, the input has the transformer's input type,
  /// here `String`.
  private func refused(_ error: ArchiveError?) -> ArchiveValue? {
    error?.input as? ArchiveValue ?? (error?.input as? String).map { .string($0) }
  }

  @Test(
    "M-3, S-29: the error has the rejected value, line and column, whichever way the text is decoded",
    arguments: [
      (#"{"id": "a"}"#, ArchiveValue.string("a"), "id", 8), (#"{"id": 1.5}"#, .double(1.5), "id", 7),
      (#"{"id": 1, "inner": [1]}"#, [1], "inner", 19), (#"{"id": 1, "inner": {"name": 7}}"#, 7, "inner.name", 28),
      (#"{"id": 1, "dates": {"day": "x"}}"#, "x", "day", 28), (#"{"id": null}"#, .null, "id", 7),
      (#"{"id": 1, "dates": 5}"#, 5, "day", 19), (#"{"id": 1, "numbers": [1, "x"]}"#, "x", "numbers[1]", 26),
    ] as [(String, ArchiveValue, String, Int)])
  func inputs(text: String, input: ArchiveValue, path: String, offset: Int) throws {
    for (name, read) in ways(text) {
      let error = #expect(throws: ArchiveError.self, "\(name)") { try read() }
      let first = error?.all.first
      #expect(refused(first) == input, "\(name): \(String(describing: first?.input))")
      #expect(first?.pathDescription.hasSuffix(path) == true, "\(name): \(first?.pathDescription ?? "")")
      #expect(first?.reason.hasPrefix("line 1, column ") == true, "\(name): \(first?.reason ?? "")")
      if ["fromJSON", "decode", "collectAll", "merge"].contains(name) {
        #expect(first?.byteOffset == offset, "\(name)")
      }
    }
    let value = #expect(throws: ArchiveError.self) { try adapter.decode(JSONReader().read(data(text))) }
    #expect(refused(value) == input, "value: \(String(describing: value?.input))")
  }

  @Test("Errors of clusters include the line and column")
  func clusters() throws {
    let cluster = try JSONCluster<Outer>(by: .key("type"), .model("o", adapter, wrap: { $0 }, unwrap: { $0 }))
    for read in [
      { _ = try cluster.decode(data("{\"type\": \"o\",\n\"id\": \"x\"}")) },
      { _ = try cluster.decodeArray(data("[{\"type\": \"o\",\n\"id\": \"x\"}]")) },
    ] as [() throws -> Void] {
      let error = #expect(throws: ArchiveError.self, performing: read)
      #expect(error?.reason.hasPrefix("line 2, column 8 (in bytes)") == true, "\(error?.reason ?? "")")
      #expect(error?.input as? ArchiveValue == "x")
    }
    let unknown = #expect(throws: ArchiveError.self) { try cluster.decode(data("{\n\"type\": \"p\"}")) }
    #expect(unknown?.reason.hasPrefix("line 2, column 10") == true, "\(unknown?.reason ?? "")")
  }

  @Test("Keys that differ only in Unicode normalization are distinct, whichever way the text is decoded")
  func normalisation() throws {
    let text = "{\"caf\u{E9}\": 1, \"cafe\u{301}\": 2}"
    #expect(try JSONAdapter<ArchiveValue>().decode(data(text)).objectValue?.count == 2)
    let keyed = "{\"id\": 1, \"caf\u{E9}\": 1, \"cafe\u{301}\": 2}"
    for (name, read) in ways(keyed) { #expect(throws: Never.self, "\(name)") { try read() } }
    // Swift compares both keys as equal, so a dictionary cannot contain both.
    for read in [
      { _ = try JSONReader().read([String: Int].self, from: data(text)) },
      { _ = try JSONAdapter<[String: Int]>().decode(data(text)) },
      { _ = try JSONAdapter<[String: Int]>().decode(JSONReader().read(data(text))) },
    ] as [() throws -> Void] {
      #expect(throws: ArchiveError.self, performing: read)
    }
  }
}
