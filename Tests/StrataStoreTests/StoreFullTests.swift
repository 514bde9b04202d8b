import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Full disks")
struct StoreFullTests {
  @Test("A save without enough space throws and leaves the previous state intact")
  func fullDatabase() throws {
    try withFolder { folder in
      let url = folder.appending(path: "full.store")
      var configuration = Configuration()
      configuration.journalMode = .wal
      let queue = try DatabaseQueue(path: url.path, configuration: configuration)
      let store = try SnapshotStore(in: queue)
      var random = SeededRandom(seed: 13)
      func text() -> String { (0..<2000).map { _ in String(random.next(), radix: 36) }.joined() }
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 60") }
      var saved: [String] = []
      var error: StoreError?
      while error == nil {
        let text = text()
        do {
          try store.write { transaction in
            // The first part fits, but is rolled back with the second one.
            try transaction.save(Part(name: "small", weight: Double(saved.count)), as: "small")
            try transaction.save(Part(name: text, weight: nil), as: "k")
          }
          saved.append(text)
        } catch let found as StoreError { error = found }
        try #require(saved.count < 100)
      }
      #expect(error?.code == .full && !saved.isEmpty, "\(String(describing: error))")
      func check() throws {
        try store.read { transaction in
          let history = try transaction.history(of: "k")
          #expect(history.count == saved.count)
          for (revision, text) in zip(history, saved) {
            #expect(try transaction.value(Part.self, for: "k", at: .revision(revision.number))?.name == text)
          }
          #expect(try transaction.value(Part.self, for: "small")?.weight == Double(saved.count - 1))
        }
      }
      try check()
      // Saving works again as soon as there is room.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
      let more = text()
      try store.write { transaction in
        try transaction.save(Part(name: "small", weight: Double(saved.count)), as: "small")
        try transaction.save(Part(name: more, weight: nil), as: "k")
      }
      saved.append(more)
      try check()
      #expect(
        try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    }
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static var childFile: String? { environment["STRATA_FULL_FILE"] }

  /// Saves until the disk is full. Prints each successful save and, at last, the error.
  @Test("Helper: saves until the disk is full", .enabled(if: childFile != nil, "a helper of the other tests"))
  func filler() throws {
    guard let path = Self.childFile else { return }
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: Self.environment["STRATA_FULL_LOG"] ?? path + ".log"))
    #if os(Linux)
      if let limit = Self.environment["STRATA_FULL_LIMIT"].flatMap(UInt.init) {
        signal(SIGXFSZ, SIG_IGN)
        var limits = rlimit(rlim_cur: limit, rlim_max: limit)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0)
      }
    #endif
    func say(_ line: String) throws { try log.write(contentsOf: Data((line + "\n").utf8)) }
    do {
      let store = try SnapshotStore(url: URL(fileURLWithPath: path))
      for number in 1...10_000 {
        try store.write { _ = try $0.save(Self.text(number), as: "k") }
        try say("saved \(number)")
      }
    } catch let error as StoreError { try say("error \(error.code) \(error)") }
  }

  private static func text(_ number: Int) -> String {
    var random = SeededRandom(seed: UInt64(number))
    return (0..<2000).map { _ in String(random.next(), radix: 36) }.joined()
  }

  #if os(Linux)
    /// Fills a store in another process, then checks that it has every acknowledged save and can be saved to again.
    private func fill(_ folder: URL, log: URL, limit: Int?, makeRoom: () throws -> Void = {}) throws {
      let url = folder.appending(path: "full.store")
      try Data().write(to: log)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--testing-library", "swift-testing", "--filter", "StoreFullTests/filler"]
      process.environment = Self.environment.merging(
        ["STRATA_FULL_FILE": url.path, "STRATA_FULL_LOG": log.path, "STRATA_FULL_LIMIT": limit.map(String.init) ?? ""]
      ) { $1 }

      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
      #expect(lines.last?.hasPrefix("error full ") == true, "\(lines.last ?? "nothing")")
      let saved = lines.count - 1
      #expect(saved > 0)
      try makeRoom()
      let store = try SnapshotStore(url: url)
      try store.read { transaction throws in
        #expect(try transaction.history(of: "k").count == saved)
        for number in 1...max(saved, 1) {
          let value = try transaction.value(String.self, for: "k", at: .revision(number))
          #expect(value == Self.text(number))
        }
      }
      #expect(try store.check(.full).findings.map(\.description) == [])
      try store.write { _ = try $0.save("more", as: "k") }
      try store.close()
    }

    @Test(
      "A file size limit is reported like a full disk", .tags(.long),
      arguments: Effort.sample(1, of: [500_001, 200_000, 3_000_000]))
    func fileLimit(limit: Int) throws {
      try withFolder { folder in try fill(folder, log: folder.appending(path: "log"), limit: limit) }
    }

    private static var canMount: Bool {
      // If the command cannot be run, mounting is not available.
      (try? withFolder { folder in
        guard try run("/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path) == 0 else { return false }
        return try run("/bin/umount", folder.path) == 0
      }) ?? false
    }

    private static func run(_ program: String, _ arguments: String...) throws -> Int32 {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      return process.terminationStatus
    }

    @Test("A full disk loses no acknowledged save", .enabled(if: canMount, "needs the right to mount a tmpfs"))
    func fullDisk() throws {
      try withFolder { folder in
        let disk = folder.appending(path: "disk")
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
        #expect(try Self.run("/bin/mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", disk.path) == 0)
        // `nil` means that the command could not run.
        defer { #expect((try? Self.run("/bin/umount", disk.path)) == 0) }
        try fill(disk, log: folder.appending(path: "log"), limit: nil) { () throws in
          let status = try Self.run("/bin/mount", "-o", "remount,size=64m", disk.path)
          #expect(status == 0)
        }
      }
    }
  #endif
}
