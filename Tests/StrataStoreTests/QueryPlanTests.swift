import Foundation
import GRDB
import GRDBSQLite
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Query plans and time complexity")
struct QueryPlanTests {
  /// Records the statements that run on a database, and asks SQLite for their plans.
  private final class Traced: Sendable {
    private let found = Mutex<Set<String>>([])
    let queue: DatabaseQueue

    init() throws {
      var configuration = Configuration()
      configuration.prepareDatabase { [found] db in
        db.trace { event in
          guard case .statement(let statement) = event else { return }
          found.withLock { _ = $0.insert(statement.sql) }
        }
      }
      queue = try DatabaseQueue(configuration: configuration)
    }

    /// Runs `body` and returns the query plans of those of its statements that contain one of the names.
    func plans(naming names: [String], _ body: () throws -> Void) throws -> [(sql: String, plan: [String])] {
      found.withLock { $0.removeAll() }
      try body()
      let texts = found.withLock { $0 }.sorted().filter { text in
        ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains { text.hasPrefix($0) }
          && names.contains { text.contains($0) }
      }
      return try queue.read { db in
        try texts.map { text in
          let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN \(text)")
          statement.setUncheckedArguments([])
          return (text, try Row.fetchAll(statement).map { $0["detail"] })
        }
      }
    }
  }

  /// Saves rows of each kind for the calls under test.
  private func fill(_ store: SnapshotStore) throws {
    let long = String(repeating: "a long text ", count: 100)
    try store.write { transaction in
      for key in 0..<8 {
        for number in 0..<4 { try transaction.save(OldPoint(name: long, x: number, y: key), as: "old/\(key)") }
        for number in 0..<4 { try transaction.save("\(long) \(number)", as: "text/\(key)", note: "n") }
      }
      try transaction.save(number(1), as: "number")
      try transaction.save(number(2), as: "number", if: .isStill(1))
    }
  }

  private func number(_ value: Int) -> [String: Int] { ["value": value] }

  private func useKeys(_ store: SnapshotStore) throws {
    try store.write { transaction in
      try transaction.setLabel("l", of: "number", at: .revision(1))
      try transaction.undo("number")
      try transaction.redo("number")
      try transaction.restore("number", to: .label("l"))
      try transaction.delete("number")
      try transaction.undo("number")
      let archive = try transaction.archive(of: "text/1")
      try transaction.saveArchive(archive, as: "text/0")
      for point in [StorePoint.latest, .revision(2), .time(.distantFuture), .time(.now - 3600), .label("l")] {
        // Some of these points have no revision, so errors are ignored.
        _ = try? transaction.untypedValue(for: "number", at: point)
        _ = try? transaction.revision(of: "text/1", at: point)
      }
      _ = try transaction.difference(of: "number", from: .revision(1))
      _ = try transaction.history(of: "text/1")
      _ = try transaction.labels(of: "number")
      try transaction.removeLabel("l", of: "number")
    }
  }

  private func usePages(_ store: SnapshotStore) throws {
    try store.read { transaction in
      for (prefix, last) in [("", nil), ("", "old/1"), ("text/", nil), ("text/", "text/2")] as [(String, String?)] {
        _ = try transaction.revisions(prefix: prefix, after: last, limit: 3)
        _ = try transaction.revisions(prefix: prefix, after: last, limit: 3, deleted: true)
      }
      _ = try transaction.revisions(since: 3, limit: 3)
      try transaction.forEach(String.self) { _ in }
    }
    _ = try store.status()
    _ = try store.prune([.keepLast(3)], dryRun: true)
    _ = try store.prune([.keepLast(2)])
    _ = try store.upgrade([Point5.self])
  }

  @Test("Queries for keys and pages neither scan growing tables nor sort")
  func plans() throws {
    let traced = try Traced()
    let store = try SnapshotStore(in: traced.queue)
    let plans = try traced.plans(naming: ["strata_"]) {
      try fill(store)
      try useKeys(store)
      try usePages(store)
    }
    #expect(plans.count > 40)
    // Statements may scan these tables and aliases, because they have only one row for each definition, or for each revision that could not
    // be upgraded.
    let small = [
      "c", "d", "f", "strata_counts", "strata_definitions", "strata_failures", "strata_meta", "sqlite_sequence",
    ]
    for (sql, plan) in plans {
      for step in plan where step.hasPrefix("SCAN") {
        let name = step.split(separator: " ").dropFirst().first.map { String($0) } ?? ""
        #expect(small.contains(name) || step == "SCAN CONSTANT ROW", "\(step): \(sql)")
      }
      let sorts = plan.contains { $0.contains("TEMP B-TREE") }
      #expect(!sorts || sql.contains("FROM strata_counts"), "\(plan): \(sql)")
      #expect(!plan.contains { $0.contains("AUTOMATIC") }, "\(plan): \(sql)")
    }
  }

  @Test("Queries over the whole store build no automatic index and sort only by definition")
  func wholePlans() throws {
    let traced = try Traced()
    let store = try SnapshotStore(in: traced.queue)
    try fill(store)
    let plans = try traced.plans(naming: ["strata_"]) {
      let report = try store.check(.full)
      #expect(report.isClean)
      try withFolder { folder in
        let report = try store.salvage(to: folder.appending(path: "salvaged"))
        #expect(report.isComplete)
        try store.backup(to: folder.appending(path: "backup"))
      }
    }
    #expect(plans.count > 10)
    for (sql, plan) in plans {
      for step in plan {
        // This statement groups its counts by definition, so its result has only one row for each definition.
        let isOfCounts = sql.contains("WITH found")
        #expect(!step.contains("AUTOMATIC") || isOfCounts, "\(step): \(sql)")
        // A scan inside another loop would run once for each row of that loop.
        #expect(!step.hasPrefix("SCAN") || !step.hasSuffix("LEFT-JOIN"), "\(step): \(sql)")
        #expect(!step.contains("TEMP B-TREE") || isOfCounts && step.contains("GROUP BY"), "\(step): \(sql)")
      }
    }
  }

  @Test("Entities are found by index through every relation")
  func entityPlans() throws {
    let traced = try Traced()
    try traced.queue.write { db in
      try worldTables(db)
    }
    let entities = try EntityStore(traced.queue, Team.self)
    let names = try traced.queue.read { db in
      try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    let team = Team(1, "a", [Player(1, "ann", 1, nil, nil, []), Player(2, "ben")], [], nil)
    let plans = try traced.plans(naming: names.map { "\"\($0)\" AS" }) {
      try traced.queue.write { db in
        try entities.save(team, in: db)
        team.members.removeLast()
        try entities.save(team, in: db)
        _ = try entities.fetchAll(Team.filter(key: 1), in: db)
      }
    }
    #expect(!plans.isEmpty)
    for (sql, plan) in plans {
      for step in plan where step.hasPrefix("SCAN") {
        #expect(step == "SCAN v" || step.contains("CONSTANT ROW"), "\(step): \(sql)")
      }
    }
  }

  @Test("Reading a many-to-many relation uses only the index of the join table")
  func pairPlans() throws {
    let traced = try Traced()
    try traced.queue.write { db in
      try worldTables(db)
      try db.execute(
        sql: """
          DROP TABLE teamBadge;
          CREATE TABLE teamBadge (
            id INTEGER PRIMARY KEY, teamID INTEGER NOT NULL REFERENCES team(id),
            badgeID INTEGER NOT NULL REFERENCES badge(id), note TEXT, UNIQUE (teamID, badgeID));
          INSERT INTO team (id, name) VALUES (1, 'a');
          """)
    }
    let entities = try EntityStore(traced.queue, Team.self)
    let plans = try traced.plans(naming: ["\"teamBadge\" AS"]) {
      try traced.queue.read { db in _ = try entities.fetchAll(Team.filter(key: 1), in: db) }
    }
    #expect(!plans.isEmpty)
    for (sql, plan) in plans {
      #expect(plan.contains { $0.hasPrefix("SEARCH p USING COVERING INDEX") }, "\(plan): \(sql)")
    }
  }

  // MARK: Growth

  /// Returns how many hundred SQLite instructions `body` executes in a store that has the given number of keys.
  private func steps(_ keys: Int, _ body: (SnapshotStore) throws -> Void) throws -> Int {
    let queue = try DatabaseQueue()
    let store = try SnapshotStore(in: queue)
    try store.write { transaction in
      for key in 0..<keys {
        for number in 0..<3 {
          try transaction.save(OldPoint(name: "n", x: number, y: key), as: "item/\(100_000 + key)")
        }
      }
    }
    return try queue.countingSteps { try body(store) }
  }

  /// Checks that four times as many keys take less than five times the work.
  ///
  /// - Parameter body: receives a store and the number of its keys, and returns whether it visited all keys.
  private func expectLinear(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (SnapshotStore, Int) throws -> Bool
  ) throws {
    func steps(_ keys: Int) throws -> Int {
      try self.steps(keys) { store in
        let isComplete = try body(store, keys)
        #expect(isComplete, sourceLocation: sourceLocation)
      }
    }
    let (small, large) = (try steps(1000), try steps(4000))
    #expect(small > 0, sourceLocation: sourceLocation)
    #expect(
      large < 5 * small, "\(small) hundred steps, and \(large) with four times as many keys",
      sourceLocation: sourceLocation)
  }

  @Test("Paging through keys and revisions takes linear time")
  func paging() throws {
    try expectLinear { store, keys in
      var last: String?
      var count = 0
      while true {
        let page = try store.read { try $0.revisions(prefix: "item/", after: last, limit: 50) }
        guard let final = page.last else { break }
        count += page.count
        last = final.key
      }
      return count == keys
    }
    try expectLinear { store, keys in
      var (last, count) = (0 as Int64, 0)
      while true {
        let page = try store.read { try $0.revisions(since: last, limit: 50) }
        guard let final = page.last else { break }
        count += page.count
        last = final.sequence
      }
      return count == 3 * keys
    }
    try expectLinear { store, keys in
      var count = 0
      try store.read { transaction in
        try transaction.forEach(Point5.self, prefix: "item/") { entry in
          _ = try transaction.archive(of: entry.key)
          count += 1
        }
      }
      return count == keys
    }
  }

  @Test("Pruning takes time linear in the number of keys")
  func pruning() throws {
    try expectLinear { store, keys in
      try store.prune([.keepLast(1)], dryRun: true).removedCount == 2 * keys
    }
    try expectLinear { store, keys in try store.prune([.keepLast(1)]).removedCount == 2 * keys }
  }

  @Test("Upgrading takes time linear in the number of revisions, even if many fail")
  func upgrading() throws {
    try expectLinear { store, keys in try store.upgrade([Point5.self]).upgraded == 3 * keys }
    try expectLinear { store, keys in
      let report = try store.upgrade([StubbornPoint.self])
      return report.upgraded == 0 && report.failures.count + report.omittedFailures == 3 * keys
    }
  }

  @Test("Checking and salvaging take time linear in the number of revisions")
  func wholeStore() throws {
    try expectLinear { store, _ in try store.check(.full).isClean }
    try expectLinear { store, keys in
      try withFolder { try store.salvage(to: $0.appending(path: "salvaged")).keys == keys }
    }
  }
}

/// A version of ``OldPoint`` whose step fails.
private struct StubbornPoint: DescribedModel, Migratable, Sendable {
  var name: String
  var x: Int
  var y: Int

  struct Refusal: Error {}
  static let fields = Fields(
    StubbornPoint.self, name: "Point", version: 2, Field("name", \.name), Field("x", \.x), Field("y", \.y),
    make: { StubbornPoint(name: $0, x: $1, y: $2) })
  static let migration = MigrationPlan(.step(from: 1, to: 2, .custom("fail") { _ in throw Refusal() }))
}

extension DatabaseQueue {
  /// Returns how many hundred SQLite instructions `body` executes.
  fileprivate func countingSteps(_ body: () throws -> Void) throws -> Int {
    final class Counter { var steps = 0 }
    let counter = Counter()
    writeWithoutTransaction { db in
      sqlite3_progress_handler(
        db.sqliteConnection, 100,
        { context in
          if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().steps += 1 }
          return 0
        }, Unmanaged.passUnretained(counter).toOpaque())
    }
    defer { writeWithoutTransaction { sqlite3_progress_handler($0.sqliteConnection, 0, nil, nil) } }
    try body()
    return counter.steps
  }
}
