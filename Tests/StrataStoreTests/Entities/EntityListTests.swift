import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@Suite("Entities: lists, join tables and single rows")
struct EntityListTests {
  final class Shop: DescribedModel, Entity {
    let id: Int
    var address: Address?
    var rooms: [Room]
    var tags: [Tag]
    var notes: Set<Note>

    init(_ id: Int, _ address: Address? = nil, _ rooms: [Room] = [], _ tags: [Tag] = [], _ notes: Set<Note> = []) {
      (self.id, self.address, self.rooms, self.tags, self.notes) = (id, address, rooms, tags, notes)
    }

    static let fields = Fields(
      Shop.self, version: 1, Field("id", \.id), Field("address", \.address), Field("rooms", \.rooms, default: []),
      Field("tags", \.tags, default: []), Field("notes", \.notes, default: []), make: { Shop($0, $1, $2, $3, $4) })
    static let entityMapping = EntityMapping(
      table: "shop",
      relations: [
        "address": .toMany(foreignKey: "shopID", removed: .delete),
        "rooms": .toMany(foreignKey: "shopID", order: .column("place"), removed: .delete),
        "tags": .through("shopTag", from: "shopID", to: "tagID", order: .column("place")),
        "notes": .toMany(foreignKey: "shopID", removed: .delete),
      ])
  }

  struct Address: DescribedModel, Entity, Equatable {
    var street: String
    static let fields = Fields(Address.self, version: 1, Field("street", \.street), make: { Address(street: $0) })
    static let entityMapping = EntityMapping(table: "address")
  }

  /// A room also has the key of its shop as a property.
  struct Room: DescribedModel, Entity, Equatable {
    let name: String
    var shopID: Int?
    var chairs: [Chair] = []
    static let fields = Fields(
      Room.self, version: 1, Field("name", \.name), Field("shopID", \.shopID), Field("chairs", \.chairs, default: []),
      make: { Room(name: $0, shopID: $1, chairs: $2) })
    static let entityMapping = EntityMapping(
      table: "room", keys: ["name": ["name"]],
      relations: ["chairs": .toMany(foreignKey: "roomID", order: .by("id"), removed: .delete)])
  }

  struct Chair: DescribedModel, Entity, Equatable {
    let id: Int
    static let fields = Fields(Chair.self, version: 1, Field("id", \.id), make: { Chair(id: $0) })
    static let entityMapping = EntityMapping(table: "chair")
  }

  struct Tag: DescribedModel, Entity, Equatable {
    let name: String
    static let fields = Fields(Tag.self, name: "ShopTag", version: 1, Field("name", \.name), make: { Tag(name: $0) })
    static let entityMapping = EntityMapping(table: "tag", keys: ["name": ["name"]])
  }

  struct Note: DescribedModel, Entity, Hashable {
    let text: String
    static let fields = Fields(Note.self, name: "ShopNote", version: 1, Field("text", \.text), make: { Note(text: $0) })
    static let entityMapping = EntityMapping(table: "note")
  }

  let queue: DatabaseQueue
  let entities: EntityStore

  init() throws {
    queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE shop (id INTEGER PRIMARY KEY);
          CREATE TABLE address (id INTEGER PRIMARY KEY, street TEXT NOT NULL, shopID INTEGER NOT NULL REFERENCES shop(id));
          CREATE TABLE room (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shopID INTEGER NOT NULL REFERENCES shop(id),
            place INTEGER NOT NULL, UNIQUE (shopID, place));
          CREATE TABLE chair (id INTEGER PRIMARY KEY, roomID INTEGER NOT NULL REFERENCES room(id));
          CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
          CREATE TABLE shopTag (
            shopID INTEGER NOT NULL REFERENCES shop(id), tagID INTEGER NOT NULL REFERENCES tag(id), place INTEGER NOT NULL,
            PRIMARY KEY (shopID, tagID));
          CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, shopID INTEGER NOT NULL REFERENCES shop(id));
          """)
    }
    entities = try EntityStore(queue, Shop.self)
  }

  private func fetched(_ id: Int) throws -> Shop {
    try queue.read { db in try #require(try entities.fetchOne(Shop.filter(Column("id") == id), in: db)) }
  }

  @Test("A single child row with a foreign key is inserted, updated and deleted")
  func oneRow() throws {
    try entities.saveNow(Shop(1, Address(street: "a")))
    #expect(try fetched(1).address == Address(street: "a"))
    #expect(try entities.saveNow(Shop(1, Address(street: "a"))).isEmpty)
    #expect(try entities.saveNow(Shop(1, Address(street: "b")))["address"] == .init(updated: 1))
    #expect(try fetched(1).address == Address(street: "b"))
    #expect(try entities.saveNow(Shop(1))["address"] == .init(deleted: 1))
    #expect(try fetched(1).address == nil)
    // Inserts two rows for `address`, which can hold only one.
    try entities.saveNow(Shop(1, Address(street: "b")))
    try queue.write { db in try db.execute(sql: "INSERT INTO address (street, shopID) VALUES ('c', 1)") }
    let error = entityError(.notReadable) { try fetched(1) }
    #expect(error?.path == [.key("address")] && error?.entity == "Shop")
  }

  @Test("An ordered list keeps its order through any change, even if positions are unique")
  func order() throws {
    func rooms(_ names: String) -> [Room] { names.map { Room(name: String($0), shopID: nil) } }
    var last = ""
    for names in ["abc", "cba", "dabc", "bad", "", "abcdef", "fbcdea", "gf", "fg"] {
      let report = try entities.saveNow(Shop(1, nil, rooms(names)))
      #expect(try fetched(1).rooms.map(\.name).joined() == names)
      #expect(report["room"].deleted == last.filter { !names.contains($0) }.count)
      #expect(try entities.saveNow(Shop(1, nil, rooms(names))).isEmpty)
      last = names
    }
    // Removing an element leaves the rows of the other elements unchanged.
    try entities.saveNow(Shop(1, nil, rooms("abcd")))
    #expect(try entities.saveNow(Shop(1, nil, rooms("acd")))["room"] == .init(unchanged: 3, deleted: 1))
  }

  @Test(
    "Reordering a whole list takes a constant number of statements per row, even if positions are unique",
    arguments: [10, 1000])
  func growth(count: Int) throws {
    func rooms(_ numbers: some Sequence<Int>) -> [Room] { numbers.map { Room(name: "\($0)", shopID: nil) } }
    try entities.saveNow(Shop(1, nil, rooms(1...count)))
    let statements = EntityRelationTests.Statements()
    try queue.write { db in db.trace { statements.add("\($0)") } }
    try entities.saveNow(Shop(1, nil, rooms(0...count)))
    #expect(statements.taken().count { $0.hasPrefix("UPDATE") } < 3 * count)
    try entities.saveNow(Shop(1, nil, rooms((0...count).reversed())))
    #expect(statements.taken().count { $0.hasPrefix("UPDATE") } < 6 * count)
    #expect(try fetched(1).rooms.map(\.name) == (0...count).reversed().map { "\($0)" })
  }

  @Test("A foreign key that is also a property must match the list that contains the row")
  func foreignKeyAsProperty() throws {
    try entities.saveNow(Shop(1, nil, [Room(name: "a", shopID: nil), Room(name: "b", shopID: 1)]))
    #expect(try fetched(1).rooms.map(\.shopID) == [1, 1])
    try entities.saveNow(Shop(2))
    let error = entityError(.clash) { try entities.saveNow(Shop(2, nil, [Room(name: "a", shopID: 1)])) }
    #expect(error?.path == [.key("rooms")])
    #expect(try entities.saveNow(Shop(2, nil, [Room(name: "a", shopID: nil)]))["room"].updated == 1)
    #expect(try fetched(1).rooms.map(\.name) == ["b"])
    let alone = entityError(.missingValue) { try entities.saveNow(Room(name: "z", shopID: nil)) }
    #expect(alone?.table == "room")
  }

  @Test("O-16: deleting a list element also deletes the elements of its own lists")
  func deletion() throws {
    let chairs = (1...3).map { Chair(id: $0) }
    try entities.saveNow(Shop(1, nil, [Room(name: "a", shopID: nil, chairs: chairs), Room(name: "b", shopID: nil)]))
    let report = try entities.saveNow(Shop(1, nil, [Room(name: "b", shopID: nil)]))
    #expect(report["room"].deleted == 1 && report["chair"].deleted == 3)
    #expect(try queue.lines("SELECT * FROM chair").isEmpty)
    // A chair that moves to another room in the same save is not deleted.
    try entities.saveNow(Shop(1, nil, [Room(name: "a", shopID: nil, chairs: chairs), Room(name: "b", shopID: nil)]))
    let moved = try entities.saveNow(Shop(1, nil, [Room(name: "b", shopID: nil, chairs: [chairs[0]])]))
    #expect(moved["room"].deleted == 1 && moved["chair"] == .init(updated: 1, deleted: 2))
    #expect(try fetched(1).rooms == [Room(name: "b", shopID: 1, chairs: [chairs[0]])])
  }

  @Test("Saving an ordered many-to-many list inserts and deletes pairs and keeps the entities")
  func pairs() throws {
    func tags(_ names: String) -> [Tag] { names.map { Tag(name: String($0)) } }
    for names in ["abc", "ca", "acb", "", "dcba"] {
      try entities.saveNow(Shop(1, nil, [], tags(names)))
      #expect(try fetched(1).tags.map(\.name).joined() == names)
      #expect(try entities.saveNow(Shop(1, nil, [], tags(names))).isEmpty)
    }
    try entities.saveNow(Shop(2, nil, [], tags("ad")))
    #expect(try queue.lines("SELECT name FROM tag ORDER BY name") == ["a", "b", "c", "d"])
    #expect(try fetched(1).tags.map(\.name).joined() == "dcba")
    let error = entityError(.clash) { try entities.saveNow(Shop(1, nil, [], tags("aa"))) }
    #expect(error?.path == [.key("tags")])
  }

  @Test("U-23: rows that are equal as set elements throw notReadable instead of becoming one element")
  func equalRows() throws {
    try entities.saveNow(Shop(1, nil, [], [], [Note(text: "a"), Note(text: "b")]))
    #expect(try fetched(1).notes == [Note(text: "a"), Note(text: "b")])
    try queue.write { db in try db.execute(sql: "INSERT INTO note (text, shopID) VALUES ('a', 1)") }
    let error = entityError(.notReadable) { try fetched(1) }
    #expect(error?.entity == "Shop" && error?.path.contains(.key("notes")) ?? false, "\(String(describing: error))")
  }

  @Test("JSON updates parts of a graph and distinguishes null, an empty list and an absent key")
  func parts() throws {
    func apply(_ json: String) throws -> EntityReport {
      try queue.write { db in try entities.apply(.json(Data(json.utf8)), to: Shop.self, in: db) }
    }
    _ = try apply(
      #"{"id": 1, "address": {"street": "a"}, "rooms": [{"name": "x", "chairs": [{"id": 1}]}, {"name": "y"}], "tags": [{"name": "t"}]}"#
    )
    #expect(try apply(#"{"id": 1}"#).isEmpty)
    // An existing room keeps its chairs if the document has no `chairs` for it.
    #expect(try apply(#"{"id": 1, "rooms": [{"name": "x"}, {"name": "y"}]}"#).isEmpty)
    #expect(try fetched(1).rooms.map(\.chairs.count) == [1, 0])
    _ = try apply(#"{"id": 1, "address": null, "rooms": [{"name": "x", "chairs": []}]}"#)
    #expect(try fetched(1).rooms.map(\.chairs.count) == [0])
    #expect(try fetched(1).address == nil && fetched(1).tags.count == 1)
    let error = entityError(.invalidSource) {
      try apply(#"{"id": 1, "tags": [{"name": "u"}], "rooms": [{"name": "x"}, {"name": 5}]}"#)
    }
    #expect(error?.entity == "Room" && error?.path == [.key("rooms"), .index(1), .key("name")])
    let list = entityError(.invalidSource) { try apply(#"{"id": 1, "rooms": null}"#) }
    #expect(list?.path == [.key("rooms")])
    #expect(try fetched(1).tags.map(\.name) == ["t"])
  }
}
