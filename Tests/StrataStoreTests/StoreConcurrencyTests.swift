import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// `Tests/Scripts/thread-sanitizer` also runs these tests under the thread sanitizer.
@Suite("Concurrency of stores")
struct StoreConcurrencyTests {
  private static let readers = 8, saves = 40

  /// Saves two values in one transaction, so that a reader that sees one of them also sees the other.
  private static func save(_ number: Int, _ transaction: StoreTransaction) throws {
    try transaction.save(
      Point5(name: String(repeating: "n\(number) ", count: 40), x: number, y: -number, isOn: true), as: "point")
    try transaction.save((0...number).map { Part(name: "part \($0)", weight: Double(number)) }, as: "parts")
    if number % 7 == 6 { try transaction.undo("point") }
  }

  private func saveNow(_ number: Int, _ store: SnapshotStore) throws {
    try store.write { try Self.save(number, $0) }
  }

  /// Returns the number of saves that a reader sees. `way` selects how the store is read.
  private static func read(_ store: SnapshotStore, _ way: Int) async throws -> Int {
    switch way % 4 {
    case 0:
      return try await store.read { transaction in
        guard let parts = try transaction.value([Part].self, for: "parts") else { return 0 }
        let point = try #require(try transaction.value(Point5.self, for: "point"))
        #expect(point.x == parts.count - 1 || parts.count % 7 == 0)
        return parts.count
      }
    case 1:
      for try await entry in store.entries([Part].self) {
        #expect(entry.value.last?.weight == Double(entry.value.count - 1))
      }
      return try await store.value([Part].self, for: "parts")?.count ?? 0
    case 2:
      let history = try await store.history(of: "parts")
      guard let some = history.randomElement() else { return 0 }
      let parts = try await store.value([Part].self, for: "parts", at: .revision(some.number))
      #expect(parts?.count == some.number)
      return history.count
    default:
      _ = try await store.status()
      #expect(try await store.check(.share(percent: 20)).isClean)
      return try await store.value([Part].self, for: "parts")?.count ?? 0
    }
  }

  @Test("Eight readers and observers see only consistent states, in order, during saves", arguments: [false, true])
  func readersAndAWriter(ofApp: Bool) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try ofApp ? SnapshotStore(in: DatabasePool(path: url.path)) : SnapshotStore(url: url)
      let isDone = Flag()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for way in 0..<Self.readers {
          group.addTask {
            var last = 0
            while !isDone.isSet {
              let now = try await Self.read(store, way)
              #expect(now >= last)
              last = now
            }
          }
        }
        group.addTask {
          var last = 0
          for try await parts in store.values([Part].self, for: "parts") {
            #expect(parts?.count ?? 0 >= last)
            last = parts?.count ?? 0
            if last == Self.saves { break }
          }
        }
        group.addTask {
          var sequence: Int64 = 0
          for try await revision in store.changes(since: 0) {
            sequence += 1
            #expect(revision.sequence == sequence)
            if revision.key == "parts", revision.number == Self.saves { break }
          }
        }
        group.addTask {
          defer { isDone.set() }
          for number in 0..<Self.saves {
            if number.isMultiple(of: 2) {
              try await store.write { try Self.save(number, $0) }
            } else {
              try saveNow(number, store)
            }
            await Task.yield()
          }
        }
        try await group.waitForAll()
      }
      #expect(try await store.history(of: "parts").count == Self.saves)
      #expect(try await store.prune([.keepLast(5)]).removedCount > Self.saves)
      #expect(try await store.check(.full).isClean)
    }
  }

  @Test("Cancelling tasks at random times leaves an undamaged store with every acknowledged save", .tags(.long))
  func cancellation() async throws {
    try await withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      let acknowledged = Acknowledged()
      var random = SystemRandomNumberGenerator()
      let rounds = Effort.rounds(5, long: 40)
      var cancelled = 0
      for round in 0..<rounds {
        let tasks = (0..<8).map { way in
          Task {
            switch way {
            case 0..<4:
              // The first task saves until it is cancelled.
              for number in 0..<(way == 0 ? .max : 12) {
                let saved = try await store.save([Part(name: "\(number)", weight: Double(round))], as: "key \(way)")
                acknowledged.numbers.withLock { $0["key \(way)"] = saved.number }
              }
            case 4: _ = try await store.prune([.keepLast(4)])
            case 5: _ = try await store.backup(to: folder.appending(path: "backup \(round)"))
            case 6: for try await _ in store.values([Part].self, for: "key 0") {}
            default: for try await _ in store.entries([Part].self) {}
            }
          }
        }
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<6000, using: &random)))
        for task in tasks.shuffled(using: &random) {
          task.cancel()
          await Task.yield()
        }
        for task in tasks {
          do { try await task.value } catch {
            #expect(error is CancellationError, "\(error)")
            cancelled += 1
          }
        }
      }
      #expect(cancelled >= rounds)
      #expect(try await store.check(.full).findings.map(\.description) == [])
      for (key, number) in acknowledged.numbers.withLock({ $0 }) {
        #expect(try await store.history(of: key).last.map { $0.number >= number } == true, "\(key)")
      }
      // Each backup is complete or absent, and no other files are left.
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasPrefix("store") {
        #expect(name.hasPrefix("backup"), "\(name)")
        let backup = try SnapshotStore(url: folder.appending(path: name))
        #expect(try await backup.check(.quick).isClean)
      }
    }
  }
}

/// The last revision number that a save returned for each key.
private final class Acknowledged: Sendable {
  let numbers = Mutex([String: Int]())
}

private final class Flag: Sendable {
  private let value = Mutex(false)

  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
