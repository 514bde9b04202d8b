import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Changes to the schema of a store")
struct SchemaChangeTests {
  private struct Stop: Error {}

  /// A schema step to a format that older programs may read but not write.
  static let step = StoreSchema.Step(minimumReader: 1, minimumWriter: 2) { prefix, execute in
    try execute("CREATE TABLE \(prefix)extra (id INTEGER PRIMARY KEY, what TEXT)")
    try execute("INSERT INTO \(prefix)extra (what) SELECT author FROM \(prefix)revisions")
  }

  private func fill(_ url: URL) throws -> [String: [String]] {
    try CheckTests.fill(url, seed: 3, keys: 5, revisions: 4)
    return try CheckTests.dump(url)
  }

  private func extra(_ url: URL) throws -> Int {
    try Database.change(url) { try $0.number("SELECT count(*) FROM sqlite_master WHERE name = 'extra'") }
  }

  private func versions(_ url: URL) throws -> [Int] {
    try Database.change(url) { database in
      try ["format", "minimumReader", "minimumWriter"].map {
        try database.number("SELECT value FROM meta WHERE name = '\($0)'")
      }
    }
  }

  @Test("A schema step runs once, after a safety copy, and makes open older programs read-only")
  func change() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "store.before-schema-2")
      let before = try fill(url)
      let older = try SnapshotStore(url: url)
      let newer = try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.step]))
      #expect(try newer.status().format == 2 && !newer.isReadOnly)
      try newer.write { _ = try $0.save(1, as: "n") }
      let error = storeError(.readOnly) { try older.write { try $0.save(2, as: "n") } }
      #expect(error?.foundVersion == 2 && error?.supportedVersion == 1)
      #expect(try older.read { try $0.value(Int.self, for: "n") } == 1)
      try older.close()
      try newer.close()
      #expect(try versions(url) == [2, 1, 2])
      #expect(try CheckTests.dump(copy) == before)
      #expect(try versions(copy) == [1, 1, 1])
      // Opening the store again changes nothing.
      try FileManager.default.removeItem(at: copy)
      let again = try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.step]))
      #expect(try again.check(.full).findings.map(\.description) == [])
      try again.close()
      #expect(!FileManager.default.fileExists(atPath: copy.path))
      // Programs of the current format open it read-only.
      #expect(try SnapshotStore(url: url).isReadOnly)
    }
  }

  @Test("Several schema steps run together, and a new store has all of them")
  func steps() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), new = folder.appending(path: "new")
      _ = try fill(url)
      let second = StoreSchema.Step(minimumReader: 3, minimumWriter: 3) { prefix, execute in
        try execute("ALTER TABLE \(prefix)extra ADD COLUMN more INTEGER")
      }
      let schema = StoreSchema(steps: [Self.step, second])
      for url in [url, new] {
        let store = try SnapshotStore(url: url, schema: schema)
        try store.write { _ = try $0.save(1, as: "n") }
        try store.close()
        #expect(try versions(url) == [3, 3, 3])
        #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM pragma_table_info('extra')") } == 3)
        storeError(.newerStore) { try SnapshotStore(url: url) }
      }
      #expect(!FileManager.default.fileExists(atPath: new.path + ".before-schema-3"))
    }
  }

  @Test("Opening a store read-only does not change its schema")
  func reading() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      _ = try fill(url)
      let bytes = try Data(contentsOf: url)
      var options = StoreOptions()
      options.isReadOnly = true
      let store = try SnapshotStore(url: url, options: options, schema: StoreSchema(steps: [Self.step]))
      #expect(try store.status().format == 1)
      try store.close()
      #expect(try Data(contentsOf: url) == bytes && versions(url) == [1, 1, 1])
    }
  }

  private static let failing: [@Sendable (String, (String) throws -> Void) throws -> Void] = [
    { _, _ in throw Stop() },
    { _, execute in
      try execute("DELETE FROM labels")
      try execute("no statement")
    },
    // This change itself succeeds, but the check before the commit rejects it.
    { _, execute in try execute("DELETE FROM keys") },
  ]

  @Test("A failed schema step leaves the store unchanged", arguments: failing.indices)
  func failure(place: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let before = try fill(url)
      let change = Self.failing[place]
      let schema = StoreSchema(steps: [
        StoreSchema.Step(minimumReader: 2, minimumWriter: 2) { prefix, execute in
          try Self.step.run(prefix, execute)
          try change(prefix, execute)
        }
      ])
      for _ in 0..<2 {
        storeError(.schemaChangeFailed) { try SnapshotStore(url: url, schema: schema) }
      }
      #expect(try versions(url) == [1, 1, 1] && extra(url) == 0)
      #expect(try CheckTests.dump(url) == before)
      let store = try SnapshotStore(url: url)
      #expect(try store.check(.full).isClean)
      try store.write { _ = try $0.save(1, as: "n") }
    }
  }

  @Test(
    "A schema change interrupted before verification is completed or undone by the next opening",
    arguments: [false, true])
  func cutOff(isDamaged: Bool) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let before = try fill(url)
      #expect(throws: Stop.self) {
        try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.step]) { throw Stop() })
      }
      #expect(try versions(url) == [2, 1, 2])
      if isDamaged {
        // Simulates a disk that wrote wrong data.
        let page = try #require(try Database.change(url) { try $0.pages(of: "revisions") }.last)
        try Database.overwrite(url, pages: [page])
        let error = storeError(.schemaChangeFailed) {
          try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.step]))
        }
        #expect(error?.reason.contains("the safety copy was restored") == true)
        #expect(try versions(url) == [1, 1, 1] && extra(url) == 0)
        #expect(try CheckTests.dump(url) == before)
      } else {
        let store = try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.step]))
        #expect(try store.check(.full).findings.map(\.description) == [])
        try store.close()
        #expect(
          try Database.change(url) { try $0.number("SELECT count(*) FROM meta WHERE name = 'schemaChange'") } == 0)
        #expect(try CheckTests.dump(url) == before)
      }
    }
  }

  /// A schema step after which programs of format 1 may still save.
  private static let open = StoreSchema.Step(minimumReader: 1, minimumWriter: 1, change: step.run)

  @Test("Saves throw busy until a schema change is verified, so restoring the copy loses nothing")
  func nobodySaves() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let before = try fill(url)
      let older = try SnapshotStore(url: url)
      let schema = StoreSchema(steps: [Self.open]) {
        // Another program tries to save before the verification. The test then damages the file, and the verification notices the damage.
        storeError(.busy) { try older.write { _ = try $0.save(1, as: "n") } }
        try older.close()
        try Database.overwrite(url, pages: [#require(try Database.change(url) { try $0.pages(of: "revisions") }.last)])
      }
      #expect(storeError(.schemaChangeFailed) { try SnapshotStore(url: url, schema: schema) } != nil)
      #expect(try CheckTests.dump(url) == before)
      let store = try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.open]))
      let other = try SnapshotStore(url: url)
      try other.write { _ = try $0.save(1, as: "n") }
      #expect(try store.read { try $0.value(Int.self, for: "n") } == 1)
    }
  }

  @Test("An interrupted schema change is completed once, by any program that opens the store")
  func finishedByOther() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      _ = try fill(url)
      let schema = StoreSchema(steps: [Self.open])
      let older = try SnapshotStore(url: url)
      #expect(throws: Stop.self) {
        try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.open]) { throw Stop() })
      }
      storeError(.busy) { try older.write { _ = try $0.save(1, as: "n") } }
      // A program that uses the older format opens the store and completes the change.
      let again = try SnapshotStore(url: url)
      for store in [older, again] { try store.write { _ = try $0.save(2, as: "n") } }
      // From now on, the safety copy is never restored, whatever happens to the file.
      let last = try older.read { try $0.revision(of: "n")?.number }
      #expect(try SnapshotStore(url: url, schema: schema).read { try $0.revision(of: "n")?.number } == last)
    }
  }

  @Test("If the safety copy is missing, a damaged store is left unchanged")
  func withoutCopy() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "store.before-schema-2")
      _ = try fill(url)
      let schema = StoreSchema(steps: [Self.open])
      #expect(throws: Stop.self) {
        try SnapshotStore(url: url, schema: StoreSchema(steps: [Self.open]) { throw Stop() })
      }
      try Database.overwrite(url, pages: [#require(try Database.change(url) { try $0.pages(of: "revisions") }.last)])
      try FileManager.default.removeItem(at: copy)
      let error = storeError(.schemaChangeFailed) { try SnapshotStore(url: url, schema: schema) }
      #expect(error?.reason.contains("stays as it is") == true)
      #expect(try versions(url) == [2, 1, 1] && !FileManager.default.fileExists(atPath: copy.path))
    }
  }

  @Test("A schema change in an app's database ignores violations in the app's own tables")
  func appTables() throws {
    try withFolder { folder in
      let url = folder.appending(path: "app")
      let writer = try DatabaseQueue(path: url.path)
      try writer.writeWithoutTransaction { db in
        try db.execute(
          sql: """
            CREATE TABLE parents (id INTEGER PRIMARY KEY);
            CREATE TABLE children (parent INTEGER REFERENCES parents (id));
            PRAGMA foreign_keys = OFF;
            INSERT INTO children VALUES (7);
            PRAGMA foreign_keys = ON;
            """)
      }
      var store = try SnapshotStore(in: writer, prefix: "s_")
      try store.write { _ = try $0.save(1, as: "n") }
      let failing = StoreSchema(steps: [
        StoreSchema.Step(minimumReader: 1, minimumWriter: 1) { prefix, execute in
          try execute("DELETE FROM \(prefix)keys")
        }
      ])
      storeError(.schemaChangeFailed) { try SnapshotStore(in: writer, prefix: "s_", schema: failing) }
      store = try SnapshotStore(in: writer, prefix: "s_", schema: StoreSchema(steps: [Self.open]))
      #expect(try store.status().format == 2)
      try store.write { _ = try $0.save(2, as: "n") }
    }
  }
}
