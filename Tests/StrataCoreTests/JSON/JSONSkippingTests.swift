import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Named: DescribedModel, Validating {
  var name: String
  static let fields = Fields(
    Named.self, name: "SkipNamed", version: 1, Field("name", \.name), make: { Named(name: $0) })
  static let validation = Validation<Named>(.check("name", \.name, .nonEmpty))
}

private struct Row: DescribedModel {
  var inner: Named
  var count: Int
  static let fields = Fields(
    Row.self, name: "SkipRow", version: 1, Field("inner", \.inner), Field("count", \.count),
    make: { Row(inner: $0, count: $1) })
}

private struct Table: DescribedModel {
  var rows: [Row]
  static let fields = Fields(
    Table.self, name: "SkipTable", version: 1, Field("rows", \.rows, json: .path("rows").skippingInvalid, default: []),
    make: { Table(rows: $0) })
}

@Suite("JSON: a skipped value does not affect the following ones")
struct JSONSkippingTests {
  /// This JSON breaks a rule in a nested model, and then has a value of the wrong type.
  private static let both = #"{"inner": {"name": ""}, "count": "x"}"#
  private static let good = #"{"inner": {"name": "ok"}, "count": 1}"#
  private static let broken = #"{"inner": {"name": ""}, "count": 2}"#
  private static let text = "[\(both), \(good), \(broken), \(good)]"

  @Test("An element that is invalid for two reasons is skipped without skipping the next one")
  func elements() throws {
    let adapter = try JSONAdapter<Row>()
    #expect(try adapter.decodeArray(Data(Self.text.utf8), onInvalid: { _ in }).map(\.count) == [1, 1])
    var failures: [ArchiveError] = []
    #expect(try adapter.decodeArray(Data(Self.text.utf8), onInvalid: { failures.append($0) }).count == 2)
    #expect(failures.map(\.code) == [.typeMismatch, .invalid])
    #expect(failures.map { $0.codingPath.first } == [.index(0), .index(2)])
    let error = #expect(throws: ArchiveError.self) {
      try adapter.decodeArray(Data(Self.text.utf8), errors: .collectAll)
    }
    #expect(error?.all.map(\.code) == [.typeMismatch, .invalid])
  }

  private static let text2 = #"{"rows": [1, \#(both), \#(good), null, \#(broken), \#(good)]}"#

  /// Every way to decode and validate a table from a document.
  private static let roads: [(name: String, read: @Sendable (Data) throws -> Table)] = [
    ("text", { try Table(fromJSON: $0) }),
    ("value", { try Table(fromJSON: JSONReader().read($0)) }),
    ("adapter", { try JSONAdapter<Table>().decode($0) }),
    ("all errors", { try JSONAdapter<Table>().decode($0, errors: .collectAll) }),
    ("array", { try JSONAdapter<Table>().decodeArray(Data("[".utf8) + $0 + Data("]".utf8)).first ?? Table(rows: []) }),
    ("inside", { try OuterTable(fromJSON: Data(#"{"inner": "#.utf8) + $0 + Data("}".utf8)).inner ?? Table(rows: []) }),
    (
      "transformer",
      { json in
        let model: ReversibleTransformer<ArchiveValue, Table> = .model(try JSONAdapter<Table>())
        return try model.transform(JSONReader().read(json))
      }
    ),
    ("merge of text", { try merged(.json($0)) }),
    ("merge of a value", { try merged(.json(JSONReader().read($0))) }),
  ]

  private static func merged(_ source: MergeSource) throws -> Table {
    var table = Table(rows: [])
    try table.merge(source)
    return table
  }

  @Test(
    "A skippingInvalid field omits malformed and invalid elements in every kind of decoding and merge",
    arguments: roads.map(\.name))
  func field(_ name: String) throws {
    let road = try #require(Self.roads.first { $0.name == name })
    let read = try road.read(Data(Self.text2.utf8)).rows
    #expect(read.map(\.count) == [1, 1] && read.map(\.inner.name) == ["ok", "ok"])
  }

  @Test("Without validation, skippingInvalid keeps elements that break a rule")
  func unvalidated() throws {
    let json = Data(Self.text2.utf8)
    #expect(try Table(fromJSON: json, validates: false).rows.map(\.count) == [1, 2, 1])
    var merged = Table(rows: [])
    try merged.merge(.json(json), options: MergeOptions(validates: false))
    #expect(merged.rows.map(\.count) == [1, 2, 1])
    var adapter = try JSONAdapter<Table>()
    adapter.validates = false
    #expect(try adapter.decode(json).rows.map(\.count) == [1, 2, 1])
  }

  @Test("A broken rule outside a skipping list fails the document, and every failure has its path")
  func beside() throws {
    let json =
      #"{"first": \#(Self.broken), "tables": [{"rows": [\#(Self.both), \#(Self.good)]}], "last": \#(Self.broken)}"#
    let error = #expect(throws: ArchiveError.self) { try Beside(fromJSON: Data(json.utf8)) }
    #expect(error?.code == .invalid)
    #expect(
      error?.failures.map { $0.path } == [
        [.key("first"), .key("inner"), .key("name")], [.key("last"), .key("inner"), .key("name")],
      ])
  }

  @Test("Reaching a limit throws instead of skipping the element")
  func limits() throws {
    let text = #"{"items": [{"depth": 1}, {"depth": 600}, null]}"#
    let error = #expect(throws: ArchiveError.self) { try Depths(fromJSON: Data(text.utf8)) }
    #expect(error?.code == .limitExceeded && error?.codingPath == [.key("items"), .index(1)])
    let skipped = #expect(throws: ArchiveError.self) {
      try JSONAdapter<Depth>().decodeArray(
        Data(#"[null, {"depth": 1}, {"depth": 600}]"#.utf8), onInvalid: { _ in })
    }
    #expect(skipped?.code == .limitExceeded && skipped?.codingPath == [.index(2)])
  }

  @Test("Merging a skippingInvalid list changes only the keys that its elements contain")
  func partial() throws {
    let here = Noted(id: 1, title: "old", note: "mine")
    let list = NotedList(items: [here])
    try list.mergeValues(fromJSON: Data(#"{"items": [null, {"id": 1, "title": "new"}, {"id": "x"}]}"#.utf8))
    #expect(list.items.count == 1 && list.items.first === here)
    #expect(here.title == "new" && here.note == "mine")
  }
}

private struct Beside: DescribedModel {
  var first: Row
  var tables: [Table]
  var last: Row
  static let fields = Fields(
    Beside.self, name: "SkipBeside", version: 1, Field("first", \.first), Field("tables", \.tables),
    Field("last", \.last), make: { Beside(first: $0, tables: $1, last: $2) })
}

/// A model whose hook throws a limit error, as a reader does for a value that is nested too deeply.
private struct Depth: DescribedModel, PostDecoding {
  var depth: Int
  static let fields = Fields(
    Depth.self, name: "SkipDepth", version: 1, Field("depth", \.depth), make: { Depth(depth: $0) })

  mutating func didDecode(from source: DecodingSource) throws {
    if depth > 512 { throw ArchiveError(.limitExceeded, "too deep") }
  }
}

private struct Depths: DescribedModel {
  var items: [Depth]
  static let fields = Fields(
    Depths.self, name: "SkipDepths", version: 1, Field("items", \.items, json: .path("items").skippingInvalid),
    make: { Depths(items: $0) })
}

private final class Noted: DescribedModel, Mergeable {
  static let mergeRules = MergeRules(identity: "id")
  let id: Int
  var title: String
  var note: String?
  init(id: Int, title: String, note: String?) { (self.id, self.title, self.note) = (id, title, note) }
  static let fields = Fields(
    Noted.self, name: "SkipNoted", version: 1, Field("id", \.id), Field("title", \.title),
    Field("note", \.note), make: { Noted(id: $0, title: $1, note: $2) })
}

private final class NotedList: DescribedModel {
  var items: [Noted]
  init(items: [Noted]) { self.items = items }
  static let fields = Fields(
    NotedList.self, name: "SkipNotedList", version: 1, Field("items", \.items, json: .path("items").skippingInvalid),
    make: { NotedList(items: $0) })
}

private struct OuterTable: DescribedModel {
  var inner: Table?
  static let fields = Fields(
    OuterTable.self, name: "SkipOuter", version: 1, Field("inner", \.inner), make: { OuterTable(inner: $0) })
}
