import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

#if os(Linux)
  /// Runs a program that uses a store and makes its system calls fail, one at a time, including SQLite's calls.
  ///
  /// All rounds run in one process that loads the library built from Tests/Faults/faults.c. If `STRATA_FAULT_STEP` is n, only every nth
  /// call fails. Tests/Scripts/store-faults makes every call fail.
  @Suite("Stores with failing system calls", .serialized, .tags(.long))
  struct StoreFaultTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static var isChild: Bool { environment["STRATA_FAULT_LOG"] != nil }

    @Test(
      "Helper: works while system calls fail", .enabled(if: isChild && Faults.isLoaded, "a helper of the other test"))
    func failing() throws {
      guard let path = Self.environment["STRATA_FAULT_LOG"] else { return }
      let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      let step = Self.environment["STRATA_FAULT_STEP"].flatMap { Int($0) } ?? 1
      let run = FaultRun(folder: URL(fileURLWithPath: path).deletingLastPathComponent())
      try run.prepare()
      // Each combination starts at a different call, so that even a few rounds cover different calls.
      var first = 1
      for work in FaultRun.Work.allCases {
        for application in FaultRun.Application.allCases {
          for way in Faults.Way.allCases {
            var place = first
            while try run.run(work, application, way, at: place) { place += step }
            first = first % step + 1
          }
        }
        try log.write(contentsOf: Data("\(work): \(run.report)\n".utf8))
      }
      for problem in run.problems.prefix(100) { try log.write(contentsOf: Data("problem: \(problem)\n".utf8)) }
      for place in run.places.prefix(20) { try log.write(contentsOf: Data("after an error: \(place)\n".utf8)) }
      try log.write(
        contentsOf: Data("store: \(run.faults) faults, \(run.report), \(run.problems.count) problems\n".utf8))
    }

    @Test("Failed system calls lose, duplicate or invent no revision and are not reported as damage")
    func faults() throws {
      guard !Self.isChild else { return }
      try withFolder { folder in
        guard let library = try Faults.library(in: folder) else {
          return print("store: no faults, as there is no C compiler")
        }
        let log = folder.appending(path: "log")
        try Data().write(to: log)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--testing-library", "swift-testing", "--filter", "StoreFaultTests/failing"]
        let step = "\(Effort.faultStep(397, long: 67))"
        process.environment = Self.environment.merging(
          ["LD_PRELOAD": library, "STRATA_FAULT_LOG": log.path, "STRATA_FAULT_STEP": step]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
        for line in lines { print(line) }
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        #expect(lines.last?.hasPrefix("store: ") == true && lines.last?.hasSuffix(", 0 problems") == true)
      }
    }
  }

  /// Each round works on a new copy of one store while a system call fails. Then it compares the copy with the acknowledged saves.
  final class FaultRun {
    enum Work: String, CaseIterable { case save, `import`, backup, upgrade, prune, check, salvage }

    /// How a program reacts to an error.
    enum Application: String, CaseIterable { case stops, retries, carriesOn }

    private struct Failure: Error {}

    private let folder: URL, template: URL, place: URL, store: URL, output: URL
    private(set) var faults = 0
    private(set) var problems: [String] = []
    /// The rounds in which the store contains a revision although its save threw an error.
    private(set) var places: [String] = []
    private var acknowledged = 0, doubtful = 0
    /// The values of all revisions of the template, by key and number.
    private var old: [String: String] = [:]
    private var round = ""
    private var notes: Set<String> = [], failed: Set<String> = []
    private var saved: [StoreRevision] = []
    private var isPruned = false

    deinit {
      // Ignores errors, because the folder may not exist.
      try? FileManager.default.removeItem(at: place)
    }

    var report: String { "\(acknowledged) revisions acknowledged, \(doubtful) there after an error" }

    init(folder: URL) {
      self.folder = folder
      template = folder.appending(path: "template")
      // Uses a folder in memory if possible, because a sync takes no time there.
      let memory = URL(fileURLWithPath: "/dev/shm"), isThere = FileManager.default.isWritableFile(atPath: memory.path)
      place = (isThere ? memory : folder).appending(path: "strata-\(UUID().uuidString)")
      store = place.appending(path: "store")
      output = place.appending(path: "output")
    }

    private static func note(_ number: Int) -> String {
      "\(number) " + String(repeating: "text \(number % 3) ", count: number % 4 == 0 ? 120 : 2)
    }

    func prepare() throws {
      let store = try SnapshotStore(url: template)
      try store.write { transaction in
        for number in 0..<4 {
          for version in 0..<3 {
            try transaction.save(OldPoint(name: "\(number)", x: number, y: version), as: "point/\(number)")
          }
        }
        for number in 0..<30 { try transaction.save(Self.note(number), as: "text") }
        try transaction.setLabel("first", of: "point/0", at: .revision(1))
      }
      old = try values(store)
      try store.close()
    }

    private func values(_ store: SnapshotStore) throws -> [String: String] {
      try store.read { transaction in
        var values: [String: String] = [:]
        for revision in try transaction.revisions(since: 0) {
          let point = StorePoint.revision(revision.number)
          values["\(revision.key) \(revision.number)"] =
            revision.key.hasPrefix("point/")
            ? try "\(transaction.value(Point5.self, for: revision.key, at: point) as Any)"
            : try "\(transaction.value(String.self, for: revision.key, at: point) as Any)"
        }
        return values
      }
    }

    /// - Returns: whether the work made at least `call` system calls, so that the fault occurred.
    func run(_ work: Work, _ application: Application, _ way: Faults.Way, at call: Int) throws -> Bool {
      let manager = FileManager.default
      // In the first round, the folder does not exist yet, so errors are ignored.
      try? manager.removeItem(at: place)
      try manager.createDirectory(at: place, withIntermediateDirectories: false)
      try manager.copyItem(at: template, to: store)
      round = "\(work), \(application), \(way) at \(call)"
      (notes, failed, saved, isPruned) = ([], [], [], false)
      Faults.set(place.path, at: call, way)
      // `attempt` has already checked the error that ended the work.
      try? session(work, application)
      let calls = Faults.calls
      Faults.set(place.path, at: 0, way)
      guard calls >= call else { return false }
      faults += 1
      acknowledged += saved.count
      do { try verify(work) } catch { problem("cannot be verified: \(error)") }
      return true
    }

    private func problem(_ text: String) { problems.append("\(round): \(text)") }

    /// Runs `body` and reacts to errors as the application would.
    private func attempt<R>(_ application: Application, _ body: () throws -> R) throws -> R? {
      for _ in 0..<(application == .retries ? 3 : 1) {
        do { return try body() } catch let error as StoreError {
          let codes: [StoreError.Code] = [.fileSystem, .full, .busy, .readOnly]
          if !codes.contains(error.code) { problem("\(error.code): \(error)") }
        } catch { problem("no error of the store: \(error)") }
      }
      guard application == .carriesOn else { throw Failure() }
      return nil
    }

    private func session(_ work: Work, _ application: Application) throws {
      var options = StoreOptions()
      options.busyTimeout = 0.2
      func open() throws -> SnapshotStore? {
        try attempt(application) { try SnapshotStore(url: store, options: options) }
      }
      guard let store = try open() ?? open() else { return }
      func save(_ key: String, _ number: Int) throws {
        let note = "note \(number)"
        notes.insert(note)
        let revision = try attempt(application) {
          do {
            return try store.write { transaction in
              if work == .import {
                try transaction.saveArchive(ArchiveEncoder().encode(Self.note(number)), as: key, note: note)
              } else {
                try transaction.save(Self.note(number), as: key, note: note)
              }
            }
          } catch {
            failed.insert(note)
            throw error
          }
        }
        if let revision { saved.append(revision) }
      }
      try save("new", 1)
      switch work {
      case .save, .import: try save("text", 2)
      case .backup: _ = try attempt(application) { try store.backup(to: output) }
      case .upgrade:
        let report = try attempt(application) { try store.upgrade([Point5.self]) }
        if let report, !report.failures.isEmpty { problem("a failed upgrade: \(report.failures[0])") }
      case .prune:
        isPruned = true
        let report = try attempt(application) { try store.prune([.keepLast(3)], prefix: "text") }
        if let report, !report.skipped.isEmpty { problem("a skipped key: \(report.skipped[0])") }
      case .check:
        let report = try attempt(application) { try store.check(.full) }
        if let report, !report.isClean { problem("a finding: \(report.findings[0])") }
      case .salvage:
        let report = try attempt(application) { try store.salvage(to: output) }
        if let report, !report.isComplete { problem("a loss: \(report.lost[0])") }
      }
      try save("new", 4)
      try save("text", 5)
      _ = try attempt(application) { try store.close() }
    }

    private func verify(_ work: Work) throws {
      try verify(store, saved)
      guard FileManager.default.fileExists(atPath: output.path) else { return }
      // If a backup or a salvaged store exists, it must be complete.
      try verify(output, saved.filter { $0.note == "note 1" })
      // The next backup removes temporary files that an earlier one failed to remove.
      guard work == .backup else { return }
      let again = try SnapshotStore(url: store)
      try again.backup(to: output)
      try again.close()
      let left = try FileManager.default.contentsOfDirectory(atPath: place.path).filter { $0.contains(".tmp") }
      if !left.isEmpty { problem("left: \(left)") }
    }

    private func verify(_ url: URL, _ saved: [StoreRevision]) throws {
      let store = try SnapshotStore(url: url)
      let found = try store.check(.full).findings
      if let finding = found.first { problem("\(url.lastPathComponent): \(finding)") }
      var values = try values(store)
      let revisions = try store.read { try $0.revisions(since: 0) }
      for (place, value) in old {
        let now = values.removeValue(forKey: place)
        if now == nil, isPruned, place.hasPrefix("text ") { continue }
        if now != value { problem("\(url.lastPathComponent): \(place) is \(now ?? "lost")") }
      }
      for revision in saved {
        let now = values.removeValue(forKey: "\(revision.key) \(revision.number)")
        let note = revision.note.flatMap { Int($0.dropFirst(5)) } ?? 0
        if now != "Optional(\"\(Self.note(note))\")" {
          problem("\(url.lastPathComponent): an acknowledged revision is \(now ?? "lost")")
        }
      }
      for revision in revisions where values["\(revision.key) \(revision.number)"] != nil {
        // A failed save leaves no revision, unless the process ends before the next save.
        if revision.note.map({ failed.contains($0) }) ?? false {
          doubtful += 1
          places.append(round)
        } else {
          problem("invented: \(revision)")
        }
      }
      let all = revisions.compactMap(\.note)
      if Set(all).count != all.count { problem("doubled: \(all)") }
      try store.close()
    }
  }
#endif
