import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Observing")
struct ObservingTests {
  @Test(
    "A sequence of values yields the current value and each change, also of another store", arguments: [false, true])
  func values(isOther: Bool) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      let writer = isOther ? try SnapshotStore(url: url) : store
      var values = store.values(Int.self, for: "n").makeAsyncIterator()
      #expect(try await values.next() == .some(nil))
      try await writer.save(1, as: "n")
      #expect(try await values.next() == .some(1))
      try await writer.save(5, as: "other")
      try await writer.save(2, as: "n")
      #expect(try await values.next() == .some(2))
      try await writer.delete("n")
      #expect(try await values.next() == .some(nil))
    }
  }

  @Test("Each revision is delivered once and in order while several tasks save")
  func changes() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let stores = try [SnapshotStore(url: url), SnapshotStore(url: url)]
      let observer = Task {
        var found: [StoreRevision] = []
        for try await revision in stores[0].changes(since: 0) {
          found.append(revision)
          if found.count == 200 { break }
        }
        return found
      }
      try await withThrowingTaskGroup { group in
        for task in 0..<4 {
          group.addTask {
            for number in 0..<50 { try await stores[task % 2].save(number, as: "k\(task)") }
          }
        }
        try await group.waitForAll()
      }
      let found = try await observer.value
      #expect(found.map(\.sequence) == Array(1...200))
      for task in 0..<4 { #expect(found.filter { $0.key == "k\(task)" }.map(\.number) == Array(1...50)) }
    }
  }

  @Test("Cancelling ends a waiting sequence")
  func cancelling() async throws {
    let store = try SnapshotStore()
    let (waiting, gate) = AsyncStream.makeStream(of: Void.self)
    let changes = Task {
      var count = 0
      gate.yield()
      for try await _ in store.changes() { count += 1 }
      return count
    }
    let values = Task {
      var count = 0
      for try await _ in store.values(Int.self, for: "n") {
        count += 1
        gate.yield()
      }
      return count
    }
    var started = waiting.makeAsyncIterator()
    for _ in 0..<2 { await started.next() }
    try await Task.sleep(for: .milliseconds(20))
    changes.cancel()
    values.cancel()
    #expect(try await changes.value == 0)
    // The first element was nil, because there was no value.
    #expect(try await values.value == 1)
  }

  @Test("After an error, a sequence of values waits before it retries and continues after the next change")
  func retrying() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      var options = StoreOptions()
      options.pollInterval = 0.1
      let store = try SnapshotStore(url: url, options: options)
      try await store.save((0..<1000).map { $0 * 7919 }, as: "n")
      try Database.change(url) { try $0.execute("UPDATE blobs SET bytes = x'0011'") }
      var values = store.values([Int].self, for: "n").makeAsyncIterator()
      let start = ContinuousClock.now
      for _ in 0..<4 { await storeErrorAsync(.damaged) { try await values.next() } }
      #expect(ContinuousClock.now - start >= .milliseconds(290))
      try await store.save([1], as: "n")
      #expect(try await values.next() == .some([1]))
    }
  }

  @Test("A damaged revision throws once, and the sequence continues after it")
  func damagedRevision() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try await store.write { transaction throws in
        for number in 1...300 { try transaction.save(number, as: "k\(number)") }
      }
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1 WHERE id = 50") }
      var iterator = store.changes(since: 0).makeAsyncIterator()
      var found: [Int64] = [], errors = 0
      for _ in 0..<300 {
        do { found.append(try await iterator.next()?.sequence ?? 0) } catch { errors += 1 }
      }
      #expect(errors == 1 && found == (1...300).filter { $0 != 50 })
    }
  }

  @Test("A sequence of changes starts at its creation or after the given sequence number")
  func beginning() async throws {
    let store = try SnapshotStore()
    try await store.save(1, as: "before")
    let changes = store.changes()
    try await store.save(2, as: "after")
    var iterator = changes.makeAsyncIterator()
    #expect(try await iterator.next()?.key == "after")
    var ahead = store.changes(since: 500).makeAsyncIterator()
    await storeErrorAsync(.notFound) { try await ahead.next() }
    var last = store.changes(since: 2).makeAsyncIterator()
    try await store.save(3, as: "last")
    #expect(try await last.next()?.key == "last")
  }
}
