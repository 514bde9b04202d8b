import StrataStore
import Strata
import Testing

private enum Older {
  @Model(version: 3, name: "Note")
  struct Note: Equatable {
    var title = ""
    var unknownFields = UnknownFields()
  }
}

private enum Newer {
  @Model(version: 4, name: "Note", oldestReader: 3, oldestWriter: 3)
  struct Note: Equatable, Migratable {
    var title = ""
    var stars: Int
    var unknownFields = UnknownFields()

    static let migration = MigrationPlan(.step(from: 3, to: 4, .setDefault("stars", 7)))
  }
}

@Suite("Oldest reader versions in a store")
struct StoreFloorTests {
  @Test("An older program can edit a newer value without losing the newer program's fields")
  func rollback() throws {
    let store = try SnapshotStore(inMemory: StoreOptions())
    let note = Newer.Note(title: "new", stars: 3)
    try store.write { transaction in
      try transaction.save(note, as: "one")
      try transaction.save([note, note], as: "list")
    }
    try store.write { transaction in
      var old = try #require(try transaction.value(Older.Note.self, for: "one"))
      old.title = "edited"
      try transaction.save(old, as: "one")
      var list = try #require(try transaction.value([Older.Note].self, for: "list"))
      list[0].title = "edited"
      try transaction.save(list, as: "list")
      // An object created by the older program lacks the newer program's fields, so saving it fails.
      #expect(throws: StoreError.self) { try transaction.save(Older.Note(title: "own"), as: "one") }
    }
    try store.read { transaction in
      let one = try #require(try transaction.value(Newer.Note.self, for: "one"))
      #expect(one == Newer.Note(title: "edited", stars: 3))
      #expect(try transaction.value([Newer.Note].self, for: "list")?.map(\.title) == ["edited", "new"])
      // The older program can also decode the archive.
      let archive = try transaction.archive(of: "one")
      #expect(try ArchiveDecoder().decode(Older.Note.self, from: archive).title == "edited")
    }
  }
}
