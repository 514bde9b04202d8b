import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

struct Size: DescribedModel, Equatable {
  var width: Int
  var height: Int
  var unit: String?

  static let fields = Fields(
    Size.self, version: 1, Field("width", \.width), Field("height", \.height), Field("unit", \.unit),
    make: { Size(width: $0, height: $1, unit: $2) })
}

struct Sheet: DescribedModel, Entity, Equatable {
  var id: String
  var size: Size
  var tags: [String] = []

  static let fields = Fields(
    Sheet.self, version: 1, Field("id", \.id), Field("size", \.size, merge: .recursive),
    Field("tags", \.tags, merge: .union, default: []), make: { Sheet(id: $0, size: $1, tags: $2) })
  static let entityMapping = EntityMapping(table: "sheet")
}

@Suite("Models stored in columns")
struct PartTests {
  private let server = ModelServer([
    "sheets": #"[{"id": "1", "size": {"width": 1, "height": 2, "unit": "m"}, "tags": ["a"]}]"#
  ])
  private let entities: EntityStore
  private let remote: RemoteStore

  init() async throws {
    let queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(sql: "CREATE TABLE sheet (id TEXT PRIMARY KEY, size BLOB NOT NULL, tags BLOB)")
    }
    entities = try EntityStore(queue, Sheet.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Sheet.self), transport: server)
    configuration.retry = .none
    remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Sheet.self)
  }

  private var sheet: Sheet? {
    get async throws { try await remote.cached(Sheet.all()).first }
  }

  @Test("Edits of different values in one column merge, and only the local ones are sent")
  func otherValues() async throws {
    var sheet = try #require(try await sheet)
    sheet.size.width = 10
    sheet.tags = ["a", "mine"]
    try await entities.save(sheet, overwriting: true)
    server.edit("sheets", "1", #"{"size": {"height": 20}, "tags": ["a", "theirs"]}"#)
    try await remote.send()
    let patch = try #require(server.requests.last { $0.method == "PATCH" }?.body)
    let json = try JSONReader().read(patch)
    #expect(json["size"] == ["width": 10])
    #expect(Set(json["tags"]?.arrayValue ?? []) == ["a", "theirs", "mine"])
    #expect(server.json("sheets", "1")?["size"] == ["width": 10, "height": 20, "unit": "m"])
    #expect(try await self.sheet?.size == Size(width: 10, height: 20, unit: "m"))
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A conflict about one value of a column does not hold back the other values")
  func conflict() async throws {
    var sheet = try #require(try await sheet)
    sheet.size = Size(width: 10, height: 11, unit: nil)
    try await entities.save(sheet, overwriting: true)
    server.edit("sheets", "1", #"{"size": {"height": 20}}"#)
    try await remote.send()
    #expect(server.json("sheets", "1")?["size"] == ["width": 10, "height": 20])
    let conflict = try #require(try await remote.conflicts().first)
    #expect((conflict.path, conflict.base, conflict.local, conflict.server) == ("size.height", 2, 11, 20))
    // Another refresh keeps the conflict, and shows the server's latest value.
    server.edit("sheets", "1", #"{"size": {"height": 30}}"#)
    try await remote.refresh(Sheet.self)
    #expect(try await remote.conflicts().map(\.server) == [30])
    #expect(try await self.sheet?.size == Size(width: 10, height: 11, unit: nil))
    try await remote.resolve(conflict, .local)
    try await remote.send()
    #expect(server.json("sheets", "1")?["size"]?["height"] == 11)
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A conflict ends when both sides agree")
  func agreement() async throws {
    var sheet = try #require(try await sheet)
    sheet.size.height = 11
    try await entities.save(sheet, overwriting: true)
    server.edit("sheets", "1", #"{"size": {"height": 20}}"#)
    try await remote.refresh(Sheet.self)
    #expect(try await remote.conflicts().count == 1)
    server.edit("sheets", "1", #"{"size": {"height": 11}}"#)
    try await remote.refresh(Sheet.self)
    #expect(try await remote.conflicts().isEmpty)
    try await remote.send()
    #expect(try await remote.changes().isEmpty)
    #expect(server.lines.filter { !$0.hasPrefix("GET") }.isEmpty)
  }
}
