import Foundation
import GRDB
import StrataCore
import StrataStore

extension Benchmark {
  /// Benchmarks of entity rows and of snapshots. The databases are in memory.
  static var storing: [Benchmark] {
    [
      // Alternates between two documents, so that each call changes one row in ten.
      Benchmark("rows/apply-json", calls: 2) {
        let models = Small.make(100)
        let texts = [try JSONWriter().write(models.changed()), try JSONWriter().write(models)]
        let (database, entities) = try rows(models)
        var turn = 0
        func apply() throws -> EntityReport {
          turn += 1
          return try database.write { db in try entities.apply(.json(texts[(turn - 1) % 2]), to: Small.self, in: db) }
        }
        try check(try apply().total == .init(updated: 10, unchanged: 90), "the rows that JSON changes")
        try check(
          try database.read { try entities.fetchAll(Small.order(Column("id")), in: $0) } == models.changed(),
          "the rows that JSON changed")
        _ = try apply()
        return { consume(try apply()) }
      },
      Benchmark("rows/save", calls: 10) {
        let models = Small.make(100)
        let (database, entities) = try rows(models)
        let states = [models[50].changed(), models[50]]
        var turn = 0
        func save() throws -> EntityReport {
          turn += 1
          return try database.write { db in try entities.save(states[(turn - 1) % 2], in: db) }
        }
        try check(try save().total == .init(updated: 1), "the row that is saved")
        try check(try fetch(50, database, entities) == states[0], "the row that was saved")
        _ = try save()
        return { consume(try save()) }
      },
      Benchmark("rows/read", calls: 10) {
        let models = Small.make(100)
        let (database, entities) = try rows(models)
        try check(try fetch(50, database, entities) == models[50], "a row that is read")
        return { consume(try fetch(50, database, entities)) }
      },
      Benchmark("rows/fetch") {
        let blogs = Blog.make(100)
        let database = try Blog.database()
        let entities = try EntityStore(database, Blog.self)
        try database.write { db in _ = try entities.save(blogs, in: db) }
        func fetch() throws -> [Blog] {
          try database.read { db in try entities.fetchAll(Blog.order(Column("id")), in: db) }
        }
        try check(try fetch().map(\.posts) == blogs.map(\.posts), "the blogs that are fetched")
        return { consume(try fetch()) }
      },
      Benchmark("store/save", calls: 20) {
        let store = try snapshots(Small.make(100))
        let states = [Small.make(number: 50).changed(), Small.make(number: 50)]
        var turn = 0
        func save() throws -> StoreRevision {
          turn += 1
          return try store.write { try $0.save(states[(turn - 1) % 2], as: "small/50", author: "ann") }
        }
        let revision = try save()
        try check(revision.number == 2, "the second revision")
        try check(try store.read { try $0.value(Small.self, for: "small/50") } == states[0], "a snapshot")
        return { consume(try save()) }
      },
      Benchmark("store/read", calls: 20) {
        let store = try snapshots(Small.make(100))
        func read() throws -> Small? { try store.read { try $0.value(Small.self, for: "small/50") } }
        try check(try read() == Small.make(number: 50), "a snapshot that is read")
        return { consume(try read()) }
      },
    ]
  }

  /// Creates a table that contains these models.
  private static func rows(_ models: [Small]) throws -> (DatabaseQueue, EntityStore) {
    let database = try DatabaseQueue()
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE small (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL NOT NULL, isFlagged BOOLEAN NOT NULL,
            createdAt DATETIME NOT NULL)
          """)
    }
    let entities = try EntityStore(database, Small.self)
    try database.write { db in
      _ = try entities.save(models, in: db)
    }
    return (database, entities)
  }

  private static func fetch(_ id: Int, _ database: DatabaseQueue, _ entities: EntityStore) throws -> Small? {
    try database.read { db in try entities.fetchOne(Small.filter(Column("id") == id), in: db) }
  }

  /// Creates a store that contains these models under their identifiers. Its clock is fixed.
  private static func snapshots(_ models: [Small]) throws -> SnapshotStore {
    var options = StoreOptions()
    options.clock = { Date(timeIntervalSince1970: 1_700_000_000) }
    let store = try SnapshotStore(inMemory: options)
    try store.write { transaction in
      for model in models { try transaction.save(model, as: "small/\(model.id)", author: "ann") }
    }
    return store
  }
}
