import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

/// Tests absent, null, shared and duplicate values, and the database's own triggers and cascades.
@Suite("Entities: edge cases")
struct EntityEdgeTests {
  struct User: DescribedModel, Entity, Equatable {
    var id: Int?
    var email: String
    var name: String?
    static let fields = Fields(
      User.self, name: "EdgeUser", version: 1, Field("id", \.id), Field("email", \.email), Field("name", \.name),
      make: { User(id: $0, email: $1, name: $2) })
    static let entityMapping = EntityMapping(table: "user", keys: ["email": ["email"]])
  }

  final class Folder: DescribedModel, Entity {
    let id: Int?
    var name: String
    var files: [File]
    var pinned: File?
    var tags: Set<Tag>
    init(_ id: Int?, _ name: String, _ files: [File] = [], _ pinned: File? = nil, _ tags: Set<Tag> = []) {
      (self.id, self.name, self.files, self.pinned, self.tags) = (id, name, files, pinned, tags)
    }
    static let fields = Fields(
      Folder.self, name: "EdgeFolder", version: 1, Field("id", \.id), Field("name", \.name),
      Field("files", \.files, default: []), Field("pinned", \.pinned), Field("tags", \.tags, default: []),
      make: { Folder($0, $1, $2, $3, $4) })
    static let entityMapping = EntityMapping(
      table: "folder", keys: ["name": ["name"]],
      relations: [
        "files": .toMany(foreignKey: "folderID", order: .column("place")), "pinned": .toOne("pinnedID"),
        "tags": .through("folderTag", from: "folderID", to: "tagID"),
      ])
  }

  final class File: DescribedModel, Entity {
    let id: Int?
    var name: String
    weak var folder: Folder?
    init(_ id: Int?, _ name: String, _ folder: Folder? = nil) { (self.id, self.name, self.folder) = (id, name, folder) }
    static let fields = Fields(
      File.self, name: "EdgeFile", version: 1, Field("id", \.id), Field("name", \.name),
      Field("folder", \.folder, archive: .conditional), make: { File($0, $1, $2) })
    static let entityMapping = EntityMapping(table: "file", relations: ["folder": .toOne("folderID")])
  }

  final class Tag: DescribedModel, Entity, Hashable {
    let name: String
    var folders: [Folder]
    init(_ name: String, _ folders: [Folder] = []) { (self.name, self.folders) = (name, folders) }
    static let fields = Fields(
      Tag.self, name: "EdgeTag", version: 1, Field("name", \.name), Field("folders", \.folders, default: []),
      make: { Tag($0, $1) })
    static let entityMapping = EntityMapping(
      table: "tag", keys: ["name": ["name"]],
      relations: ["folders": .through("folderTag", from: "tagID", to: "folderID", order: .by("name"))])
    static func == (left: Tag, right: Tag) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  static func folders(_ db: GRDB.Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, pinnedID INTEGER REFERENCES file(id));
        CREATE TABLE file (
          id INTEGER PRIMARY KEY, name TEXT NOT NULL, folderID INTEGER REFERENCES folder(id), place INTEGER,
          UNIQUE (folderID, place));
        CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE folderTag (
          folderID INTEGER NOT NULL REFERENCES folder(id), tagID INTEGER NOT NULL REFERENCES tag(id),
          PRIMARY KEY (folderID, tagID));
        """)
  }

  private func users(_ declaration: String = "email TEXT NOT NULL UNIQUE") throws -> (DatabaseQueue, EntityStore) {
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE user (id INTEGER PRIMARY KEY, \(declaration), name TEXT)")
    }
    return (queue, try EntityStore(queue, User.self))
  }

  @Test("Two objects of one save with different ids and the same unique key throw clash")
  func drafts() throws {
    let (queue, entities) = try users()
    let error = entityError(.clash) {
      try queue.write { db in
        try entities.apply(.json([["id": 1, "email": "x"], ["id": 2, "email": "x"]]), to: User.self, in: db)
      }
    }
    #expect(error?.path == [.index(1)])
    #expect(try queue.lines("SELECT * FROM user").isEmpty)
  }

  @Test("The database assigns a primary key that is nil, and later saves keep it")
  func nilPrimaryKey() throws {
    let (queue, entities) = try users()
    try entities.saveNow(User(id: nil, email: "x", name: "a"))
    #expect(try entities.saveNow(User(id: nil, email: "x", name: "a")).isEmpty)
    #expect(try entities.saveNow(User(id: nil, email: "x", name: "b"))["user"] == .init(updated: 1))
    #expect(try queue.lines("SELECT * FROM user") == ["1|x|b"])
  }

  @Test("New objects that form a cycle get their primary keys from the database")
  func newCycle() throws {
    let queue = try database(Self.folders)
    let entities = try EntityStore(queue, Folder.self)
    let folder = Folder(nil, "a")
    folder.files = [File(nil, "x", folder), File(nil, "y", folder)]
    folder.pinned = folder.files[1]
    try entities.saveNow(folder)
    #expect(try queue.lines("SELECT name, folderID, place FROM file ORDER BY id") == ["x|1|0", "y|1|1"])
    #expect(try queue.lines("SELECT f.name FROM folder JOIN file f ON f.id = pinnedID") == ["y"])
    #expect(try entities.saveNow(folder).isEmpty)
  }

  @Test("A pair that is listed on both sides is one row, and lists that disagree throw clash")
  func bothSides() throws {
    let queue = try database(Self.folders)
    let entities = try EntityStore(queue, Folder.self)
    let (a, b, x, y) = (Folder(1, "a"), Folder(2, "b"), Tag("x"), Tag("y"))
    (a.tags, b.tags, x.folders, y.folders) = ([x, y], [x], [a, b], [a])
    defer { [a, b].forEach { $0.tags = [] } }
    #expect(try entities.saveNow([a, b])["folderTag"] == .init(inserted: 3))
    #expect(try entities.saveNow([a, b]).isEmpty)
    x.folders = [a]
    let error = entityError(.clash) { try entities.saveNow([a, b]) }
    #expect(error?.description.contains("both sides") ?? false)
    b.tags = []
    #expect(try entities.saveNow([a, b])["folderTag"].deleted == 1)
    let back = try queue.read { db in try entities.fetchAll(Folder.order(Column("name")), in: db) }
    #expect(back[0].tags.map(\.name).sorted() == ["x", "y"] && back[1].tags.isEmpty)
    back.forEach { $0.tags = [] }
  }

  @Test("A row that joins an ordered list through its own reference is appended")
  func endOfList() throws {
    let queue = try database(Self.folders)
    let entities = try EntityStore(queue, Folder.self)
    try entities.saveNow([Folder(1, "a", [File(1, "x"), File(2, "y")]), Folder(2, "b", [File(3, "z")])])
    try queue.write { db in
      let report = try entities.apply(
        .json([["id": 1, "folder": ["id": 2]], ["id": 4, "name": "new", "folder": ["id": 2]]]), to: File.self, in: db)
      #expect(report["file"] == .init(inserted: 1, updated: 1))
      try entities.apply(.json(["id": 2, "folder": .null]), to: File.self, in: db)
    }
    #expect(
      try queue.lines("SELECT id, folderID, place FROM file ORDER BY id") == ["1|2|1", "2|-|-", "3|2|0", "4|2|2"])
    // A row has the largest possible position, so no position is left after it.
    try queue.write { db in try db.execute(sql: "UPDATE file SET place = \(Int64.max) WHERE id = 4") }
    try entities.saveNow(Folder(2, "b", [File(4, "new"), File(1, "x"), File(3, "z")]))
    #expect(
      try queue.lines("SELECT id, place FROM file WHERE folderID = 2 ORDER BY place").map { $0.prefix(1) } == [
        "4", "1", "3",
      ])
  }

  @Test("Strings that differ only in Unicode normalization count as different keys and as changes")
  func normalization() throws {
    struct Word: DescribedModel, Entity, Equatable {
      let text: String
      var note: String
      static let fields = Fields(
        Word.self, name: "EdgeWord", version: 1, Field("text", \.text), Field("note", \.note),
        make: { Word(text: $0, note: $1) })
      static let entityMapping = EntityMapping(table: "word")
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE word (text TEXT PRIMARY KEY, note TEXT NOT NULL)")
    }
    let entities = try EntityStore(queue, Word.self)
    let words = [Word(text: "\u{E9}", note: "\u{E9}"), Word(text: "e\u{301}", note: "b")]
    #expect(try entities.saveNow(words)["word"].inserted == 2)
    let back = try queue.read { db in try entities.fetchAll(Word.order(Column("note")), in: db) }
    #expect(back.map { Array($0.text.utf8) } == [words[1], words[0]].map { Array($0.text.utf8) })
    #expect(try entities.saveNow([Word(text: "\u{E9}", note: "e\u{301}")])["word"].updated == 1)
    try queue.write { db in
      try db.execute(sql: "INSERT INTO word VALUES (NULL, 'x')")
      entityError(.notReadable) { try entities.fetchAll(Word.all(), in: db) }
    }
  }

  @Test("Rows are matched by primary key if another key contains null")
  func nullsInKeys() throws {
    struct Seat: DescribedModel, Entity, Equatable {
      let id: Int
      var team: Int?
      var seat: Int
      static let fields = Fields(
        Seat.self, name: "EdgeSeat", version: 1, Field("id", \.id), Field("team", \.team), Field("seat", \.seat),
        make: { Seat(id: $0, team: $1, seat: $2) })
      static let entityMapping = EntityMapping(table: "seat", keys: ["seat": ["team", "seat"]])
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE seat (id INTEGER PRIMARY KEY, team INTEGER, seat INTEGER, UNIQUE (team, seat))")
    }
    let entities = try EntityStore(queue, Seat.self)
    let seats = [Seat(id: 1, team: nil, seat: 1), Seat(id: 2, team: nil, seat: 1)]
    #expect(try entities.saveNow(seats)["seat"].inserted == 2)
    #expect(try entities.saveNow(seats).isEmpty)
  }

  @Test("A cyclic key is ignored if another key identifies the row; otherwise the save throws clash")
  func circleOfKeys() throws {
    final class Clerk: DescribedModel, Entity {
      let id: Int?
      let name: String
      var boss: Clerk?
      init(_ id: Int?, _ name: String, _ boss: Clerk? = nil) { (self.id, self.name, self.boss) = (id, name, boss) }
      static let fields = Fields(
        Clerk.self, name: "EdgeClerk", version: 1, Field("id", \.id), Field("name", \.name), Field("boss", \.boss),
        make: { Clerk($0, $1, $2) })
      static let entityMapping = EntityMapping(
        table: "clerk", keys: ["place": ["boss", "name"]], relations: ["boss": .toOne("bossID")])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE clerk (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, bossID INTEGER REFERENCES clerk(id), UNIQUE (bossID, name))
          """)
    }
    let entities = try EntityStore(queue, Clerk.self)
    let (a, b) = (Clerk(1, "a"), Clerk(2, "b"))
    (a.boss, b.boss) = (b, a)
    defer { (a.boss, b.boss) = (nil, nil) }
    try entities.saveNow(a)
    #expect(try entities.saveNow([b, a]).isEmpty)
    #expect(try queue.lines("SELECT id, bossID FROM clerk ORDER BY id") == ["1|2", "2|1"])
    let (x, y) = (Clerk(nil, "x"), Clerk(nil, "y"))
    (x.boss, y.boss) = (y, x)
    defer { (x.boss, y.boss) = (nil, nil) }
    entityError(.clash) { try entities.saveNow(x) }
  }

  @Test("Keys are compared with the collation of their unique index, not of the column")
  func collations() throws {
    let other = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE user (id INTEGER PRIMARY KEY, email TEXT NOT NULL, name TEXT);
          CREATE UNIQUE INDEX emails ON user (email COLLATE NOCASE);
          INSERT INTO user VALUES (1, 'Ann', NULL)
          """)
    }
    let store = try EntityStore(other, User.self)
    #expect(try store.saveNow(User(id: nil, email: "ANN", name: "x"))["user"] == .init(updated: 1))
  }

  @Test("Writes that the database ignores throw constraint, and values that it supplies are read back")
  func databaseRules() throws {
    let (queue, entities) = try users("email TEXT NOT NULL UNIQUE ON CONFLICT IGNORE")
    try queue.write { db in
      try db.execute(
        sql: "CREATE TRIGGER soft BEFORE UPDATE ON user WHEN new.name = 'no' BEGIN SELECT RAISE(IGNORE); END")
    }
    try entities.saveNow(User(id: 1, email: "x", name: nil))
    entityError(.constraint) { try entities.saveNow(User(id: 2, email: "x", name: nil), matching: ["primaryKey"]) }
    entityError(.constraint) { try entities.saveNow(User(id: 1, email: "x", name: "no")) }
    #expect(try queue.lines("SELECT * FROM user") == ["1|x|-"])

    struct Node: DescribedModel, Entity, Equatable {
      var name: String
      var parts: [Leaf]
      static let fields = Fields(
        Node.self, name: "EdgeNode", version: 1, Field("name", \.name), Field("parts", \.parts, default: []),
        make: { Node(name: $0, parts: $1) })
      static let entityMapping = EntityMapping(
        table: "node", keys: ["name": ["name"]],
        relations: ["parts": .toMany(foreignKey: "nodeID", order: .by("text"), removed: .delete)])
    }
    struct Leaf: DescribedModel, Entity, Equatable {
      var text: String
      static let fields = Fields(
        Leaf.self, name: "EdgeLeaf", version: 1, Field("text", \.text), make: { Leaf(text: $0) })
      static let entityMapping = EntityMapping(table: "leaf")
    }
    for suffix in ["", " WITHOUT ROWID"] {
      let other = try database { db in
        try db.execute(
          sql: """
            CREATE TABLE node (id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16)))), name TEXT NOT NULL UNIQUE)\(suffix);
            CREATE TABLE leaf (id INTEGER PRIMARY KEY, text TEXT NOT NULL, nodeID TEXT NOT NULL REFERENCES node(id));
            """)
      }
      let store = try EntityStore(other, Node.self)
      let nodes = [
        Node(name: "a", parts: [Leaf(text: "x")]), Node(name: "b", parts: [Leaf(text: "y"), Leaf(text: "z")]),
      ]
      let report = try store.saveNow(nodes)
      #expect(report.roots.allSatisfy { $0.count == 1 && !$0[0].isNull } && Set(report.roots).count == 2)
      #expect(try other.read { db in try store.fetchAll(Node.order(Column("name")), in: db) } == nodes)
      #expect(try store.saveNow(nodes).isEmpty)
    }
  }

  @Test("A row that moves to a new parent is not deleted with its old parent")
  func cascade() throws {
    final class Root: DescribedModel, Entity {
      let id: Int
      var boxes: [Box]
      init(_ id: Int, _ boxes: [Box]) { (self.id, self.boxes) = (id, boxes) }
      static let fields = Fields(
        Root.self, name: "EdgeRoot", version: 1, Field("id", \.id), Field("boxes", \.boxes, default: []),
        make: { Root($0, $1) })
      static let entityMapping = EntityMapping(
        table: "root", relations: ["boxes": .toMany(foreignKey: "rootID", order: .by("name"), removed: .delete)])
    }
    final class Box: DescribedModel, Entity {
      let name: String
      var items: [Item]
      init(_ name: String, _ items: [Item]) { (self.name, self.items) = (name, items) }
      static let fields = Fields(
        Box.self, name: "EdgeBox", version: 1, Field("name", \.name), Field("items", \.items, default: []),
        make: { Box($0, $1) })
      static let entityMapping = EntityMapping(
        table: "box", keys: ["name": ["name"]],
        relations: ["items": .toMany(foreignKey: "boxID", order: .by("id"), removed: .delete)])
    }
    struct Item: DescribedModel, Entity {
      let id: Int
      static let fields = Fields(Item.self, name: "EdgeItem", version: 1, Field("id", \.id), make: { Item(id: $0) })
      static let entityMapping = EntityMapping(table: "item")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE root (id INTEGER PRIMARY KEY);
          CREATE TABLE box (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rootID INTEGER REFERENCES root(id));
          CREATE TABLE item (id INTEGER PRIMARY KEY, boxID INTEGER NOT NULL REFERENCES box(id) ON DELETE CASCADE);
          """)
    }
    let entities = try EntityStore(queue, Root.self)
    try entities.saveNow(Root(1, [Box("a", [Item(id: 7)])]))
    try entities.saveNow(Root(1, [Box("b", [Item(id: 7)])]))
    #expect(try queue.lines("SELECT item.id, box.name FROM item JOIN box ON box.id = boxID") == ["7|b"])
    #expect(try queue.lines("SELECT name FROM box") == ["b"])
  }

  @Test("Validation of a list runs if only its elements change, and skips rows outside of the save")
  func rulesOfLists() throws {
    final class Album: DescribedModel, Entity, Validating {
      let id: Int
      var tracks: [Track]
      init(_ id: Int, _ tracks: [Track]) { (self.id, self.tracks) = (id, tracks) }
      static let fields = Fields(
        Album.self, name: "EdgeAlbum", version: 1, Field("id", \.id), Field("tracks", \.tracks, default: []),
        make: { Album($0, $1) })
      static let entityMapping = EntityMapping(
        table: "album", relations: ["tracks": .toMany(foreignKey: "albumID", order: .by("id"))])
      static let validation = Validation<Album>(
        .model("an album has at most two tracks", at: "tracks") { $0.tracks.count <= 2 })
    }
    struct Track: DescribedModel, Entity {
      let id: Int
      static let fields = Fields(Track.self, name: "EdgeTrack", version: 1, Field("id", \.id), make: { Track(id: $0) })
      static let entityMapping = EntityMapping(table: "track")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE album (id INTEGER PRIMARY KEY);
          CREATE TABLE track (id INTEGER PRIMARY KEY, albumID INTEGER REFERENCES album(id));
          """)
    }
    let entities = try EntityStore(queue, Album.self)
    try entities.saveNow(Album(1, [Track(id: 1), Track(id: 2)]))
    let error = entityError(.invalid) { try entities.saveNow([Album(2, []), Album(1, (1...3).map { Track(id: $0) })]) }
    #expect(error?.path == [.index(1)])
    #expect(try queue.lines("SELECT id FROM track") == ["1", "2"])
    // An album in the database that already violates the rule does not prevent other saves.
    try queue.write { db in
      try db.execute(sql: "INSERT INTO album VALUES (9); INSERT INTO track VALUES (7, 9), (8, 9), (9, 9)")
    }
    try entities.saveNow(Album(3, [Track(id: 20)]))
  }

  @Test("Deleting an old parent waits until its rows have moved, even if list positions are unique")
  func cascadePastUnique() throws {
    struct Depot: DescribedModel, Entity {
      let id: Int
      var crates: [Crate]
      static let fields = Fields(
        Depot.self, name: "EdgeDepot", version: 1, Field("id", \.id), Field("crates", \.crates, default: []),
        make: { Depot(id: $0, crates: $1) })
      static let entityMapping = EntityMapping(
        table: "depot", relations: ["crates": .toMany(foreignKey: "depotID", order: .by("name"), removed: .delete)])
    }
    struct Crate: DescribedModel, Entity {
      let name: String
      var goods: [Good]
      static let fields = Fields(
        Crate.self, name: "EdgeCrate", version: 1, Field("name", \.name), Field("goods", \.goods, default: []),
        make: { Crate(name: $0, goods: $1) })
      static let entityMapping = EntityMapping(
        table: "crate", keys: ["name": ["name"]],
        relations: ["goods": .toMany(foreignKey: "crateID", order: .column("place"), removed: .delete)])
    }
    struct Good: DescribedModel, Entity {
      let id: Int
      static let fields = Fields(Good.self, name: "EdgeGood", version: 1, Field("id", \.id), make: { Good(id: $0) })
      static let entityMapping = EntityMapping(table: "good")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE depot (id INTEGER PRIMARY KEY);
          CREATE TABLE crate (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, depotID INTEGER REFERENCES depot(id));
          CREATE TABLE good (
            id INTEGER PRIMARY KEY, crateID INTEGER NOT NULL REFERENCES crate(id) ON DELETE CASCADE, place INTEGER NOT NULL,
            UNIQUE (crateID, place));
          """)
    }
    let entities = try EntityStore(queue, Depot.self)
    let (a, b) = (Crate(name: "a", goods: [Good(id: 7)]), Crate(name: "b", goods: [Good(id: 8)]))
    try entities.saveNow(Depot(id: 1, crates: [a, b]))
    try entities.saveNow(Depot(id: 1, crates: [Crate(name: "b", goods: [Good(id: 7)])]))
    #expect(try queue.lines("SELECT good.id, name FROM good JOIN crate ON crate.id = crateID") == ["7|b"])
  }

  @Test("Unsupported merge policies of relations are rejected, and keepLocal ignores incoming elements")
  func relationPolicies() throws {
    struct Shelf: DescribedModel, Entity {
      let id: Int
      var books: [Book]
      static let fields = Fields(
        Shelf.self, name: "EdgeShelf", version: 1, Field("id", \.id),
        Field("books", \.books, merge: .keepLocal, default: []),
        make: { Shelf(id: $0, books: $1) })
      static let entityMapping = EntityMapping(
        table: "shelf", relations: ["books": .toMany(foreignKey: "shelfID", order: .by("id"), removed: .delete)])
    }
    struct Union: DescribedModel, Entity {
      let id: Int
      var books: [Book]
      static let fields = Fields(
        Union.self, name: "EdgeUnion", version: 1, Field("id", \.id),
        Field("books", \.books, merge: .union, default: []),
        make: { Union(id: $0, books: $1) })
      static let entityMapping = EntityMapping(table: "shelf", relations: Shelf.entityMapping.relations)
    }
    struct Book: DescribedModel, Entity {
      let id: Int
      static let fields = Fields(Book.self, name: "EdgeBook", version: 1, Field("id", \.id), make: { Book(id: $0) })
      static let entityMapping = EntityMapping(table: "book")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE shelf (id INTEGER PRIMARY KEY);
          CREATE TABLE book (id INTEGER PRIMARY KEY, shelfID INTEGER NOT NULL REFERENCES shelf(id));
          """)
    }
    let error = entityError(.invalidMapping) { try EntityStore(queue, Union.self) }
    #expect(error?.description.contains("the merge policy union") ?? false)
    let entities = try EntityStore(queue, Shelf.self)
    try entities.saveNow(Shelf(id: 1, books: [Book(id: 1)]))
    try queue.write { db in
      let report = try entities.apply(.json(["id": 1, "books": [["id": 5]]]), to: Shelf.self, in: db)
      #expect(report.isEmpty)
      // The merge policy applies only to incoming data, not to saves by the app.
      try entities.save(Shelf(id: 1, books: [Book(id: 5)]), in: db)
    }
    #expect(try queue.lines("SELECT id FROM book") == ["5"])
  }

  @Test("A partial incoming object updates the referenced row and keeps its other columns")
  func partOfOne() throws {
    struct Holder: DescribedModel, Entity, Equatable {
      let id: Int
      var box: Content?
      static let fields = Fields(
        Holder.self, name: "EdgeHolder", version: 1, Field("id", \.id), Field("box", \.box),
        make: { Holder(id: $0, box: $1) })
      static let entityMapping = EntityMapping(table: "holder", relations: ["box": .toOne("boxID")])
    }
    struct Content: DescribedModel, Entity, Equatable {
      var weight: Int
      var note: String?
      static let fields = Fields(
        Content.self, name: "EdgeContent", version: 1, Field("weight", \.weight), Field("note", \.note),
        make: { Content(weight: $0, note: $1) })
      static let entityMapping = EntityMapping(table: "content")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE content (id INTEGER PRIMARY KEY, weight INTEGER NOT NULL, note TEXT);
          CREATE TABLE holder (id INTEGER PRIMARY KEY, boxID INTEGER REFERENCES content(id));
          """)
    }
    let entities = try EntityStore(queue, Holder.self)
    try entities.saveNow(Holder(id: 1, box: Content(weight: 1, note: "n")))
    try queue.write { db in _ = try entities.apply(.json(["id": 1, "box": ["weight": 2]]), to: Holder.self, in: db) }
    #expect(try queue.lines("SELECT * FROM content") == ["1|2|n"])
    // A row that two others refer to becomes one object, both when it is read and when it is saved again.
    try queue.write { db in
      try db.execute(sql: "INSERT INTO holder VALUES (2, 1)")
      let both = try entities.fetchAll(Holder.all(), in: db)
      #expect(try entities.save(both, in: db).isEmpty)
    }
  }

  @Test("A reference to a row without the referenced value, or a missing required one, throws missingValue")
  func emptyReferences() throws {
    struct Member: DescribedModel, Entity {
      let id: Int
      var club: Club
      static let fields = Fields(
        Member.self, name: "EdgeMember", version: 1, Field("id", \.id), Field("club", \.club),
        make: { Member(id: $0, club: $1) })
      static let entityMapping = EntityMapping(
        table: "member", relations: ["club": .toOne("clubCode", references: "code")])
    }
    struct Club: DescribedModel, Entity {
      let id: Int
      var code: String?
      static let fields = Fields(
        Club.self, name: "EdgeClub", version: 1, Field("id", \.id), Field("code", \.code),
        make: { Club(id: $0, code: $1) })
      static let entityMapping = EntityMapping(table: "club")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE club (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
          CREATE TABLE member (id INTEGER PRIMARY KEY, clubCode TEXT REFERENCES club(code));
          """)
    }
    let entities = try EntityStore(queue, Member.self)
    let error = entityError(.missingValue) { try entities.saveNow(Member(id: 1, club: Club(id: 1, code: nil))) }
    #expect(error?.path == [.key("club")], "\(String(describing: error))")
    let absent = entityError(.missingValue) {
      try queue.write { db in try entities.apply(.json(["id": 1]), to: Member.self, in: db) }
    }
    #expect(absent?.path == [.key("club")], "\(String(describing: absent))")
    #expect(try queue.lines("SELECT * FROM member").isEmpty)
  }

  @Test("An archive whose references resolve to objects of the wrong type throws invalidSource")
  func craftedArchive() throws {
    let queue = try database(Self.folders)
    let entities = try EntityStore(queue, Folder.self)
    let record = ModelRecord(
      typeName: "EdgeFolder", modelVersion: 1, fields: [("name", "a"), ("files", .array([.reference(0)]))])
    let archive = try ArchiveEncoder().encode(
      ObjectGraph(objects: [.record(record)], root: .reference(0)), typeName: "EdgeFolder", modelVersion: 1)
    let error = entityError(.invalidSource) {
      try queue.write { db in try entities.apply(.archive(archive), to: Folder.self, in: db) }
    }
    #expect(error?.path == [.key("files"), .index(0)], "\(String(describing: error))")
  }

  @Test("Read-only columns match rows; duplicate column mappings and duplicate set elements are rejected")
  func mappings() throws {
    struct Entry: DescribedModel, Entity, Equatable {
      var id: Int?
      var text: String
      static let fields = Fields(
        Entry.self, name: "EdgeEntry", version: 1, Field("id", \.id), Field("text", \.text),
        make: { Entry(id: $0, text: $1) })
      static let entityMapping = EntityMapping(table: "entry", columns: ["id": .readOnly("id")])
    }
    struct Twice: DescribedModel, Entity {
      var a: String
      var b: String
      static let fields = Fields(
        Twice.self, name: "EdgeTwice", version: 1, Field("a", \.a), Field("b", \.b), make: { Twice(a: $0, b: $1) })
      static let entityMapping = EntityMapping(table: "entry", columns: ["a": "text", "b": "TEXT"])
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    }
    let entities = try EntityStore(queue, Entry.self)
    try entities.saveNow(Entry(id: nil, text: "a"))
    var entry = try queue.read { db in try #require(try entities.fetchOne(Entry.all(), in: db)) }
    entry.text = "b"
    #expect(try entities.saveNow(entry)["entry"] == .init(updated: 1))
    let error = entityError(.invalidMapping) { try EntityStore(queue, Twice.self) }
    #expect(error?.columns == ["TEXT"])
    let shops = try EntityListTests()
    let twice = entityError(.invalidSource) {
      try shops.queue.write { db in
        try shops.entities.apply(
          .json(["id": 1, "notes": [["text": "x"], ["text": "x"]]]), to: EntityListTests.Shop.self, in: db)
      }
    }
    #expect(twice?.path == [.key("notes"), .index(1)])
  }

  @Test("Repeated objects in one source are applied in order, even if their lists have no keys")
  func repeatedObjects() throws {
    let shops = try EntityListTests()
    func apply(_ json: String) throws -> EntityReport {
      try shops.queue.write { db in
        try shops.entities.apply(.json(Data(json.utf8)), to: EntityListTests.Shop.self, in: db)
      }
    }
    let shop = #"{"id": 1, "address": {"street": "a"}, "rooms": [{"name": "x", "chairs": [{"id": 1}]}]}"#
    _ = try apply("[\(shop), \(shop)]")
    #expect(try shops.queue.lines("SELECT count(*) FROM address").first == "1")
    #expect(try apply("[\(shop), \(shop)]").isEmpty)
    // If a document repeats a record, the record's last list applies. Elements that only the first list has are deleted.
    _ = try apply(#"[{"id": 2, "notes": [{"text": "p"}]}, {"id": 2, "notes": [{"text": "q"}, {"text": "r"}]}]"#)
    #expect(try shops.queue.lines("SELECT text FROM note ORDER BY text") == ["q", "r"])
  }

  @Test("Repeated parts of a new object are merged by its policies, even if the first has only the key")
  func stub() throws {
    struct Row: DescribedModel, Entity, Equatable {
      let id: Int
      var note: String?
      var high: Int
      static let fields = Fields(
        Row.self, name: "EdgeRow", version: 1, Field("id", \.id), Field("note", \.note, merge: .keepLocal),
        Field("high", \.high, merge: .max), make: { Row(id: $0, note: $1, high: $2) })
      static let entityMapping = EntityMapping(table: "row")
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE row (id INTEGER PRIMARY KEY, note TEXT, high INTEGER NOT NULL)")
    }
    let entities = try EntityStore(queue, Row.self)
    try queue.write { db in
      let json: ArchiveValue = [["id": 1], ["id": 1, "note": "n", "high": 3], ["id": 1, "note": "m", "high": 2]]
      try entities.apply(.json(json), to: Row.self, in: db)
      #expect(try entities.fetchAll(Row.all(), in: db) == [Row(id: 1, note: "n", high: 3)])
    }
  }

  @Test(
    "A nil text primary key takes the table's default or throws missingValue; collation is respected"
  )
  func textPrimaryKeys() throws {
    struct Doc: DescribedModel, Entity, Equatable {
      var id: String?
      var name: String
      static let fields = Fields(
        Doc.self, name: "EdgeDoc", version: 1, Field("id", \.id), Field("name", \.name), make: { Doc(id: $0, name: $1) }
      )
      static let entityMapping = EntityMapping(table: "doc")
    }
    for suffix in ["", " WITHOUT ROWID"] {
      let queue = try database { db in
        try db.execute(
          sql: """
            CREATE TABLE doc (id TEXT COLLATE NOCASE PRIMARY KEY DEFAULT (lower(hex(randomblob(8)))), name TEXT NOT NULL)\(suffix)
            """)
      }
      let entities = try EntityStore(queue, Doc.self)
      try entities.saveNow([Doc(id: nil, name: "x"), Doc(id: "Ann", name: "y")])
      #expect(try queue.lines("SELECT length(id), name FROM doc ORDER BY name") == ["16|x", "3|y"])
      #expect(try entities.saveNow(Doc(id: "ANN", name: "z"))["doc"] == .init(updated: 1))
      #expect(try queue.lines("SELECT id FROM doc WHERE name = 'z'") == ["Ann"])
    }
    let queue = try database { db in try db.execute(sql: "CREATE TABLE doc (id TEXT PRIMARY KEY, name TEXT NOT NULL)") }
    let entities = try EntityStore(queue, Doc.self)
    let error = entityError(.missingValue) { try entities.saveNow(Doc(id: nil, name: "x")) }
    #expect(error?.columns == ["id"])
  }

  @Test(
    "Append-only lists collect the elements of repeated objects; a pair added by the other side goes last")
  func partsOfLists() throws {
    final class Disc: DescribedModel, Entity {
      let id: Int
      var songs: [Song]
      var styles: [Style]
      init(_ id: Int, _ songs: [Song], _ styles: [Style]) { (self.id, self.songs, self.styles) = (id, songs, styles) }
      static let fields = Fields(
        Disc.self, name: "EdgeDisc", version: 1, Field("id", \.id), Field("songs", \.songs, default: []),
        Field("styles", \.styles, default: []), make: { Disc($0, $1, $2) })
      static let entityMapping = EntityMapping(
        table: "disc",
        relations: [
          "songs": .toMany(foreignKey: "discID", order: .column("place"), removed: .keep),
          "styles": .through("discStyle", from: "discID", to: "styleID", order: .column("place")),
        ])
    }
    struct Song: DescribedModel, Entity {
      let id: Int
      static let fields = Fields(Song.self, name: "EdgeSong", version: 1, Field("id", \.id), make: { Song(id: $0) })
      static let entityMapping = EntityMapping(table: "song")
    }
    final class Style: DescribedModel, Entity {
      let id: Int
      var discs: [Disc]
      init(_ id: Int, _ discs: [Disc]) { (self.id, self.discs) = (id, discs) }
      static let fields = Fields(
        Style.self, name: "EdgeStyle", version: 1, Field("id", \.id), Field("discs", \.discs, default: []),
        make: { Style($0, $1) })
      static let entityMapping = EntityMapping(
        table: "style", relations: ["discs": .through("discStyle", from: "styleID", to: "discID", order: .by("id"))])
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE disc (id INTEGER PRIMARY KEY);
          CREATE TABLE song (id INTEGER PRIMARY KEY, discID INTEGER NOT NULL REFERENCES disc(id), place INTEGER NOT NULL);
          CREATE TABLE style (id INTEGER PRIMARY KEY);
          CREATE TABLE discStyle (
            discID INTEGER NOT NULL REFERENCES disc(id), styleID INTEGER NOT NULL REFERENCES style(id),
            place INTEGER NOT NULL, PRIMARY KEY (discID, styleID));
          """)
    }
    let entities = try EntityStore(queue, Disc.self)
    try queue.write { db in
      try entities.apply(
        .json([
          ["id": 1, "songs": [["id": 1]], "styles": [["id": 1], ["id": 2]]],
          ["id": 1, "songs": [["id": 2], ["id": 1]]],
        ]), to: Disc.self, in: db)
      try entities.apply(.json(["id": 3, "discs": [["id": 1]]]), to: Style.self, in: db)
    }
    #expect(try queue.lines("SELECT id, place FROM song ORDER BY id") == ["1|0", "2|1"])
    #expect(try queue.lines("SELECT styleID, place FROM discStyle ORDER BY place") == ["1|0", "2|1", "3|2"])
  }

  @Test("A key that includes a reference to a new row identifies a new row")
  func keyOfNew() throws {
    struct Page: DescribedModel, Entity {
      var id: Int?
      var site: Site
      var name: String
      static let fields = Fields(
        Page.self, name: "EdgePage", version: 1, Field("id", \.id), Field("site", \.site), Field("name", \.name),
        make: { Page(id: $0, site: $1, name: $2) })
      static let entityMapping = EntityMapping(
        table: "page", keys: ["path": ["site", "name"]], relations: ["site": .toOne("siteID")])
    }
    struct Site: DescribedModel, Entity {
      var id: Int?
      static let fields = Fields(Site.self, name: "EdgeSite", version: 1, Field("id", \.id), make: { Site(id: $0) })
      static let entityMapping = EntityMapping(table: "site")
    }
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE site (id INTEGER PRIMARY KEY);
          CREATE TABLE page (
            id INTEGER PRIMARY KEY, siteID INTEGER NOT NULL REFERENCES site(id), name TEXT NOT NULL, UNIQUE (siteID, name));
          """)
    }
    let entities = try EntityStore(queue, Page.self)
    try entities.saveNow(Page(id: nil, site: Site(id: nil), name: "a"))
    #expect(try queue.lines("SELECT siteID, name FROM page") == ["1|a"])
  }

  @Test("fetchOne applies the offset of the request")
  func offset() throws {
    let (queue, entities) = try users()
    try entities.saveNow((1...5).map { (number: Int) in User(id: number, email: "u\(number)", name: nil) })
    let found = try queue.read { db in try entities.fetchOne(User.order(Column("id")).limit(2, offset: 3), in: db) }
    #expect(found?.id == 4)
  }
}
