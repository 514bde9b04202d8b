import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Two programs on one store")
struct TwoProgramsTests {
  private func set(_ name: String, _ value: Int, _ url: URL) throws {
    try Database.change(url) { try $0.execute("UPDATE meta SET value = \(value) WHERE name = '\(name)'") }
  }

  @Test("A newer format opens read-only or throws, and the file is not changed", arguments: [false, true])
  func newerStore(isReadable: Bool) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let first = try SnapshotStore(url: url)
      try first.write { _ = try $0.save(1, as: "n") }
      try first.close()
      try Database.change(url) {
        try $0.execute("UPDATE meta SET value = 9 WHERE name IN ('format', 'minimumWriter')")
        if !isReadable { try $0.execute("UPDATE meta SET value = 9 WHERE name = 'minimumReader'") }
      }
      let before = try Data(contentsOf: url)
      if isReadable {
        let store = try SnapshotStore(url: url)
        #expect(store.isReadOnly)
        #expect(try store.read { try $0.value(Int.self, for: "n") } == 1)
        storeError(.readOnly) { try store.write { try $0.save(2, as: "n") } }
        try store.close()
      } else {
        let error = storeError(.newerStore) { try SnapshotStore(url: url) }
        #expect(error?.foundVersion == 9 && error?.supportedVersion == 1)
      }
      #expect(try Data(contentsOf: url) == before)
    }
  }

  @Test("An open store detects a format change by a newer program in its next transaction")
  func newerWhileOpen() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try await store.save(1, as: "n")
      try set("minimumWriter", 2, url)
      await storeErrorAsync(.readOnly) { try await store.save(2, as: "n") }
      storeError(.readOnly) { try store.writeNow { try $0.save(2, as: "n") } }
      #expect(try await store.value(Int.self, for: "n") == 1)
      try set("minimumReader", 2, url)
      await storeErrorAsync(.newerStore) { try await store.value(Int.self, for: "n") }
      storeError(.newerStore) { try store.readNow { try $0.history(of: "n") } }
      await storeErrorAsync(.newerStore) {
        var entries = store.entries(Int.self).makeAsyncIterator()
        return try await entries.next()
      }
    }
  }

  @Test("A transaction waits for another program until its timeout and then throws busy")
  func busy() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      var options = StoreOptions()
      options.busyTimeout = 0.2
      let impatient = try SnapshotStore(url: url, options: options), patient = try SnapshotStore(url: url)
      let other = try DatabaseQueue(path: url.path)
      // The other program keeps its transaction open until the semaphore is signalled, however slow this test is.
      let end = DispatchSemaphore(value: 0)
      let (started, start) = AsyncStream<Void>.makeStream()
      // This closure blocks, so it runs on another thread.
      other.asyncWriteWithoutTransaction { db in
        #expect(throws: Never.self) {
          try db.execute(sql: "BEGIN IMMEDIATE")
          start.finish()
          end.wait()
          try db.execute(sql: "COMMIT")
        }
      }
      for await _ in started {}
      await storeErrorAsync(.busy) { try await impatient.save(1, as: "n") }
      Thread.detachNewThread {
        Thread.sleep(forTimeInterval: 0.4)
        end.signal()
      }
      try await patient.save(2, as: "n")
      #expect(try await impatient.value(Int.self, for: "n") == 2)
    }
  }

  @Test("Every commit is synced to disk")
  func synchronous() throws {
    try withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      #expect(try store.synchronous == 2)
      for number in 0..<3 {
        try store.write { _ = try $0.save(number, as: "n") }
        #expect(try store.synchronous == 2)
      }
    }
  }

  @Test("Overlapping readers do not let the journal grow without limit", .tags(.long), .longRunsOnly)
  func overlappingReaders() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      let data = Data((0..<50_000).map { _ in UInt8.random(in: 0...255) })
      try await store.save(data, as: "d")
      let isOver = Mutex(false)
      for place in 0..<2 {
        // The readers block, so each one runs on its own thread.
        Thread.detachNewThread {
          Thread.sleep(forTimeInterval: 0.015 * Double(place))
          // Each reader starts a read before the other reader's read ends.
          while !isOver.withLock({ $0 }) {
            #expect(throws: Never.self) {
              try store.readNow { transaction in
                _ = try transaction.revision(of: "d")
                Thread.sleep(forTimeInterval: 0.03)
              }
            }
          }
        }
      }
      var most = 0
      for number in 0..<500 {
        var changed = data
        changed[number] ^= 1
        try await store.save(Data(changed.reversed()) + changed, as: "d\(number)")
        let size = try FileManager.default.attributesOfItem(atPath: url.path + "-wal")[.size] as? Int ?? 0
        most = max(most, size)
      }
      isOver.withLock { $0 = true }
      print("journal: at most \(most) bytes beside readers that overlap, of 50 MB saved")
      // Each save waits up to a tenth of a second for the readers. On a busy machine, more saves are needed until the journal can
      // be reset.
      #expect(most < 40 << 20)
    }
  }
}
