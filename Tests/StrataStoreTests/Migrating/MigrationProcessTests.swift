import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Kills processes at random while they migrate rows. Each step appends its number to a text, which reveals a row that was
/// migrated twice. `STRATA_PROCESS_ROUNDS` is the number of kills. `STRATA_LONG=1` migrates a million rows, which takes too long
/// for CI.
@Suite("Entities: killed migrations", .serialized)
struct MigrationProcessTests {
  static let environment = ProcessInfo.processInfo.environment
  static var isChild: Bool { environment["STRATA_MIGRATION_FILE"] != nil }
  static var rounds: Int { environment["STRATA_PROCESS_ROUNDS"].flatMap(Int.init) ?? Effort.rounds(3, long: 20) }
  static let rows = Effort.rounds(20_000, long: 1_000_000)

  static func open(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    return try DatabasePool(path: path, configuration: configuration)
  }

  @Test("Helper: migrates until it is killed", .enabled(if: isChild, "a helper of the other test"))
  func migrator() throws {
    guard let path = Self.environment["STRATA_MIGRATION_FILE"] else { return }
    let memory = PeakMemory()
    let pool = try Self.open(path), start = ContinuousClock.now
    let migrator = Self.environment["STRATA_MIGRATION_VERSION"] == "3" ? Log3.migrator : Log4.migrator
    let report = try migrator.migrate(pool, backup: URL(fileURLWithPath: path + ".backup"))
    let rows = report.tables.first?.rows ?? 0
    print("entities: \(rows) rows migrated in \(ContinuousClock.now - start), \((memory?.growth ?? 0) >> 20) MiB")
    if let memory { #expect(memory.growth < 100 << 20) }
  }

  #if os(Linux)
    @Test("Killed migrations lose no row, migrate none twice and keep the original backup", .enabled(if: !isChild))
    func kills() throws {
      let seed = Self.environment["STRATA_PROCESS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
      print("entities: STRATA_PROCESS_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      try withFolder { folder in
        let path = folder.appending(path: "app.sqlite").path
        let pool = try Self.open(path)
        try pool.write { try Log.tables($0, Self.rows) }
        var kills = 0
        var versions: Set<String> = []
        for round in 0...Self.rounds {
          // The second half of the rounds runs a newer version of the program.
          let process = try Self.start(path, version: round < (Self.rounds + 1) / 2 ? 3 : 4)
          if round < Self.rounds {
            let before = try Self.progress(pool)
            while process.isRunning, try Self.progress(pool) == before { Thread.sleep(forTimeInterval: 0.005) }
            Thread.sleep(forTimeInterval: Double(random.below(100)) / (Effort.isLong ? 100 : 1000))
            kill(process.processIdentifier, SIGKILL)
          }
          process.waitUntilExit()
          if process.terminationReason == .uncaughtSignal { kills += 1 }
          // A process that ran to its end has also checked its memory use.
          if process.terminationReason == .exit { #expect(process.terminationStatus == 0, "round \(round)") }
          try pool.read { (db: GRDB.Database) throws in
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM log") == Self.rows)
            versions.formUnion(try String.fetchAll(db, sql: "SELECT DISTINCT text FROM log"))
          }
        }
        #expect(versions.isSubset(of: ["1", "123", "1234"]), "\(versions)")
        try pool.read { (db: GRDB.Database) throws in
          #expect(try String.fetchAll(db, sql: "SELECT DISTINCT text FROM log") == ["1234"])
          #expect(
            try String.fetchAll(db, sql: "SELECT part || model || version FROM strata_entity_versions") == ["0Log4"])
          #expect(try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok")
        }
        let backup = try DatabaseQueue(path: path + ".backup")
        try backup.read { (db: GRDB.Database) throws in
          #expect(
            try Row.fetchOne(db, sql: "SELECT count(*), min(text), max(text) FROM log") == [
              "count(*)": Self.rows, "min(text)": "1", "max(text)": "1",
            ])
        }
        print("entities: \(kills) kills of migrations of \(Self.rows) rows, states \(versions.sorted())")
      }
    }

    @Test("Two processes that migrate at once lose no row and migrate none twice", .enabled(if: !isChild))
    func twoAtOnce() throws {
      try withFolder { folder in
        let path = folder.appending(path: "app.sqlite").path
        let pool = try Self.open(path)
        try pool.write { try Log.tables($0, 20_000) }
        let processes = try [Self.start(path, version: 4), Self.start(path, version: 4)]
        for process in processes {
          process.waitUntilExit()
          #expect(
            process.terminationStatus == 0, "\((try? String(contentsOfFile: path + ".output", encoding: .utf8)) ?? "")")
        }
        try pool.read { (db: GRDB.Database) throws in
          #expect(
            try Row.fetchOne(db, sql: "SELECT count(*), min(text), max(text) FROM log") == [
              "count(*)": 20_000, "min(text)": "1234", "max(text)": "1234",
            ])
        }
      }
    }

    private static func progress(_ pool: DatabasePool) throws -> String? {
      try pool.read { (db: GRDB.Database) throws in
        guard try db.tableExists("strata_entity_versions") else { return nil }
        return try String.fetchOne(
          db, sql: "SELECT group_concat(part || version || ifnull(hex(last), '')) FROM strata_entity_versions")
      }
    }

    private static func start(_ path: String, version: Int) throws -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--testing-library", "swift-testing", "--filter", "MigrationProcessTests/migrator"]
      process.environment = environment.merging(
        ["STRATA_MIGRATION_FILE": path, "STRATA_MIGRATION_VERSION": "\(version)"]) { $1 }
      let output = path + ".output"
      if !FileManager.default.fileExists(atPath: output) { try Data().write(to: URL(fileURLWithPath: output)) }
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
      try handle.seekToEnd()
      (process.standardOutput, process.standardError) = (handle, handle)
      try process.run()
      return process
    }
  #endif
}
