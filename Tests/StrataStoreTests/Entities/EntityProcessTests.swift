import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Kills processes at random while they save graphs of entities. Each save sets all rows to one number, so a partial save is noticed.
///
/// `STRATA_PROCESS_ROUNDS` is the number of kills.
@Suite("Entities: killed processes", .serialized, .tags(.long))
struct EntityProcessTests {
  static let environment = ProcessInfo.processInfo.environment
  static var isChild: Bool { environment["STRATA_ENTITY_FILE"] != nil }
  static var rounds: Int { environment["STRATA_PROCESS_ROUNDS"].flatMap(Int.init) ?? Effort.rounds(2, long: 30) }

  /// Returns 20 teams with players that refer to each other in cycles. Every object stores the given number, which also decides who is in
  /// which list.
  static func graph(_ number: Int) -> [Team] {
    let teams = (0..<20).map { Team($0, "\(number)") }
    let players = (0..<60).map { Player($0, "\(number)", Double(number), nil, nil, [Card(text: "\(number)")]) }
    for (place, player) in players.enumerated() {
      player.friend = players[(place + number) % players.count]
      let team = teams[(place * 7 + number) % teams.count]
      team.members.append(player)
      player.team = team
    }
    for team in teams { team.badges = [Badge(code: "\(team.id)", title: "\(number)")] }
    return teams
  }

  static func open(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    return try DatabasePool(path: path, configuration: configuration)
  }

  @Test("Helper: saves graphs until it is killed", .enabled(if: isChild, "a helper of the other test"))
  func saver() throws {
    guard let path = Self.environment["STRATA_ENTITY_FILE"] else { return }
    let pool = try Self.open(path)
    let entities = try EntityStore(pool, Team.self)
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".log"))
    let start = try pool.read { db in try Int.fetchOne(db, sql: "SELECT name FROM team") } ?? 0
    for number in start + 1..<start + 100_000 {
      try pool.write { db in _ = try entities.save(Self.graph(number), in: db) }
      try log.seekToEnd()
      try log.write(contentsOf: Data("\(number)\n".utf8))
    }
  }

  #if os(Linux)
    @Test("A killed save leaves either all of its rows or none", .enabled(if: !isChild))
    func kills() throws {
      let seed = Self.environment["STRATA_PROCESS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
      print("entities: STRATA_PROCESS_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      try withFolder { folder in
        let path = folder.appending(path: "app.sqlite").path
        try Self.open(path).write(worldTables)
        try Data().write(to: URL(fileURLWithPath: path + ".log"))
        var last = 0
        for round in 0..<Self.rounds {
          let process = Process()
          process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
          process.arguments = ["--testing-library", "swift-testing", "--filter", "EntityProcessTests/saver"]
          process.environment = Self.environment.merging(["STRATA_ENTITY_FILE": path]) { $1 }
          process.standardOutput = FileHandle.nullDevice
          process.standardError = FileHandle.nullDevice
          try process.run()
          // Waits until the process has saved something in this round before killing it, however slow the machine is.
          func acknowledged() throws -> Int {
            let text = try String(contentsOfFile: path + ".log", encoding: .utf8)
            return text.split(separator: "\n").last.flatMap { Int($0) } ?? 0
          }
          let before = try acknowledged()
          while process.isRunning, try acknowledged() == before { Thread.sleep(forTimeInterval: 0.005) }
          Thread.sleep(forTimeInterval: Double.random(in: 0..<0.1, using: &random))
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
          let saved = try acknowledged()
          #expect(saved > before, "round \(round)")
          try Self.open(path).read { db in
            let numbers = try Set(
              String.fetchAll(
                db,
                sql: """
                  SELECT name FROM team UNION SELECT name FROM person UNION SELECT CAST(score AS INTEGER) FROM person
                  UNION SELECT text FROM card UNION SELECT title FROM badge
                  """))
            let number = try #require(numbers.first.flatMap { Int($0) })
            #expect(numbers.count == 1, "\(numbers), round \(round)")
            // The file contains every acknowledged save. It may also contain one save that was not acknowledged.
            #expect(number == saved || number == saved + 1, "round \(round)")
            #expect(number >= last)
            last = number
            var world = World()
            world.save(teams: Self.graph(number), persons: [])
            #expect(try World(db) == world, "round \(round)")
            #expect(try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok")
            #expect(try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").isEmpty)
          }
        }
        print("entities: \(Self.rounds) kills, \(last) saves")
      }
    }
  #endif
}
