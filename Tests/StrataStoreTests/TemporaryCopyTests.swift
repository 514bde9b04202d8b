import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

#if os(Linux)
  /// Kills processes while they write a copy of a store.
  @Suite("Temporary copies of a store", .serialized, .tags(.long))
  struct TemporaryCopyTests {
    /// The operations that create a temporary copy.
    enum Work: String, CaseIterable, Sendable { case backup, salvage, schema, rebuild }

    private static let environment = ProcessInfo.processInfo.environment
    private static var work: Work? { environment["STRATA_COPY"].flatMap { Work(rawValue: $0) } }

    /// Makes one copy.
    private static func run(_ work: Work, _ folder: URL) throws {
      let store = folder.appending(path: work == .rebuild ? "cut" : "store")
      let output = folder.appending(path: "output")
      switch work {
      case .backup: try SnapshotStore(url: store).backup(to: output)
      case .salvage, .rebuild:
        // Before the first run, the output does not exist, so errors are ignored.
        try? FileManager.default.removeItem(at: output)
        let report = try SnapshotStore.salvage(store, to: output)
        #expect(report.revisions > 0)
      case .schema:
        // Before the first run, the output does not exist, so errors are ignored.
        try? FileManager.default.removeItem(at: output)
        try FileManager.default.copyItem(at: store, to: output)
        try SnapshotStore(url: output, schema: StoreSchema(steps: [SchemaChangeTests.step])).close()
      }
    }

    private static func prepare(_ folder: URL) throws {
      let store = folder.appending(path: "store")
      try CheckTests.fill(store, seed: 5, keys: 20, revisions: 10)
      var bytes = try Data(contentsOf: store)
      bytes.replaceSubrange(0..<100, with: Data(count: 100))
      try bytes.write(to: folder.appending(path: "cut"))
    }

    private static func temporary(_ folder: URL) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
        $0.hasPrefix(".") || $0.contains("tmp")
      }
    }

    @Test("Helper: copies until it is killed", .enabled(if: work != nil, "a helper of the other tests"))
    func copier() throws {
      guard let work = Self.work, let path = Self.environment["STRATA_STORE_FILE"] else { return }
      let folder = URL(fileURLWithPath: path)
      let log = try FileHandle(forWritingTo: folder.appending(path: "log"))
      for number in 0..<100_000 {
        do { try Self.run(work, folder) } catch { try log.write(contentsOf: Data("failed: \(error)\n".utf8)) }
        try log.write(contentsOf: Data("\(number)\n".utf8))
      }
    }

    private func start(_ work: Work, _ folder: URL) throws -> Process {
      try Data().write(to: folder.appending(path: "log"))
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--testing-library", "swift-testing", "--filter", "TemporaryCopyTests/copier"]
      process.environment = Self.environment.merging(
        ["STRATA_COPY": work.rawValue, "STRATA_STORE_FILE": folder.path]) { $1 }
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      while process.isRunning, try log(folder).isEmpty { Thread.sleep(forTimeInterval: 0.002) }
      return process
    }

    private func log(_ folder: URL) throws -> String {
      try String(contentsOf: folder.appending(path: "log"), encoding: .utf8)
    }

    private func end(_ process: Process) {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      #expect(process.terminationReason == .uncaughtSignal, "a process stopped by itself")
    }

    @Test(
      "The next run removes temporary copies left by a killed process", .enabled(if: work == nil),
      arguments: Effort.sample(2, of: Work.allCases))
    func kills(work: Work) throws {
      try withFolder { folder in
        try Self.prepare(folder)
        var left = 0
        let kills = Effort.rounds(2, long: 8)
        for number in 0..<kills {
          let process = try start(work, folder)
          // Kills processes at different moments of a run. Every second round first waits for a temporary copy.
          Thread.sleep(forTimeInterval: Double(number % 10) * 0.003)
          let end = ContinuousClock.now + .seconds(10)
          while number % 2 == 1, try Self.temporary(folder).isEmpty, ContinuousClock.now < end {}
          self.end(process)
          if try !Self.temporary(folder).isEmpty { left += 1 }
          #expect(try !log(folder).contains("failed"))
          try Self.run(work, folder)
          #expect(try Self.temporary(folder) == [])
        }
        print("temporary copies: \(kills) kills at \(work), \(left) with a copy")
        #expect(left > 0)
      }
    }

    @Test("A copy that another process is still writing is kept", .enabled(if: work == nil))
    func live() throws {
      try withFolder { folder in
        try Self.prepare(folder)
        let process = try start(.backup, folder)
        for _ in 0..<Effort.rounds(10, long: 30) { try Self.run(.backup, folder) }
        #expect(process.isRunning)
        end(process)
        let log = try log(folder)
        #expect(!log.contains("failed"), "\(log)")
        try Self.run(.backup, folder)
        #expect(try Self.temporary(folder) == [])
      }
    }
  }
#endif
