import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Kills processes at random while they save to one store.
///
/// Each process runs this program with a single test, which saves until it is killed and logs each acknowledged save.
/// `STRATA_PROCESS_ROUNDS` is the number of kills in each of seven test cases. Tests/Scripts/store-simulation requests 3,000.
@Suite("Processes that share a store", .serialized, .tags(.long))
struct StoreProcessTests {
  static let environment = ProcessInfo.processInfo.environment
  static var isChild: Bool { ["STRATA_SAVER", "STRATA_WORK", "STRATA_PART"].contains { environment[$0] != nil } }
  static var rounds: Int { environment["STRATA_PROCESS_ROUNDS"].flatMap(Int.init) ?? Effort.rounds(1, long: 12) }

  /// Returns the value that a process saves for a number. Every seventh value is long, and many of the long values share most of their
  /// content.
  private static func memo(_ name: String, _ number: Int) -> Part {
    let long = number.isMultiple(of: 7) ? String(repeating: "\(number % 3)", count: 600) : ""
    return Part(name: "\(name)-\(number)" + long, weight: Double(number))
  }

  @Test(
    "Helper: saves until it is killed", .enabled(if: environment["STRATA_SAVER"] != nil, "a helper of the other test"))
  func saver() throws {
    guard let name = Self.environment["STRATA_SAVER"], let path = Self.environment["STRATA_STORE_FILE"] else { return }
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "." + name))
    var options = StoreOptions()
    options.busyTimeout = 120
    let store = try SnapshotStore(url: URL(fileURLWithPath: path), options: options)
    for number in 0..<100_000 {
      let saved = try store.write { transaction in
        let key = number.isMultiple(of: 2) ? "shared" : "own/\(name)/\(number / 20)"
        var saved = [try transaction.save(Self.memo(name, number), as: key, author: name, note: "\(number)")]
        // This transaction saves to two keys. The store must contain both revisions or neither.
        if number.isMultiple(of: 5) {
          saved.append(try transaction.save(Self.memo(name, number), as: "pairs", author: name, note: "\(number)"))
        }
        if number % 11 == 5 { saved.append(try transaction.undo("shared", author: name, note: "\(number)")) }
        return saved
      }
      let lines = saved.map { "\($0.number) \($0.sequence) \(number) \($0.key)\n" }.joined()
      try log.write(contentsOf: Data(lines.utf8))
    }
  }

  #if os(Linux)
    @Test("Killed processes lose no acknowledged save", .enabled(if: !isChild), arguments: [1, 2])
    func kills(count: Int) throws {
      let seed = Self.environment["STRATA_PROCESS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
      print("store: \(count) at a time, STRATA_PROCESS_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      try withFolder { folder in
        let url = folder.appending(path: "killed.store")
        var names: [String] = []
        var running: [Process] = []
        var kills = 0
        func start() throws {
          let name = "p\(names.count)"
          names.append(name)
          try Data().write(to: URL(fileURLWithPath: url.path + "." + name))
          let process = Process()
          process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
          process.arguments = ["--testing-library", "swift-testing", "--filter", "StoreProcessTests/saver"]
          process.environment = Self.environment.merging(
            ["STRATA_SAVER": name, "STRATA_STORE_FILE": url.path]) { $1 }
          process.standardOutput = FileHandle.nullDevice
          process.standardError = FileHandle.nullDevice
          try process.run()
          running.append(process)
        }
        func end(_ process: Process) {
          kill(process.processIdentifier, SIGKILL)
          process.waitUntilExit()
        }
        while kills < Self.rounds {
          while running.count < count { try start() }
          // Waits until the first process has acknowledged a save before killing it, even on a slow machine.
          while kills == 0, running[0].isRunning, try Data(contentsOf: URL(fileURLWithPath: url.path + ".p0")).isEmpty {
            Thread.sleep(forTimeInterval: 0.01)
          }
          Thread.sleep(forTimeInterval: Double(random.below(300)) / 1000)
          let process = running.remove(at: random.below(running.count))
          end(process)
          #expect(process.terminationReason == .uncaughtSignal, "a process stopped by itself")
          kills += 1
        }
        for process in running { end(process) }
        let (acknowledged, revisions) = try Self.check(url, names)
        print(
          "store: \(kills) kills of \(count) at a time, \(acknowledged) revisions acknowledged, \(revisions) in the store"
        )
        #expect(acknowledged > 0 && revisions >= acknowledged)
      }
    }

    /// Checks that the store contains every acknowledged revision with its saved value, and no partial
    /// transaction.
    ///
    /// - Returns: the number of acknowledged revisions, and the number of revisions in the store.
    static func check(_ url: URL, _ names: [String]) throws -> (Int, Int) {
      let store = try SnapshotStore(url: url)
      let all = try store.read { try $0.revisions(since: 0) }.filter { !$0.key.hasPrefix("work/") }
      let places = Dictionary(all.map { ($0.sequence, $0) }, uniquingKeysWith: { first, _ in first })
      // The revision numbers of each key have no gaps, and each value matches its author and note.
      for (key, revisions) in Dictionary(grouping: all, by: \.key) {
        #expect(revisions.map(\.number) == Array(1...revisions.count), "\(key)")
      }
      var transactions: [String: Int] = [:]
      try store.read { transaction in
        for revision in all {
          transactions["\(revision.author ?? "") \(revision.note ?? "")", default: 0] += 1
          let value = try transaction.value(Part.self, for: revision.key, at: .revision(revision.number))
          guard revision.action == .save else { continue }
          let author = try #require(revision.author), number = try #require(revision.note.flatMap(Int.init))
          #expect(value == memo(author, number), "\(revision.key) \(revision.number)")
        }
      }
      for (transaction, count) in transactions {
        let number = try #require(transaction.split(separator: " ").last.flatMap { Int($0) })
        let expected = 1 + (number.isMultiple(of: 5) ? 1 : 0) + (number % 11 == 5 ? 1 : 0)
        #expect(count == expected, "half of a transaction: \(transaction)")
      }
      var acknowledged = 0
      for name in names {
        let log = try String(contentsOfFile: url.path + "." + name, encoding: .utf8)
        // The last line may be incomplete.
        for line in log[..<(log.lastIndex(of: "\n") ?? log.startIndex)].split(separator: "\n") {
          let parts = line.split(separator: " ", maxSplits: 3)
          let found = places[try #require(Int64(parts[1]))]
          #expect(
            found?.key == String(parts[3]) && found?.number == Int(parts[0]) && found?.note == String(parts[2])
              && found?.author == name, "\(name): \(line)")
          acknowledged += 1
        }
      }
      try store.close()
      try Database.change(url) { try $0.checkInvariants() }
      return (acknowledged, all.count)
    }
  #endif
}
