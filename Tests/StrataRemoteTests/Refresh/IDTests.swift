import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Synchronization
import Testing

/// Numbers as primary keys, which the server chooses.
struct Box: DescribedModel, Entity, Equatable {
  var id: Int64
  var name: String

  static let fields = Fields(
    Box.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Box(id: $0, name: $1) })
  static let entityMapping = EntityMapping(table: "box")
}

struct Item: DescribedModel, Entity, Equatable {
  var id: Int64
  var name: String
  var boxID: Int64?

  static let fields = Fields(
    Item.self, version: 1, Field("id", \.id), Field("name", \.name), Field("boxID", \.boxID),
    make: { Item(id: $0, name: $1, boxID: $2) })
  static let entityMapping = EntityMapping(table: "item")
}

/// A primary key of its own, and the server's id beside it.
struct Note: DescribedModel, Entity, Equatable {
  var key: UUID
  var serverID: Int64?
  var text: String

  static let fields = Fields(
    Note.self, version: 1, Field("key", \.key, json: .none, default: UUID()), Field("serverID", \.serverID),
    Field("text", \.text),
    make: { Note(key: $0, serverID: $1, text: $2) })
  static let entityMapping = EntityMapping(table: "note", keys: ["serverID": ["serverID"]])
}

@Suite("Ids of records")
struct IDTests {
  private static func boxes(_ lists: [String: String], _ configure: (inout RemoteConfiguration) -> Void = { _ in })
    async throws -> (ModelServer, DatabaseQueue, EntityStore, RemoteStore)
  {
    let (server, queue) = (ModelServer(lists), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE box (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boxID INTEGER REFERENCES box(id));
          """)
    }
    let entities = try EntityStore(queue, Box.self, Item.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Box.self, path: "boxes"),
      EntityMapper(Item.self, keys: ["boxID": "box_id"]), transport: server)
    configuration.retry = .none
    configure(&configuration)
    return (server, queue, entities, try await RemoteStore(entities, configuration))
  }

  @Test(
    "A record made here gives way where the server uses its number for another one, and rows that lead to it follow")
  func numbers() async throws {
    let (server, _, entities, remote) = try await Self.boxes(["boxes": "[]", "items": "[]"])
    try await entities.save(Box(id: 1, name: "mine"))
    try await entities.save(Item(id: 1, name: "in mine", boxID: 1))
    server.set("boxes", #"[{"id": 1, "name": "theirs"}, {"id": -1, "name": "odd"}]"#)
    server.set("items", #"[{"id": 2, "name": "in theirs", "box_id": 1}]"#)
    try await remote.refresh(Box.self)
    try await remote.refresh(Item.self)
    let boxes = try await entities.fetchAll(Box.order(Column("id")))
    #expect(boxes.map(\.name) == ["mine", "odd", "theirs"])
    let items = try await entities.fetchAll(Item.order(Column("id")))
    #expect(items.map(\.boxID) == [boxes[0].id, 1])
    #expect(boxes[0].id < -1)
    let key = try await remote.currentKey(of: Int64(1), Box.self)
    #expect(key == boxes[0].id.databaseValue)
  }

  @Test(
    "A number that the server gives takes the place of the one from here, also where it is another's that was made here"
  )
  func exchange() async throws {
    let (server, _, entities, remote) = try await Self.boxes(["boxes": "[]", "items": "[]"])
    // The server counts from 1 as the app does, in another order.
    let ids = Mutex<[String: Int]>(["a": 2, "b": 1])
    server.state.withLock { state in
      state.idOfNew = { body in .int(Int64(ids.withLock { $0[body["name"]?.stringValue ?? ""] } ?? 50)) }
    }
    try await entities.save(Box(id: 1, name: "a"))
    try await entities.save(Box(id: 2, name: "b"))
    try await entities.save(Item(id: 1, name: "in a", boxID: 1))
    let sending = try await remote.send()
    #expect(sending.sent >= 2)
    #expect(
      try await entities.fetchAll(Box.order(Column("id"))) == [Box(id: 1, name: "b"), Box(id: 2, name: "a")])
    #expect(try await entities.fetchAll(Item.all()) == [Item(id: 50, name: "in a", boxID: 2)])
    #expect(server.json("items", "50")?["box_id"] == 2)
  }

  private static func notes(_ json: String) async throws -> (ModelServer, EntityStore, RemoteStore) {
    let (server, queue) = (ModelServer(["notes": json]), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(sql: "CREATE TABLE note (key BLOB PRIMARY KEY, serverID INTEGER UNIQUE, text TEXT NOT NULL)")
    }
    let entities = try EntityStore(queue, Note.self)
    let mapper = EntityMapper(Note.self, keys: ["serverID": "id"])
    var configuration = RemoteConfiguration(baseURL: server.base, mappers: mapper, transport: server)
    configuration.retry = .none
    return (server, entities, try await RemoteStore(entities, configuration))
  }

  @Test("The server's id may stand beside a key of the app's, which stays; a record made here gets it")
  func beside() async throws {
    let (server, entities, remote) = try await Self.notes(#"[{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]"#)
    #expect(try await remote.refresh(Note.self).inserted == 2)
    let known = try await entities.fetchAll(Note.order(Column("serverID")))
    #expect(Set(known.map(\.key)).count == 2)
    server.edit("notes", "1", #"{"text": "a2"}"#)
    #expect(try await remote.refresh(Note.self).updated == 1)
    #expect(try await entities.fetchAll(Note.order(Column("serverID"))).map(\.key) == known.map(\.key))
    let own = Note(key: UUID(), serverID: nil, text: "c")
    try await entities.save(own)
    var changed = known[1]
    changed.text = "b2"
    try await entities.save(changed)
    server.state.withLock { $0.idOfNew = { _ in 3 } }
    #expect(try await remote.send().sent == 2)
    let all = try await entities.fetchAll(Note.order(Column("serverID")))
    #expect(all.map(\.serverID) == [1, 2, 3])
    #expect(all.last?.key == own.key)
    #expect(server.json("notes", "3")?["text"] == "c")
    #expect(server.json("notes", "2")?["text"] == "b2")
    server.set("notes", #"[{"id": 3, "text": "c"}]"#)
    #expect(try await remote.refresh(Note.self).deleted == 2)
    #expect(try await remote.changes().isEmpty)
  }

  @Test(
    "A record whose answer got lost and that comes by a refresh is one record in the end", arguments: [false, true])
  func lostAnswer(_ editsMeanwhile: Bool) async throws {
    let (server, entities, remote) = try await Self.notes("[]")
    let own = Note(key: UUID(), serverID: nil, text: "c")
    try await entities.save(own)
    server.state.withLock { state in
      state.idOfNew = { _ in 9 }
      state.fault = { $0.method == "POST" ? .answerLost : nil }
    }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    try await remote.refresh(Note.self)
    if editsMeanwhile {
      var edited = own
      edited.text = "c2"
      try await entities.save(edited)
    }
    try await remote.send()
    let all = try await entities.fetchAll(Note.all())
    #expect(all.map(\.serverID) == [9])
    #expect(all.map(\.text) == [editsMeanwhile ? "c2" : "c"])
    #expect(server.count("notes") == 1)
    #expect(server.json("notes", "9")?["text"] == (editsMeanwhile ? "c2" : "c"))
    #expect(try await remote.changes().isEmpty)
  }
}
