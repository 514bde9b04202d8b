import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Entities: relations and keys")
struct EntityRelationTests {
  /// Records the statements that a database runs.
  final class Statements: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []
    func add(_ line: String) { lock.withLock { lines.append(line) } }
    /// Returns the statements since the last call, except queries about the schema.
    func taken() -> [String] {
      lock.withLock {
        defer { lines = [] }
        return lines.filter { line in
          !["SAVEPOINT", "RELEASE", "BEGIN", "COMMIT", "PRAGMA"].contains { line.hasPrefix($0) }
            && !line.contains("sqlite_") && !line.contains("pragma_")
        }
      }
    }
  }

  private func world() throws -> (DatabaseQueue, EntityStore, Statements) {
    let statements = Statements()
    let queue = try database { db in
      try worldTables(db)
      db.trace { statements.add("\($0)") }
    }
    return (queue, try EntityStore(queue, Team.self), statements)
  }

  private func team(_ id: Int, players: Range<Int>) -> Team {
    let team = Team(id, "team", players.map { Player($0, "p\($0)") }, [Badge(code: "b\(id)", title: nil)])
    for player in team.members { player.team = team }
    team.captain = team.members.first
    return team
  }

  @Test(
    "O-18, U-23: the number of queries does not depend on the number of objects", .tags(.long),
    arguments: Effort.isLong ? [10, 1000, 10_000] : [10, 1000])
  func constantQueries(count: Int) throws {
    let (queue, entities, statements) = try world()
    let teams = (0..<count / 10).map { team($0, players: $0 * 10..<$0 * 10 + 9) }
    _ = statements.taken()
    try entities.saveNow(teams)
    let first = statements.taken()
    // A new row has no relations to read, so only keys are looked up.
    #expect(first.filter { $0.hasPrefix("SELECT") }.count == 3)
    #expect(first.filter { $0.hasPrefix("INSERT") }.count == count / 10 * 12)
    // The captain of a team is also a member, so one of the two foreign keys is set by a later update.
    #expect(first.filter { $0.hasPrefix("UPDATE") }.count <= count / 10)
    #expect(try entities.saveNow(teams).isEmpty)
    let second = statements.taken()
    // Three queries look up keys. The others read members, cards, and badges joined with their pairs.
    #expect(second.filter { $0.hasPrefix("SELECT") }.count == 6, "\(second.map { $0.prefix(60) + $0.suffix(160) })")
    #expect(second.count == 6)
    let found = try queue.read { db in try entities.fetchAll(Team.all(), in: db) }
    #expect(found.count == count / 10)
    // Each level of objects takes one query per relation.
    #expect(statements.taken().count <= 12)
  }

  @Test("O-25: an object that moves between lists stays one row, whichever list is saved first")
  func move() throws {
    for order in [[0, 1], [1, 0]] {
      let (queue, entities, _) = try world()
      let teams = [team(0, players: 0..<3), team(1, players: 3..<5)]
      try entities.saveNow(teams)
      let player = teams[0].members.remove(at: 1)
      teams[1].members.insert(player, at: 0)
      player.team = teams[1]
      try entities.saveNow(order.map { teams[$0] })
      #expect(
        try queue.lines("SELECT teamID, id FROM person ORDER BY teamID, place") == ["0|0", "0|2", "1|1", "1|3", "1|4"])
    }
  }

  @Test("O-25: contradictory sides of a relation throw an error that names them")
  func contradictions() throws {
    let (queue, entities, _) = try world()
    let (one, two) = (team(0, players: 0..<2), team(1, players: 2..<4))
    try entities.saveNow([one, two])
    func check(_ text: String, _ change: () -> Void, _ line: Int = #line) throws {
      change()
      let error = entityError(.clash) { try entities.saveNow([one, two]) }
      #expect(error?.description.contains(text) ?? false, "\(String(describing: error)), line \(line)")
    }
    let player = one.members[0]
    try check("refers to a different owner") { player.team = two }
    player.team = one
    try check("is also in another row's list") {
      two.members.append(player)
      player.team = nil
    }
    try check("whose list does not contain the object") {
      one.members.removeAll { $0 === player }
      two.members.removeAll { $0 === player }
      one.captain = player
      player.team = one
    }
    try check("have the same key and represent the same row; remove one of them") {
      player.team = nil
      one.members = [player, player]
    }
    one.members = [player, Player(1, "p1")]
    try check("two objects represent the same row but have different values") { two.captain = Player(0, "another") }
    #expect(
      try queue.lines("SELECT teamID, id, name FROM person ORDER BY teamID, place") == [
        "0|0|p0", "0|1|p1", "1|2|p2", "1|3|p3",
      ])
  }

  @Test("A list of entities without a key inserts new elements and deletes removed ones")
  func withoutKey() throws {
    let (queue, entities, _) = try world()
    let player = Player(1, "a", 1, nil, nil, ["x", "y", "x"].map { Card(text: $0) })
    try entities.saveNow(player)
    player.cards = ["x", "x", "z", "y"].map { Card(text: $0) }
    try queue.write { db in
      let report = try entities.save(player, in: db)
      #expect(report["card"].inserted == 1 && report["card"].deleted == 0)
      player.cards.removeFirst(2)
      #expect(try entities.save(player, in: db)["card"] == .init(unchanged: 2, deleted: 2))
      player.cards = []
      #expect(try entities.save(player, in: db)["card"] == .init(deleted: 2))
    }
  }

  @Test("O-21, U-23: two rows can swap unique values; a clash with a third row throws and changes nothing")
  func unique() throws {
    struct User: DescribedModel, Entity, Equatable {
      let id: Int
      var email: String
      var rank: Int
      static let fields = Fields(
        User.self, version: 1, Field("id", \.id), Field("email", \.email), Field("rank", \.rank),
        make: { User(id: $0, email: $1, rank: $2) })
      static let entityMapping = EntityMapping(table: "user", keys: ["email": ["email"]])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE user (id INTEGER PRIMARY KEY, email TEXT NOT NULL COLLATE NOCASE UNIQUE, rank INTEGER NOT NULL UNIQUE)
          """)
    }
    let entities = try EntityStore(queue, User.self)
    let users = (1...3).map { User(id: $0, email: "u\($0)@x", rank: $0) }
    try entities.saveNow(users)
    let swapped = [User(id: 1, email: "u1@x", rank: 2), User(id: 2, email: "u2@x", rank: 1)]
    #expect(try entities.saveNow(swapped)["user"].updated == 2)
    #expect(try queue.lines("SELECT rank FROM user ORDER BY id") == ["2", "1", "3"])
    let error = entityError(.clash) {
      try queue.write { db in
        try entities.save([User(id: 1, email: "u1@x", rank: 7), User(id: 2, email: "u2@x", rank: 3)], in: db)
      }
    }
    #expect(error?.columns == ["rank"] && error?.path == [.index(1), .key("rank")], "\(String(describing: error))")
    #expect(try queue.lines("SELECT rank FROM user ORDER BY id") == ["2", "1", "3"])
    // The saved object's keys match two different rows, or one row with another primary key.
    try queue.write { db in
      entityError(.clash) { try entities.save(User(id: 1, email: "U2@X", rank: 9), in: db) }
      entityError(.clash) { try entities.save(User(id: 8, email: "u2@x", rank: 9), in: db) }
      // If a save matches rows by one key only, it may change the other key, unless that is the primary key.
      let moved = try entities.save(User(id: 3, email: "new@x", rank: 3), matching: ["primaryKey"], in: db)
      #expect(moved.changes.map(\.columns) == [["email"]])
      entityError(.clash) { try entities.save(User(id: 8, email: "u2@x", rank: 9), matching: ["email"], in: db) }
      entityError(.invalidMapping) { try entities.save(users, matching: ["mail"], in: db) }
      // Objects in one save are also compared with SQLite's collation, so these two emails are the same.
      let same = try entities.apply(
        .json([["id": 20, "email": "A@b", "rank": 20], ["email": "a@B", "rank": 21]]), to: User.self, in: db)
      #expect(same["user"] == .init(inserted: 1))
      #expect(try User.fetchOne(db, key: 20) == User(id: 20, email: "a@B", rank: 21))
    }
  }

  @Test("O-18: a key can include a relation, and a tree of such keys is matched level by level")
  func keysOfRelations() throws {
    final class Folder: DescribedModel, Entity {
      var name: String
      var parent: Folder?
      init(_ name: String, _ parent: Folder?) { (self.name, self.parent) = (name, parent) }
      static let fields = Fields(
        Folder.self, name: "Directory", version: 1, Field("name", \.name), Field("parent", \.parent),
        make: { Folder($0, $1) })
      static let entityMapping = EntityMapping(
        table: "folder", keys: ["path": ["parent", "name"]], relations: ["parent": .toOne("parentID")])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE folder (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, parentID INTEGER REFERENCES folder(id), UNIQUE (parentID, name));
          INSERT INTO folder VALUES (1, 'root', NULL), (2, 'a', 1);
          """)
    }
    let entities = try EntityStore(queue, Folder.self)
    let report = try queue.write { db in
      let root = try #require(try entities.fetchOne(Folder.filter(Column("id") == 1), in: db))
      #expect(try entities.save(root, in: db).isEmpty)
      // All objects are new, but the folders root and a already have rows. The leaf x occurs twice.
      func leaf(_ name: String) -> Folder { Folder(name, Folder("b", Folder("a", Folder("root", nil)))) }
      return try entities.save([leaf("x"), leaf("y"), leaf("x"), Folder("other root", nil)], in: db)
    }
    #expect(report["folder"] == .init(inserted: 4, unchanged: 2))
    let lines = try queue.lines("SELECT name, parentID FROM folder ORDER BY id")
    #expect(
      lines.sorted() == [
        "a|1", "b|2", "other root|-", "root|-", "x|\(lines.firstIndex(of: "b|2")! + 1)",
        "y|\(lines.firstIndex(of: "b|2")! + 1)",
      ])
    // SQLite allows two folders of the same name if their parent is null.
    try queue.write { db in
      try db.execute(sql: "INSERT INTO folder (name) VALUES ('root')")
      entityError(.clash) { try entities.save(Folder("root", nil), in: db) }
    }
  }

  @Test("Composite, text and absent primary keys work, as do foreign keys to other columns")
  func otherKeys() throws {
    struct Item: DescribedModel, Entity, Equatable {
      let shop: String
      let number: Int
      var name: String
      static let fields = Fields(
        Item.self, version: 1, Field("shop", \.shop), Field("number", \.number), Field("name", \.name),
        make: { Item(shop: $0, number: $1, name: $2) })
      static let entityMapping = EntityMapping(table: "item")
    }
    final class Owner: DescribedModel, Entity {
      let code: String
      var pets: [Pet]
      init(_ code: String, _ pets: [Pet]) { (self.code, self.pets) = (code, pets) }
      static let fields = Fields(
        Owner.self, version: 1, Field("code", \.code), Field("pets", \.pets, default: []), make: { Owner($0, $1) })
      static let entityMapping = EntityMapping(
        table: "owner", keys: ["code": ["code"]],
        relations: ["pets": .toMany(foreignKey: "OWNERCODE", order: .byDescending("name"), removed: .keep)])
    }
    struct Pet: DescribedModel, Entity, Equatable {
      let name: String
      static let fields = Fields(Pet.self, version: 1, Field("name", \.name), make: { Pet(name: $0) })
      static let entityMapping = EntityMapping(table: "pet", keys: ["name": ["name"]])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE item (shop TEXT, number INTEGER, name TEXT NOT NULL, PRIMARY KEY (shop, number)) WITHOUT ROWID;
          CREATE TABLE owner (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE);
          CREATE TABLE pet (name TEXT NOT NULL UNIQUE, ownerCode TEXT REFERENCES owner(code));
          """)
    }
    let entities = try EntityStore(queue, Item.self, Owner.self)
    try queue.write { db in
      let items = [Item(shop: "a", number: 1, name: "x"), Item(shop: "a", number: 2, name: "y")]
      try entities.save(items, in: db)
      let report = try entities.save([items[0], Item(shop: "a", number: 2, name: "z")], in: db)
      #expect(report["item"] == .init(updated: 1, unchanged: 1))
      #expect(report.changes.first?.primaryKey == ["a".databaseValue, 2.databaseValue])
      #expect(try entities.fetchAll(Item.order(Column("number")), in: db).map(\.name) == ["x", "z"])
      try entities.save(Owner("o", [Pet(name: "cat"), Pet(name: "dog")]), in: db)
      try entities.save(Owner("o", [Pet(name: "eel")]), in: db)
      let owner = try #require(try entities.fetchOne(Owner.all(), in: db))
      #expect(owner.pets.map(\.name) == ["eel", "dog", "cat"])
      #expect(try entities.save(owner, in: db).isEmpty)
    }
  }

  @Test("O-20: merge policies and hooks apply if a source matches an existing row")
  func policies() throws {
    struct Counter: DescribedModel, Entity, KeyMerging, Equatable {
      let id: Int
      var note: String?
      var high: Int
      var title: String
      var parts: [Part]
      static let fields = Fields(
        Counter.self, version: 1, Field("id", \.id), Field("note", \.note, merge: .keepLocal),
        Field("high", \.high, merge: .max), Field("title", \.title),
        Field("parts", \.parts, merge: .byID("name", unlisted: .keep), default: []),
        make: { Counter(id: $0, note: $1, high: $2, title: $3, parts: $4) })
      static let entityMapping = EntityMapping(table: "counter")
      mutating func mergeValue(forKey key: String, from source: Counter) throws -> Bool {
        guard key == "title" else { return false }
        title += "+" + source.title
        return true
      }
    }
    let queue = try database { db in
      try db.execute(
        sql:
          "CREATE TABLE counter (id INTEGER PRIMARY KEY, note TEXT, high INTEGER NOT NULL, title TEXT NOT NULL, parts BLOB)"
      )
    }
    let entities = try EntityStore(queue, Counter.self)
    try queue.write { db in
      try entities.save(Counter(id: 1, note: "mine", high: 5, title: "a", parts: [Part(name: "p", weight: 1)]), in: db)
      let source = Counter(id: 1, note: nil, high: 3, title: "b", parts: [Part(name: "q", weight: nil)])
      try entities.apply(.model(source), to: Counter.self, in: db)
      #expect(
        try entities.fetchAll(Counter.all(), in: db) == [
          Counter(
            id: 1, note: "mine", high: 5, title: "a+b",
            parts: [Part(name: "p", weight: 1), Part(name: "q", weight: nil)])
        ])
      // The document contains only some of the properties.
      try entities.apply(.json(["id": 1, "high": 9, "parts": [["name": "p"]]]), to: Counter.self, in: db)
      #expect(
        try entities.fetchAll(Counter.all(), in: db) == [
          Counter(
            id: 1, note: "mine", high: 9, title: "a+b",
            parts: [Part(name: "p", weight: 1), Part(name: "q", weight: nil)])
        ])
      // A saved value replaces the row's value.
      try entities.save(source, in: db)
      #expect(try entities.fetchAll(Counter.all(), in: db) == [source])
    }
  }

  @Test("Validation runs on the merged row, and the values it replaces are stored")
  func rules() throws {
    struct Account: DescribedModel, Entity, Validating, Equatable {
      let id: Int
      var name: String
      var stars: Int
      static let fields = Fields(
        Account.self, version: 1, Field("id", \.id), Field("name", \.name), Field("stars", \.stars, default: 0),
        make: { Account(id: $0, name: $1, stars: $2) })
      static let entityMapping = EntityMapping(table: "account")
      static let validation = Validation<Account>(
        .check("name", \.name, .nonEmpty), .replace("stars", \.stars) { max(0, $0) })
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT NOT NULL, stars INTEGER NOT NULL)")
    }
    let entities = try EntityStore(queue, Account.self)
    try queue.write { db in
      try entities.apply(
        .json([["id": 1, "name": "a"], ["id": 2, "name": "b", "stars": -5]]), to: Account.self, in: db)
      #expect(try Int.fetchAll(db, sql: "SELECT stars FROM account ORDER BY id") == [0, 0])
      let error = entityError(.invalid) {
        try entities.apply(.json([["id": 1, "stars": 7], ["id": 2, "name": ""]]), to: Account.self, in: db)
      }
      #expect(error?.entity == "Account" && error?.path.first == .index(1), "\(String(describing: error))")
      #expect((error?.underlyingError as? ArchiveError)?.code == .invalid)
      #expect(try Int.fetchAll(db, sql: "SELECT stars FROM account ORDER BY id") == [0, 0])
    }
  }

  @Test("O-12: each row is read as the class that its type column names")
  func subclasses() throws {
    let queue = try database { db in
      try db.execute(
        sql: "CREATE TABLE vehicle (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, doors INTEGER)")
    }
    let entities = try EntityStore(queue, Vehicle.self, Car.self)
    try queue.write { db in
      try entities.save([Vehicle(1, "bike"), Car(2, "car", doors: 4)], in: db)
      let found = try entities.fetchAll(Vehicle.order(Column("id")), in: db)
      #expect(found.map { type(of: $0) == Car.self } == [false, true])
      #expect((found[1] as? Car)?.doors == 4)
      #expect(try entities.save(found, in: db).isEmpty)
    }
  }

  @Test("A document without a class updates the columns of the existing row's class")
  func documentsOfSubclasses() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE vehicle (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, doors INTEGER,
            trailerID INTEGER REFERENCES vehicle(id))
          """)
    }
    let entities = try EntityStore(queue, Vehicle.self, Car.self, Truck.self)
    try queue.write { db in
      let truck = Truck(3, "truck", trailer: nil)
      try entities.save([Vehicle(1, "bike"), Car(2, "car", doors: 4), truck], in: db)
      let list = #"[{"id": 1, "name": "b", "doors": "many"}, {"id": 2, "doors": 5}, {"id": 3, "name": "t"}]"#
      let report = try entities.apply(.json(Data(list.utf8)), to: Vehicle.self, in: db)
      #expect(report.changes.map(\.columns) == [["name"], ["doors"], ["name"]])
      let found = try entities.fetchAll(Vehicle.order(Column("id")), in: db)
      #expect(found.map(\.name) == ["b", "car", "t"])
      #expect((found[1] as? Car)?.doors == 5)

      let wrong = #expect(throws: EntityError.self) {
        try entities.apply(.json(Data(#"[{"id": 2, "doors": "many"}]"#.utf8)), to: Vehicle.self, in: db)
      }
      #expect(wrong?.path == [.index(0), .key("doors")])
      #expect(wrong?.entity == "Car")
      let lost = #expect(throws: EntityError.self) {
        try entities.apply(
          .json(Data(#"[{"id": 3, "name": "x", "trailer": {"id": 1}}]"#.utf8)), to: Vehicle.self, in: db)
      }
      #expect(lost?.path == [.index(0), .key("trailer")])
      try entities.apply(
        .json(Data(#"[{"id": 3, "name": "x", "trailer": {"id": 1}}]"#.utf8)), to: Truck.self, in: db)
      let trailer = try entities.fetchOne(Truck.filter(Column("id") == 3), in: db)?.trailer
      #expect(trailer?.name == "b")
    }
  }

  @Test("forEach fetches entities in batches, each with its relations")
  func parts() throws {
    let (queue, entities, _) = try world()
    try entities.saveNow((0..<25).map { team($0, players: $0 * 2..<$0 * 2 + 2) })
    try queue.read { db in
      var counts: [Int] = []
      var ids: [Int] = []
      try entities.forEach(Team.order(Column("id").desc), batchSize: 10, in: db) { teams in
        counts.append(teams.count)
        ids += teams.map(\.id)
        #expect(teams.allSatisfy { $0.members.count == 2 && $0.captain === $0.members[0] })
      }
      #expect(counts == [10, 10, 5] && ids == Array((0..<25).reversed()))
    }
  }

  @Test("A GRDB observation sees saved rows and can fetch entities")
  func observing() async throws {
    let (queue, entities, _) = try world()
    let observation = ValueObservation.tracking { db in
      try entities.fetchAll(Team.order(Column("id")), in: db).map(\.name)
    }
    var seen: [[String]] = []
    for try await names in observation.values(in: queue) {
      seen.append(names)
      if seen.count == 1 { try await entities.save(Team(1, "a")) }
      if names == ["a"] { try await entities.apply(.json(["id": 1, "name": "b"]), to: Team.self) }
      if names == ["b"] { break }
    }
    #expect(seen.first == [] && seen.last == ["b"])
  }
}

class Vehicle: VersionedModel, Entity {
  let id: Int
  var name: String
  var kind: String { "vehicle" }

  init(_ id: Int, _ name: String) { (self.id, self.name) = (id, name) }
  class var schema: ModelSchema { vehicleSchema }
  private static let vehicleSchema = ModelSchema(
    Vehicle.self, name: "Vehicle", version: 1,
    fields: [FieldInfo("kind", String.self), FieldInfo("id", Int.self), FieldInfo("name", String.self)])
  required init(fields reader: inout ArchiveReader) throws {
    _ = try reader.field(0) as String
    id = try reader.field(1)
    name = try reader.field(2)
  }
  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, kind)
    try writer.field(1, id)
    try writer.field(2, name)
  }
  func adoptFields(of other: Vehicle) throws { name = other.name }
  class var entityMapping: EntityMapping { mapping(relations: [:]) }
  fileprivate static func mapping(relations: [String: EntityRelation]) -> EntityMapping {
    EntityMapping(
      table: "vehicle", relations: relations,
      subclass: { row in
        switch try row.value(String.self, in: "kind") {
        case "car": Car.self
        case "truck": Truck.self
        default: Vehicle.self
        }
      })
  }
}

final class Truck: Vehicle {
  var trailer: Vehicle?

  init(_ id: Int, _ name: String, trailer: Vehicle?) {
    self.trailer = trailer
    super.init(id, name)
  }
  override var kind: String { "truck" }
  override class var schema: ModelSchema { truckSchema }
  private static let truckSchema = ModelSchema(
    Truck.self, name: "Truck", version: 1, superclass: Vehicle.self, fields: [FieldInfo("trailer", Vehicle?.self)])
  override class var entityMapping: EntityMapping {
    mapping(relations: ["trailer": .toOne("trailerID")])
  }
  required init(fields reader: inout ArchiveReader) throws {
    trailer = try reader.field(0)
    reader.beginSuperclass(after: 1)
    try super.init(fields: &reader)
    reader.endSuperclass(after: 1)
  }
  override func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, trailer)
    writer.beginSuperclass(after: 1)
    try super.encodeFields(to: &writer)
    writer.endSuperclass(after: 1)
  }
}

final class Car: Vehicle {
  var doors: Int

  init(_ id: Int, _ name: String, doors: Int) {
    self.doors = doors
    super.init(id, name)
  }
  override var kind: String { "car" }
  override class var schema: ModelSchema { carSchema }
  private static let carSchema = ModelSchema(
    Car.self, name: "Car", version: 1, superclass: Vehicle.self, fields: [FieldInfo("doors", Int.self)])
  required init(fields reader: inout ArchiveReader) throws {
    doors = try reader.field(0)
    reader.beginSuperclass(after: 1)
    try super.init(fields: &reader)
    reader.endSuperclass(after: 1)
  }
  override func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, doors)
    writer.beginSuperclass(after: 1)
    try super.encodeFields(to: &writer)
    writer.endSuperclass(after: 1)
  }
}
