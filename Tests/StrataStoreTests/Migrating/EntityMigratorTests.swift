import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Entities: rows are migrated with the steps of their models")
struct EntityMigratorTests {
  @Test("Migrated rows equal the migrated archives of the same values")
  func oracle() throws {
    try withFolder { folder in
      let url = folder.appending(path: "app.sqlite"), backup = folder.appending(path: "backup.sqlite")
      let queue = try incidentFile(url, 100)
      let proposal = try queue.read { try Incident.migrator.proposedSQL($0) }
      #expect(
        proposal == [
          #"ALTER TABLE "ticket" ADD COLUMN "title" TEXT"#, #"ALTER TABLE "ticket" ADD COLUMN "stars" INTEGER"#,
          #"ALTER TABLE "ticket" ADD COLUMN "owner" INTEGER REFERENCES "reporter" ("id")"#,
          #"ALTER TABLE "ticket" ADD COLUMN "pages" DOUBLE"#,
        ])
      var twice = Incident.migrator
      twice.register(Incident.self, unrecorded: 1)
      let again = try queue.read { [twice] db in try twice.proposedSQL(db) }
      #expect(again == proposal)
      try addIncidentColumns(queue)
      #expect(try queue.read { try Incident.migrator.proposedSQL($0) } == [])
      let before = try queue.content("ticket")
      // A dry run changes no byte and returns the same report as the migration.
      let bytes = try Data(contentsOf: url)
      let trial = try queue.read { try Incident.migrator.dryRun($0) }
      #expect(try Data(contentsOf: url) == bytes)
      let report = try Incident.migrator.migrate(queue, backup: backup, batchSize: 7)
      #expect("\(report)" == "\(trial)")
      #expect("\(report)" == "ticket 1 → 5: 100 of 100 rows changed")
      #expect(
        report.tables[0].changedColumns == [
          "title": 100, "opened": 100, "points": 34, "stars": 100, "owner": 75, "pages": 100, "mark": 100,
        ])
      #expect(
        report.tables[0].samples.filter { $0.column == "title" }.map(\.after)
          == ["s0 é!", "s1 é!", "s2 é!"].map(\.databaseValue))
      let entities = try EntityStore(queue, Incident.self)
      #expect(try queue.read { try entities.fetchAll(Incident.order(Column("id")), in: $0) } == upgradedIncidents(100))
      // The columns of keys that were dropped or renamed keep their values.
      #expect(
        try queue.read { try Incident.migrator.unusedColumns($0) }["ticket"] == [
          "legacy", "reporter", "sizeInPages", "summary",
        ])
      let after = try queue.content("ticket")
      for place in [1, 4, 6, 7] { #expect(before.map { $0[place] } == after.map { $0[place] }) }
      // The backup contains the state before the migration.
      #expect(try DatabaseQueue(path: backup.path).content("ticket") == before)
      // A second migration changes nothing.
      let last = try Data(contentsOf: url)
      #expect("\(try Incident.migrator.migrate(queue, backup: backup))" == "nothing to migrate")
      #expect(try Data(contentsOf: url) == last)
    }
  }

  @Test("A store on tables of version 1 reports every column that the models need")
  func tablesFitTheModels() throws {
    let queue = try DatabaseQueue()
    try queue.write { try Incident1.tables($0) }
    let error = #expect(throws: EntityError.self) { try EntityStore(queue, Incident.self) }
    let text = "\(error.map { "\($0)" } ?? "")"
    for column in ["title", "stars", "owner", "pages"] { #expect(text.contains(column), "\(text)") }
    try addIncidentColumns(queue)
    #expect(throws: Never.self) { try EntityStore(queue, Incident.self) }
  }

  @Test("An interrupted migration continues after its last batch and keeps the original backup")
  func interrupts() throws {
    try withFolder { folder in
      let expected = try upgradedIncidents(30)
      for stop in 1...5 {
        let url = folder.appending(path: "\(stop).sqlite"), backup = folder.appending(path: "\(stop).backup")
        let queue = try incidentFile(url, 30)
        try addIncidentColumns(queue)
        var reads = 0, runs = 0, isDone = false
        while !isDone {
          runs += 1
          let (report, isInterrupted) = try Interrupted.migrate(
            Incident.migrator, queue, after: stop, backup: backup)
          reads += report?.tables.first?.rows ?? 0
          isDone = !isInterrupted
          guard isInterrupted else { continue }
          entityError(.unmigrated) { try EntityStore(queue, Incident.self) }
        }
        #expect(runs > 1 && reads == 30)
        let entities = try EntityStore(queue, Incident.self)
        let found = try queue.read { try entities.fetchAll(Incident.order(Column("id")), in: $0) }
        #expect(found == expected)
        #expect(
          try DatabaseQueue(path: backup.path).read {
            try Int.fetchOne($0, sql: "SELECT count(title) FROM ticket")
          }
            == 0)
      }
    }
  }

  @Test("A row that cannot be migrated stops the migration and is named; a dry run lists all such rows")
  func failures() throws {
    try withFolder { folder in
      let queue = try incidentFile(folder.appending(path: "app.sqlite"), 40)
      try addIncidentColumns(queue)
      try queue.write {
        try $0.execute(
          sql: "UPDATE ticket SET opened = 'soon' WHERE id IN (60, 63); UPDATE ticket SET mark = x'00' WHERE id = 90")
      }
      let before = try queue.content("ticket")
      let trial = try queue.read { try Incident.migrator.dryRun($0) }.tables[0]
      #expect(trial.failures.map(\.primaryKey) == [[60], [63], [90]].map { $0.map(\.databaseValue) })
      #expect(trial.failures.map(\.code) == [.migrationFailed, .migrationFailed, .notReadable])
      #expect(trial.failures.map(\.path) == [[.key("opened")], [.key("opened")], [.key("mark")]])
      #expect(trial.rows == 40 && trial.changedRows == 37)
      let error = entityError(.migrationFailed) { try Incident.migrator.migrate(queue, batchSize: 8) }
      #expect(error?.primaryKey == [60.databaseValue] && error?.table == "ticket")
      #expect(error?.description.contains("row 60") == true)
      // The first two batches were written, but no row of the third batch, which contains row 60.
      let rows = try queue.content("ticket")
      #expect(zip(rows, before).map { $0 != $1 } == (0..<40).map { $0 < 16 })
      try queue.write {
        try $0.execute(
          sql:
            "UPDATE ticket SET opened = '2020-01-01' WHERE id IN (60, 63); UPDATE ticket SET mark = (SELECT mark FROM ticket WHERE id = 0) WHERE id = 90"
        )
      }
      #expect(try Incident.migrator.migrate(queue, batchSize: 8).tables[0].rows == 24)
      let entities = try EntityStore(queue, Incident.self)
      let found = try queue.read { try entities.fetchAll(Incident.order(Column("id")), in: $0) }
      #expect(found.count == 40 && found.allSatisfy { $0.title.hasSuffix("é!") && !$0.title.hasSuffix("!!") })
    }
  }

  @Test("Rows without a recorded version throw if their model has steps; empty tables count as current")
  func unrecorded() throws {
    let queue = try database(Incident1.tables)
    try addIncidentColumns(queue)
    var migrator = EntityMigrator()
    migrator.register(Incident.self)
    let fresh = try database(Incident1.tables)
    try addIncidentColumns(fresh)
    #expect("\(try migrator.migrate(fresh))" == "nothing to migrate")
    #expect(
      try fresh.lines("SELECT name, part, model, version, last FROM strata_entity_versions") == [
        "reporter|0|Reporter|1|-", "ticket|0|Incident|5|-",
      ])
    try queue.write { try $0.execute(sql: "INSERT INTO ticket (id) VALUES (1)") }
    for body in [{ _ = try migrator.migrate(queue) }, { _ = try queue.read { try migrator.dryRun($0) } }] {
      let error = entityError(.invalidMapping, body)
      #expect(error?.reason.contains("unrecorded") == true && error?.table == "ticket")
    }
    // If no versions are recorded, a store assumes that all rows have the current version.
    _ = try EntityStore(queue, Incident.self)
  }

  @Test(
    "Stores reject rows of another version, at creation and after another program migrates them"
  )
  func versions() throws {
    try withFolder { folder in
      let url = folder.appending(path: "app.sqlite")
      let queue = try incidentFile(url, 3)
      try addIncidentColumns(queue)
      let pool = try DatabasePool(path: url.path)
      let old = try EntityStore(pool, Incident.self)
      let other = try EntityStore(queue, Reporter.self)
      func saveAndFetch(_ store: EntityStore) throws {
        _ = try pool.read { try store.fetchOne(Reporter.all(), in: $0) }
        try pool.write { _ = try store.save(Reporter(id: 50, name: "a"), in: $0) }
      }
      try saveAndFetch(old)
      // Another connection migrates the rows and records their versions.
      try Incident.migrator.migrate(queue)
      try saveAndFetch(old)
      #expect(try pool.read { try old.fetchAll(Incident.all(), in: $0) }.count == 3)
      for (version, code) in [(6, .newerModel), (4, .unmigrated)] as [(Int, EntityError.Code)] {
        try queue.write {
          try $0.execute(
            sql: "UPDATE strata_entity_versions SET version = ? WHERE name = 'ticket'", arguments: [version])
        }
        entityError(code) { try pool.read { try old.fetchAll(Incident.all(), in: $0) } }
        entityError(code) { try pool.write { try old.save(Reporter(id: 1, name: "b"), in: $0) } }
        entityError(code) { try EntityStore(pool, Incident.self) }
        // A store that does not use the migrated entity still works.
        _ = try queue.read { try other.fetchAll(Reporter.all(), in: $0) }
      }
      try queue.write { try $0.execute(sql: "UPDATE strata_entity_versions SET version = 6 WHERE name = 'ticket'") }
      entityError(.newerModel) { try Incident.migrator.migrate(queue) }
      entityError(.newerModel) { try queue.read { try Incident.migrator.dryRun($0) } }
    }
  }

  @Test("An app update during a migration upgrades each row from its own version", arguments: 0..<8)
  func updates(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let queue = try Log.queue(60)
    for migrator in [Log2.migrator, Log3.migrator, Log4.migrator, Log2.migrator, Log4.migrator] {
      do {
        _ = try Interrupted.migrate(migrator, queue, after: random.below(4), batchSize: 1 + random.below(9))
      } catch let error as EntityError where error.code == .newerModel {}
    }
    try Log4.migrator.migrate(queue, batchSize: 4)
    #expect(try queue.lines("SELECT DISTINCT text FROM log") == ["1234"])
    #expect(
      try queue.lines("SELECT count(*), max(part), max(version) FROM log, strata_entity_versions") == ["60|0|4"])
  }
}

/// Interrupts a migration after a number of batches.
enum Interrupted {
  private struct Stop: Error {}

  static func migrate(
    _ migrator: EntityMigrator, _ queue: DatabaseQueue, after batches: Int, backup: URL? = nil, batchSize: Int = 5
  ) throws -> (EntityMigrationReport?, isInterrupted: Bool) {
    var last: EntityMigrationReport?, count = 0
    do {
      let report = try migrator.migrate(queue, backup: backup, batchSize: batchSize) { report in
        last = report
        count += 1
        if count >= batches { throw Stop() }
      }
      return (report, false)
    } catch is Stop { return (last, true) }
  }
}
