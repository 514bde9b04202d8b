import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Names of keys and labels")
struct StoreNamesTests {
  @Test("A NUL character in saved or queried text is rejected")
  func nul() throws {
    let store = try SnapshotStore()
    try store.write { transaction throws in
      try transaction.save(1, as: "a")
      storeError(.invalid) { try transaction.save(2, as: "a\u{0}b") }
      storeError(.invalid) { try transaction.save(2, as: "\u{0}") }
      storeError(.invalid) { try transaction.save(2, as: "a", note: "x\u{0}y") }
      storeError(.invalid) { try transaction.save(2, as: "a", author: "x\u{0}y") }
      storeError(.invalid) { try transaction.delete("a", note: "\u{0}") }
      storeError(.invalid) { try transaction.setLabel("l\u{0}x", of: "a") }
      storeError(.invalid) { try transaction.removeLabel("l\u{0}x", of: "a") }
      storeError(.invalid) { try transaction.value(Int.self, for: "a\u{0}b") }
      storeError(.invalid) { try transaction.value(Int.self, for: "a", at: .label("l\u{0}")) }
      storeError(.invalid) { try transaction.history(of: "a\u{0}b") }
      storeError(.invalid) { try transaction.revisions(prefix: "a\u{0}") }
      storeError(.invalid) { try transaction.undo("a\u{0}") }
    }
    // The transaction was committed without the rejected changes.
    #expect(try store.read { try $0.history(of: "a").map(\.number) } == [1])
    #expect(try store.check(.full).isClean)
  }

  /// Saves three revisions under each of three keys.
  private func fill(_ url: URL) throws -> SnapshotStore {
    let store = try SnapshotStore(url: url)
    try store.write { transaction in
      for (key, first) in [("a", 1), ("b", 11), ("c", 21)] {
        for number in first..<first + 3 { try transaction.save(number, as: key) }
      }
    }
    return store
  }

  @Test(
    "A key with a damaged row throws damaged and is not pruned",
    arguments: [
      // The first three set the key's head to another key's revision, a missing revision, and an earlier revision of the same key. The
      // others change the key's identifier, name and checksum.
      "head = 6", "head = 999", "head = 1", "id = 1000", "name = 'aa'", "crc = crc + 1",
    ])
  func damagedKey(damage: String) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      let store = try fill(url)
      try Database.change(url) { try $0.execute("UPDATE keys SET \(damage) WHERE name = 'a'") }
      let key = damage.hasPrefix("name") ? "aa" : "a"
      storeError(.damaged) { try store.readNow { try $0.value(Int.self, for: key) } }
      storeError(.damaged) { try store.writeNow { try $0.save(9, as: key) } }
      storeError(.damaged) { try store.readNow { try $0.revisions() } }
      storeError(.damaged) { try store.readNow { try $0.forEach(Int.self) { _ in } } }
      // Iteration throws an error for the damaged key, then continues.
      var iterator = store.entries(Int.self).makeAsyncIterator()
      await storeErrorAsync(.damaged) { try await iterator.next() }
      #expect(try await iterator.next()?.value == 13)
      #expect(try await iterator.next()?.value == 23)
      #expect(try await iterator.next() == nil)
      // Observing changes also throws an error for the damaged key, then continues.
      var changes = store.changes(since: 0).makeAsyncIterator()
      var found: [String] = []
      for _ in 0..<9 {
        do { found.append(try await changes.next()?.key ?? "") } catch { found.append("?") }
      }
      #expect(found == ["?", "?", "?", "b", "b", "b", "c", "c", "c"])
      // The last revision of the damaged key is unknown, so pruning must not remove any of its revisions.
      let report = try await store.prune([.within(.seconds(0))], force: true)
      #expect(report.removedCount == 4 && report.skipped.count == 1)
      #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM revisions WHERE key = 1") } == 3)
      #expect(try await !store.check().isClean)
      #expect(try await store.salvage(to: copy).revisions >= 5)
    }
  }

  @Test("A key name that is no longer valid text is reported and does not stop a listing")
  func flippedName() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      var store = try SnapshotStore(url: url)
      try await store.write { transaction throws in
        try transaction.save(1, as: "a")
        try transaction.save(2, as: "ticket/7")
      }
      try store.close()
      // Flips a bit of the name in both the table and the index.
      var bytes = try Data(contentsOf: url)
      var start = bytes.startIndex
      while let range = bytes.range(of: Data("ticket/7".utf8), in: start..<bytes.endIndex) {
        bytes[range.lowerBound] ^= 0x80
        start = range.upperBound
      }
      try bytes.write(to: url)
      store = try SnapshotStore(url: url)
      var iterator = store.entries(Int.self).makeAsyncIterator()
      #expect(try await iterator.next()?.value == 1)
      await storeErrorAsync(.damaged) { try await iterator.next() }
      #expect(try await iterator.next() == nil)
      let report = try await store.prune([.keepLast(1)])
      #expect(report.skipped.count == 1)
      #expect(try await store.check(.quick).findings.contains { $0.problem.contains("checksum of a key") })
    }
  }

  @Test("A damaged label throws damaged, and its revisions are kept")
  func damagedLabel() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try fill(url)
      try store.write { try $0.setLabel("l", of: "a", at: .revision(1)) }
      try Database.change(url) { try $0.execute("UPDATE labels SET revision = 2") }
      storeError(.damaged) { try store.read { try $0.value(Int.self, for: "a", at: .label("l")) } }
      storeError(.damaged) { try store.read { try $0.labels(of: "a") } }
      #expect(try store.prune([.keepLast(1)]).skipped.map(\.key) == ["a"])
      #expect(try store.check().findings.contains { $0.kind == .label && $0.key == "a" })
      let report = try store.salvage(to: folder.appending(path: "copy"))
      #expect(report.lost.count == 1 && report.revisions >= 5)
      try store.write { try $0.setLabel("l", of: "a", at: .revision(1)) }
      #expect(try store.read { try $0.labels(of: "a") } == ["l": 1])
      #expect(try store.check(.full).isClean)
    }
  }

  @Test("Keys are compared by bytes, and labels that are equal as Swift strings are rejected")
  func normalization() throws {
    let store = try SnapshotStore()
    let composed = "\u{E9}", decomposed = "e\u{301}"
    try store.write { transaction throws in
      for number in 1...3 { try transaction.save(number, as: composed) }
      for number in 1...4 { try transaction.save(10 + number, as: decomposed) }
      try transaction.setLabel(composed, of: composed, at: .revision(2))
      storeError(.invalid) { try transaction.setLabel(decomposed, of: composed) }
      try transaction.setLabel(decomposed, of: decomposed, at: .revision(2))
      #expect(try transaction.value(Int.self, for: composed) == 3)
      #expect(try transaction.value(Int.self, for: decomposed) == 14)
    }
    // As Swift strings, the two keys are equal, so the report has one entry with the removed revisions of both.
    let report = try store.prune([.keepLast(1)])
    #expect(report.removedCount == 3 && report.kept == 4)
  }

  @Test("Reading at a time throws if its revision was pruned, and returns the last kept one otherwise")
  func prunedTime() throws {
    let clock = Clock()
    let start = clock.now
    let store = try SnapshotStore(inMemory: clock.options)
    for number in 1...6 {
      clock.now = start + Double(number) * 10
      try store.write { _ = try $0.save(number, as: "n") }
    }
    #expect(try store.read { try $0.value(Int.self, for: "n", at: .time(start + 35)) } == 3)
    #expect(try store.read { try $0.value(Int.self, for: "n", at: .time(start + 5)) } == nil)
    try store.write { try $0.setLabel("kept", of: "n", at: .revision(3)) }
    _ = try store.prune([.keepLast(1)])
    #expect(try store.read { try $0.value(Int.self, for: "n", at: .time(start + 45)) } == 3)
    #expect(try store.read { try $0.value(Int.self, for: "n", at: .time(start + 65)) } == 6)
    let error = storeError(.notFound) {
      try store.read { try $0.value(Int.self, for: "n", at: .time(start + 25)) }
    }
    #expect(error?.reason.contains("pruned") == true)
    storeError(.notFound) { try store.write { try $0.restore("n", to: .time(start + 25)) } }
  }

  @Test("Undo throws nothingToUndo if the previous state was pruned")
  func prunedUndo() throws {
    let store = try SnapshotStore()
    try store.write { transaction throws in
      try transaction.save("A", as: "n")
      try transaction.save("B", as: "n")
      try transaction.undo("n")
    }
    _ = try store.prune([.keepLast(2)])
    storeError(.nothingToUndo) { try store.write { try $0.undo("n") } }
    #expect(try store.read { try $0.value(String.self, for: "n") } == "A")
  }

  @Test("A damaged definition is repaired by the next save, and a failed restore saves nothing")
  func damagedDefinition() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try SnapshotStore(url: url).write { transaction throws in
        try transaction.save(Part(name: "x"), as: "p")
        try transaction.save(1, as: "p")
      }
      try Database.change(url) { try $0.execute("UPDATE definitions SET content = x'00' WHERE type = 'Part'") }
      let store = try SnapshotStore(url: url)
      storeError(.damaged) {
        try store.write { transaction in
          // The transaction throws this error when it ends, even though the body ignores it.
          do { _ = try transaction.restore("p", to: .revision(1)) } catch {}
        }
      }
      #expect(try store.read { try $0.value(Int.self, for: "p") } == 1)
      // Saving the same definition again repairs it.
      try store.write { _ = try $0.save(Part(name: "y"), as: "q") }
      #expect(try store.read { try $0.value(Part.self, for: "p", at: .revision(1))?.name } == "x")
      #expect(try store.check(.full).findings.map(\.description) == [])
    }
  }

  @Test("A definition whose repair was rolled back is repaired by the next save")
  func repairRolledBack() throws {
    struct Stop: Error {}
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try SnapshotStore(url: url).write { _ = try $0.save(Part(name: "x"), as: "p") }
      try Database.change(url) { try $0.execute("UPDATE definitions SET content = x'00'") }
      let store = try SnapshotStore(url: url)
      #expect(throws: Stop.self) {
        try store.write { transaction in
          try transaction.save(Part(name: "y"), as: "q")
          throw Stop()
        }
      }
      try store.write { _ = try $0.save(Part(name: "z"), as: "q") }
      let again = try SnapshotStore(url: url)
      #expect(try again.read { try $0.value(Part.self, for: "q")?.name } == "z")
      #expect(try again.check(.full).findings.map(\.description) == [])
    }
  }

  @Test("Infinite, negative and NaN timeouts neither trap nor hang", arguments: [Double.infinity, .nan, -1, 1e300])
  func times(time: Double) async throws {
    try await withFolder { folder in
      var options = StoreOptions()
      options.busyTimeout = time
      options.pollInterval = time
      let store = try SnapshotStore(url: folder.appending(path: "store"), options: options)
      let changes = store.changes()
      try await store.save(1, as: "a")
      var iterator = changes.makeAsyncIterator()
      #expect(try await iterator.next()?.key == "a")
    }
  }
}
