import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Tests objects that have a base, which is the state in which they were fetched.
@Suite("Entities: stale objects")
struct RowBaseTests {
  struct Note: DescribedModel, Entity, Equatable {
    var id: Int?
    var title: String
    var text: String?
    var size = 0
    var tags: [String] = []
    var fetched = RowBase()

    static let fields = Fields(
      Note.self, name: "BaseNote", version: 1, Field("id", \.id), Field("title", \.title), Field("text", \.text),
      Field("size", \.size, merge: .max, default: 0), Field("tags", \.tags, default: []),
      Field("fetched", \.fetched, default: RowBase()),
      make: { Note(id: $0, title: $1, text: $2, size: $3, tags: $4, fetched: $5) })
    static let entityMapping = EntityMapping(table: "note", keys: ["title": ["title"]])
  }

  final class Folder: DescribedModel, Entity {
    let id: Int
    var name: String
    var pages: [Page]
    var labels: Set<Label>
    var mark: Label?
    var fetched: RowBase
    init(
      _ id: Int, _ name: String, _ pages: [Page] = [], _ labels: Set<Label> = [], _ mark: Label? = nil,
      _ fetched: RowBase = RowBase()
    ) {
      (self.id, self.name, self.pages, self.labels, self.mark, self.fetched) = (id, name, pages, labels, mark, fetched)
    }
    static let fields = Fields(
      Folder.self, name: "BaseFolder", version: 1, Field("id", \.id), Field("name", \.name),
      Field("pages", \.pages, default: []), Field("labels", \.labels, default: []),
      Field("mark", \.mark), Field("fetched", \.fetched, default: RowBase()),
      make: { Folder($0, $1, $2, $3, $4, $5) })
    static let entityMapping = EntityMapping(
      table: "folder",
      relations: [
        "pages": .toMany(foreignKey: "folderID", order: .column("place"), removed: .delete),
        "labels": .through("folderLabel", from: "folderID", to: "labelID"), "mark": .toOne("markID"),
      ])
  }

  final class Page: DescribedModel, Entity {
    let id: Int
    var text: String
    var fetched: RowBase
    init(_ id: Int, _ text: String, _ fetched: RowBase = RowBase()) {
      (self.id, self.text, self.fetched) = (id, text, fetched)
    }
    static let fields = Fields(
      Page.self, name: "BasePage", version: 1, Field("id", \.id), Field("text", \.text),
      Field("fetched", \.fetched, default: RowBase()), make: { Page($0, $1, $2) })
    static let entityMapping = EntityMapping(table: "page")
  }

  struct Label: DescribedModel, Entity, Hashable {
    let id: Int
    var name: String
    static let fields = Fields(
      Label.self, name: "BaseLabel", version: 1, Field("id", \.id), Field("name", \.name),
      make: { Label(id: $0, name: $1) })
    static let entityMapping = EntityMapping(table: "label")
  }

  /// A class whose objects refer to each other in cycles.
  final class Person: DescribedModel, Entity {
    let id: Int
    var name: String
    weak var boss: Person?
    var team: [Person]
    var fetched: RowBase
    init(_ id: Int, _ name: String, _ boss: Person? = nil, _ team: [Person] = [], _ fetched: RowBase = RowBase()) {
      (self.id, self.name, self.boss, self.team, self.fetched) = (id, name, boss, team, fetched)
    }
    static let fields = Fields(
      Person.self, name: "BasePerson", version: 1, Field("id", \.id), Field("name", \.name),
      Field("boss", \.boss, archive: .conditional), Field("team", \.team, default: []),
      Field("fetched", \.fetched, default: RowBase()), make: { Person($0, $1, $2, $3, $4) })
    static let entityMapping = EntityMapping(
      table: "person",
      relations: ["boss": .toOne("bossID"), "team": .toMany(foreignKey: "bossID", order: .by("id"))])
  }

  struct Mapped: DescribedModel, Entity {
    let id: Int
    var merging = RowBase()
    static let fields = Fields(
      Mapped.self, name: "BaseMapped", version: 1, Field("id", \.id), Field("merging", \.merging, default: RowBase()),
      make: { Mapped(id: $0, merging: $1) })
    static let entityMapping = EntityMapping(table: "merging", columns: ["merging": "merging"])
  }

  struct Merging: DescribedModel, Entity {
    let id: Int
    var merging = MergeState()
    static let fields = Fields(
      Merging.self, name: "BaseMerging", version: 1, Field("id", \.id),
      Field("merging", \.merging, default: MergeState()), make: { Merging(id: $0, merging: $1) })
    static let entityMapping = EntityMapping(table: "merging")
  }

  struct Bare: DescribedModel, Entity {
    let id: Int
    var name: String
    var pages: [Page]
    static let fields = Fields(
      Bare.self, name: "BaseBare", version: 1, Field("id", \.id), Field("name", \.name),
      Field("pages", \.pages, default: []), make: { Bare(id: $0, name: $1, pages: $2) })
    static let entityMapping = EntityMapping(
      table: "folder", relations: ["pages": .toMany(foreignKey: "folderID", order: .column("place"), removed: .delete)])
  }

  private static func store() throws -> (EntityStore, DatabaseQueue) {
    let queue = try DatabaseQueue()
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, text TEXT, size INTEGER NOT NULL, tags BLOB);
          CREATE TABLE folder (id INTEGER PRIMARY KEY, name TEXT NOT NULL, markID INTEGER REFERENCES label(id));
          CREATE TABLE page (id INTEGER PRIMARY KEY, text TEXT NOT NULL, place INTEGER,
            folderID INTEGER REFERENCES folder(id));
          CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE folderLabel (folderID INTEGER NOT NULL REFERENCES folder(id) ON DELETE CASCADE,
            labelID INTEGER NOT NULL REFERENCES label(id) ON DELETE CASCADE, PRIMARY KEY (folderID, labelID));
          CREATE TABLE merging (id INTEGER PRIMARY KEY, merging BLOB);
          CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, bossID INTEGER REFERENCES person(id));
          INSERT INTO note VALUES (1, 'Paint', 'old', 3, NULL);
          INSERT INTO folder VALUES (1, 'A', NULL), (2, 'B', NULL);
          INSERT INTO page VALUES (1, 'one', 0, 1), (2, 'two', 1, 1), (3, 'three', 0, 2);
          INSERT INTO label VALUES (1, 'red'), (2, 'blue'), (3, 'green');
          INSERT INTO folderLabel VALUES (1, 1);
          UPDATE note SET tags = x'';
          """)
      try db.execute(sql: "UPDATE note SET tags = ?", arguments: [ArchiveEncoder().encode(["a"])])
    }
    let store = try EntityStore(queue, Note.self, Folder.self, Page.self, Label.self, Person.self)
    // Marks all tables as synchronized with a server.
    store.servers.set(Set(store.catalog.types.map(\.table))) { _, _ in }
    return (store, queue)
  }

  private static func note(_ store: EntityStore) async throws -> Note {
    try #require(try await store.fetchOne(Note.filter(key: 1)))
  }

  @Test(
    "A fetched object writes only its changes; columns changed on both sides follow the policy or conflict")
  func columns() async throws {
    let (store, queue) = try Self.store()
    var form = try await Self.note(store)
    #expect(form.fetched.isKnown)
    try await queue.write { try $0.execute(sql: "UPDATE note SET title = 'Theirs', size = 9") }
    (form.text, form.size, form.tags) = ("mine", 5, ["a", "b"])
    let report = try await store.save(form)
    #expect(report.changes.map { Set($0.columns) } == [["text", "tags"]])
    #expect(try await Self.note(store) == Note(id: 1, title: "Theirs", text: "mine", size: 9, tags: ["a", "b"]))
    form.title = "Mine"
    let stale = form
    let error = await #expect(throws: EntityError.self) { try await store.save(stale) }
    #expect(error?.code == .conflict)
    #expect(try await Self.note(store).title == "Theirs")
    try await store.save(form, conflicts: .keepLocal)
    #expect(try await Self.note(store).title == "Mine")
    // A save inside a transaction merges in the same way.
    let other = try await Self.note(store)
    try await queue.write { db in
      try db.execute(sql: "UPDATE note SET text = 'theirs'")
      var edited = other
      edited.title = "In"
      try store.save(edited, in: db)
    }
    #expect(try await Self.note(store) == Note(id: 1, title: "In", text: "theirs", size: 9, tags: ["a", "b"]))
  }

  @Test("Saving an object without a base over a synchronized row throws staleSave")
  func withoutBase() async throws {
    let (store, queue) = try Self.store()
    let made = Note(id: 1, title: "Made", text: "x")
    let error = await #expect(throws: EntityError.self) { try await store.save(made) }
    #expect(error?.code == .staleSave)
    #expect(error?.columns == ["title", "text", "size", "tags"])
    #expect(try await Self.note(store).title == "Paint")
    // Saving an object that equals its row succeeds and writes nothing.
    try await store.save(Note(id: 1, title: "Paint", text: "old", size: 3, tags: ["a"]))
    try await store.save(made, overwriting: true)
    #expect(try await Self.note(store) == Note(id: 1, title: "Made", text: "x"))
    // A store whose tables are not synchronized overwrites the row and reports the changed columns.
    let plain = try EntityStore(queue, Note.self)
    #expect(try await plain.save(Note(id: 1, title: "Plain")).changes.map(\.columns) == [["title", "text"]])
  }

  @Test("Saving a stale object of a deleted row throws conflict, and overwriting recreates the row")
  func deleted() async throws {
    let (store, queue) = try Self.store()
    var form = try await Self.note(store)
    form.text = "mine"
    try await queue.write { try $0.execute(sql: "DELETE FROM note") }
    let stale = form
    let error = await #expect(throws: EntityError.self) { try await store.save(stale) }
    #expect(error?.code == .conflict)
    #expect(try await store.fetchAll(Note.all()).isEmpty)
    try await store.save(form, overwriting: true)
    #expect(try await store.fetchAll(Note.all()).count == 1)
  }

  @Test("A copy with another key is a new row, and saved returns the key assigned by the database")
  func copies() async throws {
    let (store, _) = try Self.store()
    var copy = try await Self.note(store)
    (copy.id, copy.title) = (nil, "Copy")
    let saved = try await store.saved(copy)
    #expect(saved.id == 2 && saved.fetched.isKnown)
    (copy.id, copy.title) = (7, "Copy 7")
    try await store.save(copy)
    #expect(try await store.fetchAll(Note.all()).map(\.id) == [1, 2, 7])
    // The object that `saved` returned can be saved again and again.
    var next = saved
    for text in ["a", "b", "c"] {
      next.text = text
      next = try await store.saved(next)
    }
    #expect(next.text == "c")
  }

  @Test("A class instance can be saved repeatedly, even after a rolled-back transaction")
  func objects() async throws {
    let (store, queue) = try Self.store()
    let folder = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    for name in ["x", "y"] {
      folder.name = name
      folder.pages[0].text = name
      try await store.save(folder)
    }
    struct Nothing: Error {}
    folder.name = "z"
    #expect(throws: Nothing.self) {
      try queue.write { db in
        try store.save(folder, in: db)
        throw Nothing()
      }
    }
    try await store.save(folder)
    folder.name = "zz"
    try await queue.write { try $0.execute(sql: "UPDATE page SET text = 'theirs' WHERE id = 2") }
    try await store.save(folder)
    let found = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    #expect(found.name == "zz" && found.pages.map(\.text) == ["y", "theirs"])
    #expect(folder.pages.map(\.text) == ["y", "two"], "the object stays as it is")
    // An object created by the app has a base after its first save.
    let made = Folder(5, "made")
    try await store.save(made)
    made.name = "again"
    try await store.save(made)
    #expect(try await store.fetchOne(Folder.filter(key: 5))?.name == "again")
  }

  @Test("List elements and pairs that the object never contained are kept")
  func lists() async throws {
    let (store, queue) = try Self.store()
    let folder = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    try await queue.write {
      try $0.execute(
        sql:
          "INSERT INTO page VALUES (9, 'theirs', 2, 1); INSERT INTO folderLabel VALUES (1, 2); DELETE FROM page WHERE id = 2"
      )
    }
    folder.pages.append(Page(10, "mine"))
    folder.labels = []
    try await store.save(folder)
    let found = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    #expect(Set(found.pages.map(\.id)) == [1, 9, 10])
    #expect(found.labels.map(\.id) == [2])
  }

  @Test("A separately fetched object in a list overwrites its row only if the row is unchanged")
  func apart() async throws {
    for isStale in [false, true] {
      let (store, queue) = try Self.store()
      let page = try #require(try await store.fetchOne(Page.filter(key: 3)))
      let folder = try #require(try await store.fetchOne(Folder.filter(key: 1)))
      if isStale { try await queue.write { try $0.execute(sql: "UPDATE page SET text = 'theirs' WHERE id = 3") } }
      page.text = "mine"
      folder.pages.append(page)
      guard isStale else {
        try await store.save(folder)
        #expect(try await store.fetchOne(Folder.filter(key: 1))?.pages.map(\.text) == ["one", "two", "mine"])
        continue
      }
      let error = await #expect(throws: EntityError.self) { try await store.save(folder) }
      #expect(error?.code == .conflict)
      #expect(try await store.fetchOne(Page.filter(key: 3))?.text == "theirs")
      // Saving a folder without a base throws instead of removing pages.
      let made = Folder(2, "B")
      let stale = await #expect(throws: EntityError.self) { try await store.save(made) }
      #expect(stale?.code == .staleSave)
    }
  }

  @Test("Merging and copying keep the base; archives, JSON and equality ignore it")
  func sources() async throws {
    let (store, queue) = try Self.store()
    var note = try await Self.note(store)
    try note.mergeValues(fromJSON: Data(#"{"title": "Merged"}"#.utf8))
    #expect(note.fetched.isKnown)
    try await queue.write { try $0.execute(sql: "UPDATE note SET text = 'theirs'") }
    try await store.save(note)
    #expect(try await Self.note(store) == Note(id: 1, title: "Merged", text: "theirs", size: 3, tags: ["a"]))
    let fetched = try await Self.note(store)
    #expect(try fetched.copy().fetched.isKnown)
    #expect(try fetched.copy(updating: ["title": "Other"]).fetched.isKnown)
    let archive = try ArchiveEncoder().encode(fetched)
    #expect(!(try ArchiveDecoder().decode(Note.self, from: archive).fetched.isKnown))
    let plain = Note(id: 1, title: "Merged", text: "theirs", size: 3, tags: ["a"])
    #expect(try archive == ArchiveEncoder().encode(plain))
    #expect(!(String(decoding: try fetched.jsonData(), as: UTF8.self).contains("fetched")))
    // The copy of an object has a base of its own.
    let folder = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    let copy = try folder.copy()
    folder.name = "mine"
    try await store.save(folder)
    copy.labels = []
    try await store.save(copy)
    #expect(try await store.fetchOne(Folder.filter(key: 1))?.name == "mine")
  }

  @Test("Two objects of one row can be saved together if only one of them was changed", arguments: [0, 1])
  func twice(_ edited: Int) async throws {
    let (store, _) = try Self.store()
    var notes = [try await Self.note(store), try await Self.note(store)]
    notes[edited].title = "Mine"
    try await store.save(notes)
    #expect(try await Self.note(store).title == "Mine")
    var both = [try await Self.note(store), try await Self.note(store)]
    (both[0].title, both[1].title) = ("One", "Two")
    let stale = both
    let error = await #expect(throws: EntityError.self) { try await store.save(stale) }
    #expect(error?.code == .clash)
  }

  @Test("Saving with takeServer accepts a deletion and reports no changes")
  func takesDeletion() async throws {
    let (store, queue) = try Self.store()
    var form = try await Self.note(store)
    form.text = "mine"
    try await queue.write { try $0.execute(sql: "DELETE FROM note") }
    let stale = form
    let report = try await store.save(stale, conflicts: .takeServer)
    #expect(report.isEmpty && report.roots == [[.null]])
    await #expect(throws: EntityError.self) { try await store.saved(stale, conflicts: .takeServer) }
  }

  @Test("An element that was moved to different lists on both sides is a conflict")
  func moved() async throws {
    let (store, queue) = try Self.store()
    try await queue.write { try $0.execute(sql: "INSERT INTO folder VALUES (3, 'C', NULL)") }
    let folders = try await store.fetchAll(Folder.order(Column("id")))
    folders[1].pages.append(folders[0].pages.removeFirst())
    try await queue.write { try $0.execute(sql: "UPDATE page SET folderID = 3 WHERE id = 1") }
    let error = await #expect(throws: EntityError.self) { try await store.save(folders[1]) }
    #expect(error?.code == .conflict)
    #expect(try await store.fetchOne(Folder.filter(key: 3))?.pages.map(\.id) == [1])
    try await store.save(folders[1], conflicts: .takeServer)
    #expect(try await store.fetchOne(Folder.filter(key: 3))?.pages.map(\.id) == [1])
    let again = try await store.fetchAll(Folder.order(Column("id")))
    again[1].pages.append(again[2].pages.removeFirst())
    try await store.save(again[1])
    #expect(try await store.fetchOne(Folder.filter(key: 2))?.pages.map(\.id) == [3, 1])
  }

  @Test(
    "Changes to an element deleted by others conflict, and keepLocal recreates the element in its place"
  )
  func deletedElements() async throws {
    let (store, queue) = try Self.store()
    let folder = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    folder.mark = Label(id: 3, name: "green")
    try await store.save(folder)
    folder.pages[0].text = "mine"
    folder.mark?.name = "lime"
    try await queue.write {
      try $0.execute(
        sql:
          "DELETE FROM page WHERE folderID = 1; UPDATE folder SET markID = NULL WHERE id = 1; DELETE FROM label WHERE id = 3"
      )
    }
    let error = await #expect(throws: EntityError.self) { try await store.save(folder) }
    #expect(error?.code == .conflict)
    try await store.save(folder, conflicts: .keepLocal)
    let found = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    // The second page stays deleted, because it was not edited locally.
    #expect(found.pages.map(\.text) == ["mine"] && found.mark?.name == "lime")
  }

  @Test("A base applies only to its own row, not to another row that a key matches")
  func otherRow() async throws {
    let (store, queue) = try Self.store()
    try await queue.write { try $0.execute(sql: "INSERT INTO note VALUES (2, 'Other', 'theirs', 0, NULL)") }
    var form = try await Self.note(store)
    (form.id, form.title) = (nil, "Other")
    let stale = form
    let error = await #expect(throws: EntityError.self) { try await store.save(stale) }
    #expect(error?.code == .staleSave)
    try await store.save(form, overwriting: true)
    #expect(try await store.fetchAll(Note.order(Column("id"))).map(\.text) == ["old", "old"])
  }

  @Test("Mapping the merge base to a column throws invalidMapping")
  func mergeState() throws {
    let (_, queue) = try Self.store()
    for error in [
      #expect(throws: EntityError.self) { try EntityStore(queue, Merging.self) },
      #expect(throws: EntityError.self) { try EntityStore(queue, Mapped.self) },
    ] {
      #expect(error?.code == .invalidMapping && "\(error.map { "\($0)" } ?? "")".contains("RowBase"))
    }
  }

  @Test("Every fetch by an entity store sets the base; a fetch by GRDB alone does not")
  func ways() async throws {
    let (store, queue) = try Self.store()
    for try await notes in store.values(of: Note.all()) {
      #expect(notes.map(\.fetched.isKnown) == [true])
      break
    }
    try await queue.read { db in
      try store.forEach(Note.all(), in: db) { notes in #expect(notes.map(\.fetched.isKnown) == [true]) }
      #expect(try store.fetchOne(Note.all(), in: db)?.fetched.isKnown ?? false)
      #expect(try Note.fetchAll(db).map(\.fetched.isKnown) == [false])
    }
  }

  @Test("Objects in cycles are merged with their rows once each")
  func cycles() async throws {
    let (store, queue) = try Self.store()
    let boss = Person(1, "A")
    boss.team = [Person(2, "B", boss), Person(3, "C", boss)]
    boss.boss = boss.team[0]
    boss.team[0].team = [boss]
    try await store.save(boss)
    let found = try #require(try await store.fetchOne(Person.filter(key: 1)))
    try await queue.write { try $0.execute(sql: "UPDATE person SET name = 'theirs' WHERE id = 3") }
    found.team[0].name = "mine"
    found.name = "A2"
    let report = try await store.save(found)
    #expect(Set(report.changes.map(\.columns)) == [["name"]] && report.changes.count == 2)
    let names = try await queue.read { try String.fetchAll($0, sql: "SELECT name FROM person ORDER BY id") }
    #expect(names == ["A2", "mine", "theirs"])
    found.boss = nil
    found.team[0].team = []
    try await store.save(found)
    #expect(try await store.fetchOne(Person.filter(key: 1))?.boss == nil)
  }

  @Test("Random edits of objects merge with random edits of their rows", arguments: [UInt64(1), 2, 3, 4])
  func chance(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<EntityRandomTests.rounds * 5 {
      let (store, queue) = try Self.store()
      // Leaves some relations unread. Only the other writers change the rows of these relations.
      let included = random.isOnce(in: 2) ? nil : Set(["pages", "labels", "mark"].filter { _ in random.isOnce(in: 2) })
      func reads(_ key: String) -> Bool { included?.contains(key) ?? true }
      let folder = try #require(try await store.fetchOne(Folder.filter(key: 1), including: included))
      #expect(folder.fetched.unread == Set(["pages", "labels", "mark"].filter { !reads($0) }))
      let note = try await Self.note(store)
      // Other writers change some columns and some list elements.
      var (title, text): (String, String?) = (note.title, note.text)
      if random.isOnce(in: 2) { title = "T" }
      if random.isOnce(in: 2) { text = random.isOnce(in: 2) ? nil : "T" }
      let theirs: Set<Int> = Set([1, 2, 4, 5].filter { _ in random.isOnce(in: 2) })
      try await queue.write { [title, text] db in
        try db.execute(sql: "UPDATE note SET title = ?, text = ?", arguments: [title, text])
        try db.execute(sql: "DELETE FROM page WHERE folderID = 1")
        for (place, id) in theirs.sorted().enumerated() {
          let name = id == 1 ? "one" : id == 2 ? "two" : "new \(id)"
          try db.execute(sql: "INSERT INTO page VALUES (?, ?, ?, 1)", arguments: [id, name, place])
        }
      }
      // Edits some values of the fetched object, too.
      var edited = note
      if random.isOnce(in: 2) { edited.title = random.isOnce(in: 2) ? "M" : "T" }
      if random.isOnce(in: 2) { edited.text = random.isOnce(in: 2) ? "M" : nil }
      func merged<T: Equatable>(_ base: T, _ mine: T, _ theirs: T) -> T? {
        mine == base ? theirs : theirs == base || theirs == mine ? mine : nil
      }
      let expected = (merged(note.title, edited.title, title), merged(note.text, edited.text, text))
      let stale = edited
      if let title = expected.0, let text = expected.1 {
        try await store.save(stale)
        let found = try await Self.note(store)
        #expect(found.title == title && found.text == text, "seed \(seed)")
      } else {
        let error = await #expect(throws: EntityError.self, "seed \(seed)") { try await store.save(stale) }
        #expect(error?.code == .conflict)
      }
      let mine: Set<Int> = Set([1, 2, 6].filter { _ in random.isOnce(in: 2) })
      let pages = mine.sorted().map { id in folder.pages.first { $0.id == id } ?? Page(id, "mine") }
      if reads("pages") { folder.pages = pages }
      let labels = [1, 2, 3].map { Label(id: $0, name: ["red", "blue", "green"][$0 - 1]) }
      func some(_ from: [Int]) -> Set<Int> { Set(from.filter { _ in random.isOnce(in: 2) }) }
      let (ours, others) = (some([1, 2, 3]), some([1, 2, 3]))
      if reads("labels") { folder.labels = Set(labels.filter { ours.contains($0.id) }) }
      let (mark, marked) = (random.oneOf([nil, 1, 2]), random.oneOf([nil, 1, 2]))
      if reads("mark") { folder.mark = mark.map { labels[$0 - 1] } }
      try await queue.write { db in
        try db.execute(sql: "UPDATE folder SET markID = ? WHERE id = 1", arguments: [marked])
        try db.execute(sql: "DELETE FROM folderLabel")
        for id in others { try db.execute(sql: "INSERT INTO folderLabel VALUES (1, ?)", arguments: [id]) }
      }
      guard let expectedMark = reads("mark") ? merged(nil, mark, marked) : .some(marked) else {
        let error = await #expect(throws: EntityError.self, "seed \(seed)") { try await store.save(folder) }
        #expect(error?.code == .conflict && error?.path == [.key("mark")])
        continue
      }
      // Even an overwriting save does not write relations that were not read.
      try await store.save(folder, overwriting: included?.isEmpty ?? false)
      let found = try #require(try await store.fetchOne(Folder.filter(key: 1)))
      func both(_ base: Set<Int>, _ mine: Set<Int>, _ theirs: Set<Int>) -> Set<Int> {
        theirs.subtracting(base.subtracting(mine)).union(mine.subtracting(base))
      }
      let expectedPages = reads("pages") ? both([1, 2], mine, theirs) : theirs
      let expectedLabels = reads("labels") ? both([1], ours, others) : others
      #expect(Set(found.pages.map(\.id)) == expectedPages, "seed \(seed), theirs \(theirs), mine \(mine)")
      #expect(Set(found.labels.map(\.id)) == expectedLabels, "seed \(seed), theirs \(others), mine \(ours)")
      #expect(found.mark?.id == expectedMark)
    }
  }

  @Test("A relation that was not fetched is never written, and assigning to it throws unreadRelation")
  func unread() async throws {
    let (store, queue) = try Self.store()
    let folder = try #require(try await store.fetchOne(Folder.filter(key: 1), including: ["labels"]))
    #expect(folder.pages.isEmpty && folder.labels.count == 1 && folder.fetched.unread == ["pages", "mark"])
    folder.name = "other"
    try await store.save(folder)
    // A save does not read relations, so these two stay unread.
    #expect(folder.fetched.unread == ["pages", "mark"])
    folder.name = "third"
    try await store.save(folder, overwriting: true)
    let whole = try #require(try await store.fetchOne(Folder.filter(key: 1)))
    #expect(whole.name == "third" && whole.pages.map(\.id) == [1, 2] && whole.fetched.unread.isEmpty)
    whole.name = "fourth"
    try await store.save(whole, base: folder)
    #expect(try await queue.read { try Int.fetchAll($0, sql: "SELECT id FROM page WHERE folderID = 1") } == [1, 2])
    folder.pages = [Page(9, "lost?")]
    let error = await #expect(throws: EntityError.self) { try await store.save(folder) }
    #expect(error?.code == .unreadRelation && error?.path == [.key("pages")])
    let other = await #expect(throws: EntityError.self) { try await store.save(folder, overwriting: true) }
    #expect(other?.code == .unreadRelation)
    #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM page") } == 3)
  }

  @Test("Relations of all entities in a fetch are included by key, and unknown keys throw invalidMapping")
  func including() async throws {
    let (store, queue) = try Self.store()
    try await queue.write { try $0.execute(sql: "INSERT INTO person VALUES (1, 'a', NULL), (2, 'b', 1), (3, 'c', 2)") }
    let top = try #require(try await store.fetchOne(Person.filter(key: 1), including: ["team"]))
    #expect(top.team.first?.team.first?.id == 3 && top.team.first?.boss == nil)
    top.team[0].team[0].name = "changed"
    try await store.save(top)
    let bosses = try await queue.read { try Int?.fetchAll($0, sql: "SELECT bossID FROM person ORDER BY id") }
    #expect(bosses == [nil, 1, 2])
    let error = await #expect(throws: EntityError.self) {
      try await store.fetchAll(Folder.all(), including: ["sheets"])
    }
    #expect(error?.code == .invalidMapping && error?.description.contains("pages") ?? false)
    let bare = try EntityStore(queue, Bare.self, Page.self)
    let missing = await #expect(throws: EntityError.self) { try await bare.fetchAll(Bare.all(), including: []) }
    #expect(missing?.code == .invalidMapping && missing?.path == [.key("pages")])
    #expect(try await bare.fetchAll(Bare.order(Column("id")), including: ["pages"]).map(\.pages.count) == [2, 1])
    try await queue.read { db in
      let all = try store.fetchAll(Folder.order(Column("id")), including: [], in: db)
      #expect(all.map(\.fetched.unread.count) == [3, 3])
      try store.forEach(Folder.all(), including: ["mark"], batchSize: 1, in: db) { folders in
        #expect(folders.allSatisfy { $0.fetched.unread == ["pages", "labels"] })
      }
    }
  }
}
