import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Tests that kill processes while they upgrade, prune, restore or back up a store to which another process saves, or while they
/// change the schema of a store.
extension StoreProcessTests {
  /// The work that a process repeats. It uses keys that begin with `work/` and the name of the process.
  enum Work: String, CaseIterable, Sendable {
    case upgrade, prune, restore, backup, schema
  }

  static let kept = 5

  @Test("Helper: works until it is killed", .enabled(if: work != nil, "a helper of the other tests"))
  func worker() throws {
    guard let work = Self.work, let name = Self.environment["STRATA_WORKER"],
      let path = Self.environment["STRATA_STORE_FILE"]
    else { return }
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "." + name))
    func say(_ line: String) throws { try log.write(contentsOf: Data((line + "\n").utf8)) }
    if work == .schema { return try changeTables(path, name, say) }
    var options = StoreOptions()
    options.busyTimeout = 120
    let store = try SnapshotStore(url: URL(fileURLWithPath: path), options: options)
    let key = "work/\(name)"
    for number in 0..<100_000 {
      switch work {
      case .upgrade:
        let saved = try store.write { transaction in
          // The first history is so long that its upgrade takes more than one transaction.
          try (0..<(number == 0 ? 700 : 20)).map {
            try transaction.save(OldPoint(name: "\(number)", x: number, y: $0), as: "\(key)/\(number)", note: "\($0)")
          }
        }
        try say("\(saved.count) \(key)/\(number)")
        try store.upgrade([Point5.self])
      case .prune:
        let saved = try store.write { transaction in
          try (0..<(number == 0 ? 300 : 40)).map {
            try transaction.save(Self.text(number, $0), as: key, note: "\(number) \($0)")
          }
        }
        try say("\(saved.last?.number ?? 0) \(key)")
        _ = try store.prune([.keepLast(Self.kept)], prefix: key)
      case .restore:
        let saved = try store.write { try $0.save(Self.text(number, 0), as: key, note: "\(number) 0") }
        try say("\(saved.number) \(key)")
        let restored = try store.write { try $0.restore(key, to: .revision(1 + number / 2), note: "\(number)") }
        try say("\(restored.number) \(key)")
      case .backup:
        let saved = try store.write { try $0.save(Self.text(number, 0), as: key, note: "\(number) 0") }
        try store.backup(to: URL(fileURLWithPath: path + ".backup-" + name))
        try say("\(saved.sequence) \(key)")
      case .schema: break
      }
    }
  }

  /// Copies a store repeatedly, and changes the tables of each copy.
  private func changeTables(_ path: String, _ name: String, _ say: (String) throws -> Void) throws {
    for number in 0..<100_000 {
      let copy = "\(path).\(name)-\(number)"
      try FileManager.default.copyItem(atPath: path + ".old", toPath: copy + ".tmp")
      try FileManager.default.moveItem(atPath: copy + ".tmp", toPath: copy)
      try say(copy)
      let store = try SnapshotStore(url: URL(fileURLWithPath: copy), schema: Self.newer)
      try store.write { _ = try $0.save(number, as: "work/after") }
      try say("saved")
      try store.close()
    }
  }

  private static let newer = StoreSchema(steps: [SchemaChangeTests.step])

  private static func text(_ number: Int, _ place: Int) -> String {
    "\(number) \(place) " + String(repeating: "text \(number % 5) ", count: 60)
  }

  private static var work: Work? { environment["STRATA_WORK"].flatMap { Work(rawValue: $0) } }

  #if os(Linux)
    @Test(
      "Killing a process during any kind of work loses nothing", .tags(.long), .enabled(if: !isChild),
      arguments: Effort.sample(2, of: Work.allCases))
    func killsAtWork(work: Work) throws {
      let seed = Self.environment["STRATA_PROCESS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1 << 48)
      print("store: \(work), STRATA_PROCESS_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      try withFolder { folder in
        let url = folder.appending(path: "killed.store")
        if work == .schema {
          try CheckTests.fill(URL(fileURLWithPath: url.path + ".old"), seed: 4, keys: 20, revisions: 5)
        }
        var names: [String] = [], savers: [String] = []
        var worker: Process?
        var saver: Process?
        var kills = 0
        while kills < Self.rounds {
          if worker == nil {
            names.append("w\(kills)")
            worker = try Self.start(
              "worker", url, names[names.count - 1],
              ["STRATA_WORK": work.rawValue, "STRATA_WORKER": names[names.count - 1]])
          }
          if saver == nil, work != .schema {
            savers.append("p\(kills)")
            saver = try Self.start("saver", url, savers[savers.count - 1], ["STRATA_SAVER": savers[savers.count - 1]])
          }
          // Waits until the first processes have logged something before killing them, even on a slow machine.
          for (process, name) in [(worker, names.first), (saver, savers.first)] where kills == 0 {
            guard let process, let name else { continue }
            while process.isRunning, try Data(contentsOf: URL(fileURLWithPath: url.path + "." + name)).isEmpty {
              Thread.sleep(forTimeInterval: 0.01)
            }
          }
          Thread.sleep(forTimeInterval: 0.1 + Double(random.below(400)) / 1000)
          if random.isOnce(in: 4), let process = saver {
            try Self.end(process)
            saver = nil
          } else if let process = worker {
            try Self.end(process)
            worker = nil
            if work == .schema { try Self.checkTables(url, names[names.count - 1]) }
          }
          kills += 1
          guard kills.isMultiple(of: 25) || kills == Self.rounds else { continue }
          for process in [worker, saver].compactMap({ $0 }) { try Self.end(process) }
          (worker, saver) = (nil, nil)
          guard work != .schema else { continue }
          let (acknowledged, _) = try Self.check(url, savers)
          #expect(acknowledged > 0)
          try Self.checkWork(work, url, names)
        }
        let lines = try names.reduce(0) {
          try $0 + String(contentsOfFile: url.path + "." + $1, encoding: .utf8).split(separator: "\n").count
        }
        print("store: \(kills) kills at \(work), \(lines) pieces of it acknowledged")
        #expect(lines > 0)
      }
    }

    static func start(_ test: String, _ url: URL, _ name: String, _ variables: [String: String]) throws
      -> Process
    {
      try Data().write(to: URL(fileURLWithPath: url.path + "." + name))
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--testing-library", "swift-testing", "--filter", "StoreProcessTests/\(test)"]
      process.environment = environment.merging(variables.merging(["STRATA_STORE_FILE": url.path]) { $1 }) { $1 }
      let output = url.path + "." + name + ".output"
      try Data().write(to: URL(fileURLWithPath: output))
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
      (process.standardOutput, process.standardError) = (handle, handle)
      try process.run()
      return process
    }

    private static func end(_ process: Process) throws {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      guard process.terminationReason != .uncaughtSignal else { return }
      let output = try (process.standardOutput as? FileHandle).map { handle in
        try String(contentsOfFile: "/proc/self/fd/\(handle.fileDescriptor)", encoding: .utf8)
      }
      Issue.record("a process stopped by itself: \(output ?? "")")
    }

    /// The complete lines that a process wrote.
    private static func lines(_ url: URL, _ name: String) throws -> [Substring] {
      let log = try String(contentsOfFile: url.path + "." + name, encoding: .utf8)
      return log[..<(log.lastIndex(of: "\n") ?? log.startIndex)].split(separator: "\n")
    }

    private static func checkWork(_ work: Work, _ url: URL, _ names: [String]) throws {
      let store = try SnapshotStore(url: url)
      #expect(try store.check(.full).findings.map(\.description) == [])
      for name in names {
        // The last acknowledged revision number of each key. The key's history must contain all earlier revisions that were not pruned.
        var last: [String: Int] = [:]
        for line in try lines(url, name) {
          let parts = line.split(separator: " ", maxSplits: 1)
          last[String(parts[1]), default: 0] = max(last[String(parts[1])] ?? 0, try #require(Int(parts[0])))
        }
        for (key, number) in last {
          if work == .backup {
            // A later backup that was interrupted must not have damaged this one.
            let backup = try SnapshotStore(url: URL(fileURLWithPath: url.path + ".backup-" + name))
            #expect(try backup.read { try $0.revisions(since: Int64(number) - 1, limit: 1) }.first?.key == key)
            #expect(try backup.check(.quick).isClean)
            try backup.close()
          } else {
            try store.read { try checkHistory(of: key, upTo: number, work, $0) }
          }
        }
      }
      try store.close()
      try Database.change(url) { try $0.checkInvariants() }
    }

    private static func checkHistory(
      of key: String, upTo number: Int, _ work: Work, _ transaction: StoreTransaction
    ) throws {
      let history = try transaction.history(of: key)
      #expect(history.last.map { $0.number >= number } == true, "\(key) \(number)")
      let numbers = Set(history.map(\.number))
      // The history contains all revisions if nothing is pruned, otherwise at least those that pruning keeps.
      if work != .prune { #expect((1...number).allSatisfy { numbers.contains($0) }, "\(key) \(number)") }
      #expect(numbers.count >= min(number, kept))
      for revision in work == .prune ? history.suffix(30) : history {
        if work == .upgrade {
          let point = try transaction.value(Point5.self, for: key, at: .revision(revision.number))
          #expect(point?.y == Int(revision.note ?? "") && key.hasSuffix("/\(point?.x ?? -1)"))
        } else if revision.action == .save,
          let note = revision.note?.split(separator: " ").compactMap({ Int($0) })
        {
          let value = try transaction.value(String.self, for: key, at: .revision(revision.number))
          #expect(value == text(note[0], note[1]))
        } else if revision.action == .restore, let origin = revision.origin, numbers.contains(origin) {
          let (value, source) = try (
            transaction.value(String.self, for: key, at: .revision(revision.number)),
            transaction.value(String.self, for: key, at: .revision(origin))
          )
          #expect(value != nil && value == source, "\(key) \(number)")
        }
      }
    }

    /// Opens all copies that a process worked on. The process may have left the last copy in any state.
    private static func checkTables(_ url: URL, _ name: String) throws {
      let expected = try SnapshotStore(url: URL(fileURLWithPath: url.path + ".old"))
      let revisions = try expected.read { try $0.revisions(since: 0) }.map(\.everything)
      try expected.close()
      let all = try lines(url, name)
      for (place, line) in all.enumerated() where line != "saved" {
        let copy = URL(fileURLWithPath: String(line))
        let isSaved = place + 1 < all.count
        let store = try SnapshotStore(url: copy, schema: newer)
        #expect(try store.status().format == 2)
        let found = try store.read { try $0.revisions(since: 0) }
        #expect(found.prefix(revisions.count).map(\.everything) == revisions)
        #expect(!isSaved || found.count == revisions.count + 1)
        if place >= all.count - 2 { #expect(try store.check(.full).findings.map(\.description) == []) }
        try store.close()
        for suffix in ["", ".before-schema-2"] where FileManager.default.fileExists(atPath: copy.path + suffix) {
          try FileManager.default.removeItem(atPath: copy.path + suffix)
        }
      }
    }
  #endif
}
