import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

/// A record whose primary key is a number from the server.
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

/// A record with its own primary key, and the server's id in another column.
struct Note: DescribedModel, Entity, Equatable {
  var key: UUID
  var serverID: Int64?
  var text: String
  /// A property of the app that the server does not have.
  var isPinned = false

  static let fields = Fields(
    Note.self, version: 1, Field("key", \.key, json: .none, default: UUID()), Field("serverID", \.serverID),
    Field("text", \.text), Field("isPinned", \.isPinned, json: .none, default: false),
    make: { Note(key: $0, serverID: $1, text: $2, isPinned: $3) })
  static let entityMapping = EntityMapping(table: "note", keys: ["serverID": ["serverID"]])
}

@Suite("Record ids")
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
    "A local record is renumbered if the server uses its number, and references to it follow")
  func numbers() async throws {
    let (server, _, entities, remote) = try await Self.boxes(["boxes": "[]", "items": "[]"])
    try await entities.save(Box(id: -1, name: "mine"))
    try await entities.save(Item(id: -1, name: "in mine", boxID: -1))
    server.set("boxes", #"[{"id": -1, "name": "theirs"}, {"id": 1, "name": "even"}]"#)
    server.set("items", #"[{"id": 2, "name": "in theirs", "box_id": -1}]"#)
    try await remote.refresh(Box.self)
    try await remote.refresh(Item.self)
    let boxes = try await entities.fetchAll(Box.order(Column("id")))
    #expect(boxes.map(\.name) == ["mine", "theirs", "even"])
    let items = try await entities.fetchAll(Item.order(Column("id")))
    #expect(items.map(\.boxID) == [boxes[0].id, -1])
    #expect(boxes[0].id < -1)
    let key = try await remote.currentKey(of: Int64(-1), Box.self)
    #expect(key == boxes[0].id.databaseValue)
  }

  @Test(
    "A number assigned by the server replaces the local one, even if another new record has that number"
  )
  func exchange() async throws {
    let (server, _, entities, remote) = try await Self.boxes(["boxes": "[]", "items": "[]"])
    // This unusual server gives each record the number that the app uses locally for the other one.
    let ids = Mutex<[String: Int]>(["a": -2, "b": -1])
    server.state.withLock { state in
      state.idOfNew = { body in .int(Int64(ids.withLock { $0[body["name"]?.stringValue ?? ""] } ?? 50)) }
    }
    try await entities.save(Box(id: -1, name: "a"))
    try await entities.save(Box(id: -2, name: "b"))
    try await entities.save(Item(id: -1, name: "in a", boxID: -1))
    let sending = try await remote.send()
    #expect(sending.sent >= 2)
    #expect(
      try await entities.fetchAll(Box.order(Column("id"))) == [Box(id: -2, name: "a"), Box(id: -1, name: "b")])
    #expect(try await entities.fetchAll(Item.all()) == [Item(id: 50, name: "in a", boxID: -2)])
    #expect(server.json("items", "50")?["box_id"] == -2)
  }

  @Test("A new record with a number in the server's range is rejected, however it is inserted")
  func ownNumbers() async throws {
    let (_, queue, entities, remote) = try await Self.boxes([
      "boxes": #"[{"id": 1, "name": "theirs"}]"#, "items": "[]",
    ])
    try await remote.refresh(Box.self)
    let error = await #expect(throws: EntityError.self) { try await entities.save(Box(id: 2, name: "mine")) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("newKey()"))
    await #expect(throws: DatabaseError.self) {
      try await queue.write { db in try db.execute(sql: "INSERT INTO box (name) VALUES ('assigned')") }
    }
    try await entities.save(Box(id: remote.newKey(), name: "mine"))
    // A row from the server can be changed by any SQL statement. These three together count as one update.
    try await queue.write { db in
      try db.execute(sql: "INSERT OR REPLACE INTO box VALUES (1, 'changed')")
      try db.execute(sql: "DELETE FROM box WHERE id = 1")
      try db.execute(sql: "INSERT INTO box VALUES (1, 'again')")
    }
    #expect(try await remote.changes().map(\.kind) == [.insert, .update])
  }

  private static func notes(_ json: String) async throws -> (ModelServer, EntityStore, RemoteStore) {
    let (server, queue) = (ModelServer(["notes": json]), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(
        sql:
          "CREATE TABLE note (key BLOB PRIMARY KEY, serverID INTEGER UNIQUE, text TEXT NOT NULL, isPinned BOOLEAN NOT NULL DEFAULT 0)"
      )
    }
    let entities = try EntityStore(queue, Note.self)
    let mapper = EntityMapper(
      Note.self, keys: ["serverID": "id"], missing: .delete, traits: ServerTraits(honoursIdempotencyKeys: true))
    var configuration = RemoteConfiguration(baseURL: server.base, mappers: mapper, transport: server)
    configuration.retry = .none
    return (server, entities, try await RemoteStore(entities, configuration))
  }

  @Test("A server id can be stored beside the app's own key, which stays, and new records receive it")
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
    try await entities.save(changed, overwriting: true)
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
    "A new record whose response was lost is merged with the record that a refresh returns", arguments: [false, true])
  func lostAnswer(_ editsMeanwhile: Bool) async throws {
    let (server, entities, remote) = try await Self.notes("[]")
    let own = Note(key: UUID(), serverID: nil, text: "c", isPinned: true)
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
      try await entities.save(edited, overwriting: true)
    }
    try await remote.send()
    let all = try await entities.fetchAll(Note.all())
    #expect(all.map(\.serverID) == [9])
    #expect(all.map(\.text) == [editsMeanwhile ? "c2" : "c"])
    #expect(all.map(\.isPinned) == [true])
    #expect(server.count("notes") == 1)
    #expect(server.json("notes", "9")?["text"] == (editsMeanwhile ? "c2" : "c"))
    #expect(try await remote.changes().isEmpty)
  }

  @Test(
    "A copy of a record from before its server id was known is saved as that record",
    arguments: [
      "save", "INSERT OR REPLACE INTO note (key, text) VALUES (?, 'c2')",
      "REPLACE INTO note (key, text) VALUES (?, 'c2')", "UPDATE note SET serverID = NULL, text = 'c2' WHERE key = ?",
      "DELETE", "DELETE, after it was edited",
    ])
  func staleCopies(_ way: String) async throws {
    let (server, entities, remote) = try await Self.notes("[]")
    var own = Note(key: UUID(), serverID: nil, text: "c")
    try await entities.save(own)
    server.state.withLock { $0.idOfNew = { _ in 9 } }
    try await remote.send()
    own.text = "c2"
    let stale = own
    try await entities.writer.write { db in
      if way.hasSuffix("edited") { try db.execute(sql: "UPDATE note SET text = 'c1'") }
      if way.hasPrefix("DELETE") {
        try db.execute(sql: "DELETE FROM note")
        try db.execute(sql: "INSERT INTO note (key, text) VALUES (?, 'c2')", arguments: [stale.key])
      } else if way != "save" {
        try db.execute(sql: way, arguments: [stale.key])
      }
    }
    if way == "save" { try await entities.save(stale, overwriting: true) }
    try await remote.refresh(Note.self)
    try await remote.send()
    #expect(server.count("notes") == 1)
    #expect(server.json("notes", "9")?["text"] == "c2")
    #expect(try await entities.fetchAll(Note.all()).map(\.serverID) == [9])
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A reference to a pending record does not resolve to a local record with the same number")
  func numbersOfOthers() async throws {
    let (server, _, entities, remote) = try await Self.boxes([
      "boxes": #"[{"id": -1, "name": "theirs"}]"#, "items": #"[{"id": 2, "name": "in theirs", "box_id": -1}]"#,
    ])
    try await entities.save(Box(id: -1, name: "mine"))
    try await entities.save(Item(id: -1, name: "in mine", boxID: -1))
    try await remote.refresh(Item.self)
    try await remote.refresh(Box.self)
    server.state.withLock { $0.idOfNew = { _ in 7 } }
    try await remote.send()
    #expect(
      try await entities.fetchAll(Box.order(Column("id"))) == [Box(id: -1, name: "theirs"), Box(id: 7, name: "mine")])
    #expect(try await entities.fetchAll(Item.order(Column("id"))).map(\.boxID) == [-1, 7])
  }

  @Test("A new record deleted while it is sent can be created again under its key", arguments: ["c", "c2"])
  func madeAgain(_ text: String) async throws {
    let (server, entities, remote) = try await Self.notes("[]")
    let own = Note(key: UUID(), serverID: nil, text: "c")
    try await entities.save(own)
    server.state.withLock { state in
      state.idOfNew = { _ in 9 }
      state.fault = { $0.method == "POST" ? .answerLost : nil }
    }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    try await entities.writer.write { db in try db.execute(sql: "DELETE FROM note") }
    server.state.withLock { $0.fault = { $0.method == "POST" ? nil : .lost } }
    await #expect(throws: RemoteError.self) { try await remote.send() }
    server.state.withLock { $0.fault = nil }
    try await entities.save(Note(key: own.key, serverID: nil, text: text), overwriting: true)
    try await remote.send()
    try await remote.refresh(Note.self)
    #expect(try await entities.fetchAll(Note.all()).map(\.text) == [text])
    #expect(server.count("notes") == 1)
    #expect(server.json("notes", "9")?["text"] == .string(text))
    #expect(try await remote.changes().isEmpty)
  }

  @Test("A new record deleted while it is sent can be created again if its key is the id")
  func madeAgainByID() async throws {
    let office = try await Office(ModelServer(["todos": "[]", "projects": "[]"]))
    try await office.entities.save(Todo(myId: "n", title: "c"))
    office.server.state.withLock { $0.fault = { $0.method == "POST" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM todo") }
    office.server.state.withLock { $0.fault = { $0.method == "POST" ? nil : .lost } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    try await office.entities.save(Todo(myId: "n", title: "c2"), overwriting: true)
    try await office.remote.send()
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == ["c2"])
    #expect(office.server.count("todos") == 1)
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test(
    "A new record deleted while it is sent is deleted, even if a refresh returned it meanwhile",
    arguments: [false, true])
  func deletedOnItsWay(isEdited: Bool) async throws {
    let office = try await Office(ModelServer(["todos": "[]", "projects": "[]"]))
    try await office.entities.save(Todo(myId: "n", title: "c"))
    office.server.state.withLock { $0.fault = { $0.method == "POST" ? .answerLost : nil } }
    await #expect(throws: RemoteError.self) { try await office.remote.send() }
    office.server.state.withLock { $0.fault = nil }
    try await office.remote.refresh(Todo.self)
    try await office.writer.write { db in try db.execute(sql: "DELETE FROM todo WHERE myId = 'n'") }
    if isEdited { try await office.edit("s1") { $0.title = "c2" } }
    try await office.remote.send()
    try await office.remote.refresh(Todo.self)
    #expect(try await office.todos().map(\.title) == (isEdited ? ["c2"] : []))
    #expect(office.server.count("todos") == (isEdited ? 1 : 0))
    #expect(try await office.remote.changes().isEmpty)
  }

  @Test("A record with an empty id is rejected")
  func emptyIDs() async throws {
    let office = try await Office(ModelServer(["todos": #"[{"id": "", "title": "a"}]"#]))
    let error = await #expect(throws: RemoteError.self) { try await office.remote.refresh(Todo.self) }
    #expect(error?.code == .invalidBody)
    #expect(try await office.todos().isEmpty)
  }

  /// A record that is also identified by its name.
  struct Memo: DescribedModel, Entity, Equatable {
    var key: Int?
    var serverID: Int?
    var name: String
    var text: String?

    static let fields = Fields(
      Memo.self, version: 1, Field("key", \.key, json: .none), Field("serverID", \.serverID), Field("name", \.name),
      Field("text", \.text), make: { Memo(key: $0, serverID: $1, name: $2, text: $3) })
    static let entityMapping = EntityMapping(table: "memo", keys: ["serverID": ["serverID"], "name": ["name"]])
  }

  @Test(
    "A record created on both sides with the same unique name is merged, and differences conflict",
    arguments: ["mine", "theirs", nil], [false, true])
  func sameName(_ text: String?, _ isLost: Bool) async throws {
    let (server, queue) = (
      ModelServer(["memos": isLost ? "[]" : #"[{"id": 9, "name": "x", "text": "theirs"}]"#]), try DatabaseQueue()
    )
    try await queue.write { db in
      try db.execute(
        sql:
          "CREATE TABLE memo (key INTEGER PRIMARY KEY, serverID INTEGER UNIQUE, name TEXT NOT NULL UNIQUE, text TEXT)")
    }
    let entities = try EntityStore(queue, Memo.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Memo.self, keys: ["serverID": "id"]), transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    var memo = Memo(key: 1, serverID: nil, name: "x", text: isLost ? "theirs" : text)
    try await entities.save(memo, overwriting: true)
    if isLost {
      // The response to the insertion is lost, and the record is edited afterwards.
      server.state.withLock { state in
        state.idOfNew = { _ in 9 }
        state.fault = { $0.method == "POST" ? .answerLost : nil }
      }
      await #expect(throws: RemoteError.self) { try await remote.send() }
      server.state.withLock { $0.fault = nil }
      memo.text = text
      try await entities.save(memo, overwriting: true)
    }
    try await remote.refresh(Memo.self)
    let expected = isLost ? text : text ?? "theirs"
    #expect(try await entities.fetchAll(Memo.all()) == [Memo(key: 1, serverID: 9, name: "x", text: expected)])
    let conflicts = try await remote.conflicts()
    #expect(conflicts.map(\.server) == (text == "mine" && !isLost ? ["theirs"] : []))
    for conflict in conflicts { try await remote.resolve(conflict, .local) }
    try await remote.send()
    #expect(server.count("memos") == 1)
    #expect(server.json("memos", "9")?["text"]?.stringValue == expected)
    #expect(try await remote.changes().isEmpty)
  }
}
