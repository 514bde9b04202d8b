import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Tests in which two processes use one store, and tests of the system calls that a save makes.
extension StoreProcessTests {
  /// The role of the other process in a test.
  enum Role: String {
    /// Saves at intervals, and writes the current time into each note.
    case saver
    /// Increments a number that other processes increment, too.
    case counter
    /// Keeps a read transaction open.
    case reader
    /// Saves values, and acknowledges each save with a `write` system call.
    case speaker
  }

  static let counts = 150
  private static var part: Role? { environment["STRATA_PART"].flatMap { Role(rawValue: $0) } }

  @Test("Helper: acts as the other process", .enabled(if: part != nil, "a helper of the other tests"))
  func neighbour() throws {
    guard let path = Self.environment["STRATA_STORE_FILE"] else { return }
    let store = try SnapshotStore(url: URL(fileURLWithPath: path))
    switch Self.part {
    case .saver?:
      for number in 0..<10 {
        Thread.sleep(forTimeInterval: 0.1)
        let now = Int(Date().timeIntervalSince1970 * 1000)
        try store.write { _ = try $0.save(number, as: "n", note: "\(now)") }
      }
    case .counter?: try Self.count(store)
    case .reader?:
      try store.read { transaction in
        _ = try transaction.revision(of: "n")
        try Data().write(to: URL(fileURLWithPath: path + ".reads"))
        while !FileManager.default.fileExists(atPath: path + ".end") { Thread.sleep(forTimeInterval: 0.01) }
      }
    case .speaker?:
      for number in 1...8 {
        try store.write { _ = try $0.save(number, as: "n") }
        try FileHandle.standardOutput.write(contentsOf: Data("acknowledged \(number)\n".utf8))
      }
    case nil: break
    }
  }

  /// Increments a number several times. A save succeeds only if the number has not changed since it was read; otherwise the increment is
  /// retried.
  static func count(_ store: SnapshotStore) throws {
    for _ in 0..<counts {
      while true {
        let (value, number) = try store.read { transaction in
          (try transaction.value(Int.self, for: "count") ?? 0, try transaction.revision(of: "count")?.number)
        }
        do {
          try store.write { _ = try $0.save(value + 1, as: "count", if: number.map { .isStill($0) } ?? .isAbsent) }
          break
        } catch let error as StoreError where error.code == .conflict { continue }
      }
    }
  }

  #if os(Linux)
    private static func neighbour(_ part: Role, _ url: URL) throws -> Process {
      try start("neighbour", url, part.rawValue, ["STRATA_PART": part.rawValue])
    }

    private static func wait(for process: Process) {
      process.waitUntilExit()
      #expect(process.terminationReason == .exit && process.terminationStatus == 0, "the other process failed")
    }

    @Test("Saves by another process are observed, within a second on an idle machine", .enabled(if: !isChild))
    func seen() async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "store")
        let store = try SnapshotStore(url: url)
        try await store.save(0, as: "n")
        var values = store.values(Int.self, for: "n").makeAsyncIterator()
        var changes = store.changes(since: 1).makeAsyncIterator()
        #expect(try await values.next() == .some(0))
        let other = try Self.neighbour(.saver, url)
        var latest = 0
        for number in 0..<10 {
          let revision = try #require(try await changes.next())
          #expect(revision.number == number + 2)
          let saved = try #require(revision.note.flatMap { Int($0) })
          latest = max(latest, Int(Date().timeIntervalSince1970 * 1000) - saved)
        }
        Self.wait(for: other)
        var last: Int?
        while last != 9 { last = try await values.next() ?? nil }
        print("store: what another process saved was seen after at most \(latest) ms")
        // The delay depends on how much load other tests cause. The limit only proves that the reader noticed the changes.
        #expect(latest < 60_000)
      }
    }

    @Test(
      "Three processes can save at once without busy errors or lost conditional saves",
      .enabled(if: !isChild))
    func hammering() throws {
      try withFolder { folder in
        let url = folder.appending(path: "store")
        let store = try SnapshotStore(url: url)
        let others = try (0..<2).map { _ in try Self.neighbour(.counter, url) }
        try Self.count(store)
        for other in others { Self.wait(for: other) }
        #expect(try store.read { try $0.value(Int.self, for: "count") } == 3 * Self.counts)
        #expect(try store.read { try $0.revision(of: "count") }?.number == 3 * Self.counts)
        #expect(try store.check(.full).findings.map(\.description) == [])
      }
    }

    @Test(
      "The status names a process that blocks journal truncation, and the journal shrinks after it ends",
      .enabled(if: !isChild))
    func reader() throws {
      try withFolder { folder in
        let url = folder.appending(path: "store")
        let store = try SnapshotStore(url: url)
        // Random data is incompressible and has no repetitions.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/urandom"))
        func save() throws {
          let data = try #require(try file.read(upToCount: 1 << 20))
          try store.write { _ = try $0.save(data, as: "d") }
        }
        try save()
        let other = try Self.neighbour(.reader, url)
        while !FileManager.default.fileExists(atPath: url.path + ".reads") { Thread.sleep(forTimeInterval: 0.01) }
        for _ in 0..<12 { try save() }
        let held = try store.status()
        #expect(held.journalReaders?.contains(Int(other.processIdentifier)) == true)
        #expect(held.journalSize ?? 0 > 10 << 20)
        try Data().write(to: URL(fileURLWithPath: url.path + ".end"))
        Self.wait(for: other)
        for _ in 0..<12 { try save() }
        let free = try store.status()
        print("store: a journal of \(held.journalSize ?? 0) bytes beside a reader, then of \(free.journalSize ?? 0)")
        #expect(free.journalSize ?? .max < 32 << 20 && free.journalReaders == [])
      }
    }

    private static let tracer = "/usr/bin/strace"

    /// Whether strace is available and permitted to trace.
    private static var canTrace: Bool {
      guard FileManager.default.isExecutableFile(atPath: tracer) else { return false }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: tracer)
      process.arguments = ["-o", "/dev/null", "true"]
      process.standardError = FileHandle.nullDevice
      // If strace cannot be started, it is not available.
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }

    @Test(
      "The journal is synced after each write and before each acknowledgement",
      .enabled(if: !isChild && canTrace, "needs strace, which may trace"))
    func synced() throws {
      try withFolder { folder in
        let url = folder.appending(path: "traced.store"), trace = folder.appending(path: "trace")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.tracer)
        process.arguments = [
          "-f", "-y", "-o", trace.path, "-e", "trace=fsync,fdatasync,write,pwrite64",
          URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path,
          "--testing-library", "swift-testing", "--filter", "StoreProcessTests/neighbour",
        ]
        process.environment = Self.environment.merging(
          ["STRATA_PART": Role.speaker.rawValue, "STRATA_STORE_FILE": url.path]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        Self.wait(for: process)
        let calls = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
        var acknowledged = 0
        var isWritten = false, isSynced = false
        for call in calls {
          if call.contains("traced.store-wal>"), call.contains("write64(") || call.contains("write(") {
            (isWritten, isSynced) = (true, false)
          } else if call.contains("traced.store-wal>"), call.contains("sync("), !call.contains("unfinished") {
            isSynced = true
          } else if call.contains("sync resumed") {
            isSynced = isWritten
          } else if call.contains("\"acknowledged ") {
            acknowledged += 1
            #expect(isWritten && isSynced, "\(call)")
            (isWritten, isSynced) = (false, false)
          }
        }
        #expect(acknowledged == 8)
      }
    }
  #endif
}
