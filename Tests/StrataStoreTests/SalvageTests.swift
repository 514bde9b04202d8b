import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Salvage")
struct SalvageTests {
  /// The number of the last revision of each key.
  private static func lastNumbers(_ url: URL) throws -> [String: Int] {
    try SnapshotStore(url: url).readNow { transaction in
      var numbers: [String: Int] = [:]
      for revision in try transaction.revisions(since: 0) { numbers[revision.key] = revision.number }
      return numbers
    }
  }

  /// Returns the salvaged revisions, except those that salvage itself created.
  ///
  /// Checks that the copied values are unchanged, and that no revision number of a key can be reused for another revision.
  private static func brought(
    _ copy: URL, _ before: [String: [String]], _ numbers: [String: Int]
  ) throws -> [String: Set<String>] {
    var brought: [String: Set<String>] = [:]
    let last = try lastNumbers(copy)
    for (key, states) in try CheckTests.dump(copy) where !key.hasPrefix("salvaged/") {
      let made = states.dropLast().filter { $0.contains("note: Optional(\"salvage: ") }
      let found = Set(states.dropLast()).subtracting(made)
      #expect(found.isSubset(of: before[key] ?? []), "what is brought out is as it was")
      #expect(made.count <= 1 && made.allSatisfy { $0 == states.dropLast().last })
      let isLastThere = before[key]?.dropLast().last.map { found.contains($0) } ?? false
      let (new, old) = (last[key] ?? 0, numbers[key] ?? 0)
      #expect(isLastThere ? new >= old : new > old, "key \(key): \(new) after \(old)")
      brought[key] = found
    }
    return brought
  }

  @Test("If the last revision is lost, salvage restores the previous one under an unused number")
  func lostHead() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.write { transaction throws in
        for number in 1...3 {
          for key in ["a", "b", "deleted", "intact"] {
            if key == "deleted", number == 2 {
              try transaction.delete(key)
            } else {
              try transaction.save(number, as: key, author: "me")
            }
          }
        }
      }
      try store.close()
      // Damages revisions 9 to 11, the latest revision of each key except "intact". The row of key "b" now refers to an earlier revision.
      try Database.change(url) {
        try $0.execute("UPDATE revisions SET time = time + 1 WHERE id IN (9, 10, 11)")
        try $0.execute("UPDATE keys SET head = 6 WHERE name = 'b'")
      }
      let copy = folder.appending(path: "copy")
      let report = try SnapshotStore.salvage(url, to: copy)
      #expect(report.revisions == 12 && report.lost.count == 3)
      let salvaged = try SnapshotStore(url: copy)
      try salvaged.write { transaction throws in
        for (key, value) in ["a": 2, "b": 2, "deleted": nil] {
          let history = try transaction.history(of: key)
          #expect(history.map(\.number) == [1, 2, 4] && history.last?.origin == 2)
          #expect(history.last?.action == .restore && history.last?.note?.hasPrefix("salvage: ") == true)
          #expect(try transaction.value(Int.self, for: key) == value)
          storeError(.conflict) { try transaction.save(7, as: key, if: .isStill(3)) }
          try transaction.save(7, as: key, if: .isStill(4))
        }
        #expect(try transaction.history(of: "intact").map(\.number) == [1, 2, 3])
      }
      #expect(try salvaged.check(.full).findings.map(\.description) == [])
      // Salvaging the salvaged store loses nothing.
      let again = folder.appending(path: "again")
      #expect(try salvaged.salvage(to: again).isComplete)
      #expect(try CheckTests.dump(again) == CheckTests.dump(copy))
    }
  }

  @Test("If the last revision number is unknown, salvage continues above every possible number")
  func unknownHead() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      let store = try SnapshotStore(url: url)
      try store.write { transaction throws in
        for number in 1...3 { for key in ["a", "b"] { try transaction.save(number, as: key) } }
      }
      try store.close()
      try Database.change(url) {
        try $0.execute("UPDATE revisions SET time = time + 1 WHERE id = 5")
        try $0.execute("UPDATE keys SET head = 1000000 WHERE name = 'a'")
      }
      _ = try SnapshotStore.salvage(url, to: copy)
      try SnapshotStore(url: copy).readNow { transaction throws in
        // Revision 2 of key "a" has sequence 3. By sequence 1,000,000, the key could have used all revision numbers up to 999,999.
        #expect(try transaction.history(of: "a").map(\.number).last ?? 0 > 999_999)
        #expect(try transaction.history(of: "b").map(\.number) == [1, 2, 3])
        #expect(try transaction.value(Int.self, for: "a") == 2)
      }
    }
  }

  @Test("Salvaging an undamaged store copies all of it", .tags(.long), arguments: 0..<UInt64(Effort.rounds(1, long: 2)))
  func salvageAll(seed: UInt64) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: seed, keys: 8, revisions: 9)
      let report = try await SnapshotStore(url: url).salvage(to: copy)
      #expect(report.isComplete && report.revisions == 73 && report.keys == 8)
      #expect(try CheckTests.dump(copy) == CheckTests.dump(url))
      #expect(try await SnapshotStore(url: copy).check(.full).findings.map(\.description) == [])
      let sizes = try [url, copy].map { url in try Database.change(url) { try $0.contentSize() } }
      #expect(sizes[1] < sizes[0] * 11 / 10)
      await storeErrorAsync(.invalid) { try await SnapshotStore(url: url).salvage(to: copy) }
      // Sequence numbers that were already assigned are not reused.
      let next = try await SnapshotStore(url: copy).save(1, as: "n")
      #expect(next.sequence == 74)
    }
  }

  @Test(
    "Check and salvage continue past a damaged page, and salvage recovers everything else", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(1, long: 5)))
  func damagedPage(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: seed, keys: 60, revisions: 4)
      let before = try CheckTests.dump(url), numbers = try Self.lastNumbers(url)
      var bytes = try Data(contentsOf: url)
      // Chooses a page of revisions or of rows that belong to them. The schema's pages come first in the file and stay intact.
      let pages = try Database.change(url) {
        try $0.pages(of: ["revisions", "blobs", "keys", "pieces", "labels"][Int(seed) % 5])
      }
      var random = SeededRandom(seed: seed)
      let page = random.oneOf(pages) - 1
      for place in page * 4096..<(page + 1) * 4096 {
        bytes[place] = random.isOnce(in: 2) ? 0 : UInt8(random.below(256))
      }
      try bytes.write(to: url)
      let store = try SnapshotStore(url: url)
      let check = try store.check(.full)
      #expect(!check.isClean)
      let report = try store.salvage(to: copy)
      let after = try Self.brought(copy, before, numbers)
      #expect(try SnapshotStore(url: copy).check(.full).findings.map(\.description) == [])
      var lost = 0
      for (key, states) in before {
        for state in states.dropLast() where !(after[key] ?? []).contains(state) { lost += 1 }
      }
      #expect(report.lost.count + report.omittedLosses >= lost, "every loss is listed, seed \(seed)")
      // The report does not advise salvaging the salvaged store.
      #expect(report.lost.allSatisfy { !$0.description.contains("salvage it") && !$0.advice.contains("salvage ") })
      #expect(check.findings.allSatisfy { !$0.problem.contains("salvage") && !$0.advice.isEmpty })
      #expect(report.revisions >= 100)
    }
  }

  @Test(
    "If the last sequence is unreadable, salvage recovers later revisions and reuses no sequence",
    .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(1, long: 6)))
  func damagedSequence(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: seed, keys: 60, revisions: 4)
      let before = try CheckTests.dump(url), numbers = try Self.lastNumbers(url)
      let (pages, sequence) = try Database.change(url) {
        (try $0.pages(of: "revisions"), try $0.pages(of: "sqlite_sequence"))
      }
      var random = SeededRandom(seed: seed)
      // Damages adjacent pages, so that several numbers are missing between the readable revisions.
      let first = 1 + random.below(pages.count / 2)
      var damaged = sequence + pages[first..<first + 2]
      if seed.isMultiple(of: 2), let last = pages.last { damaged.append(last) }
      try Database.overwrite(url, pages: damaged)
      let check = try SnapshotStore(url: url).check(.full)
      #expect(!check.isClean)
      #expect(check.findings.allSatisfy { !$0.advice.isEmpty })
      let report = try SnapshotStore.salvage(url, to: copy)
      let after = try Self.brought(copy, before, numbers)
      print("salvage: \(report.revisions) of 248 revisions, \(report.lost.count) lost, seed \(seed)")
      #expect(report.revisions > 150)
      if !seed.isMultiple(of: 2) { #expect(after["memo/59"] == before["memo/59"].map { Set($0.dropLast()) }) }
      let store = try SnapshotStore(url: copy)
      let next = try store.write { try $0.save(1, as: "n") }
      #expect(next.sequence > 1_000_000_000_000, "seed \(seed)")
      #expect(report.lost.contains { $0.problem.contains("the last sequence") })
      #expect(try store.check(.full).findings.map(\.description) == [])
    }
  }

  @Test("Salvage continues above every sequence in the store, even if no revision is left")
  func numbersGoOn() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: 1, keys: 2, revisions: 3)
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1") }
      #expect(try SnapshotStore.salvage(url, to: copy).revisions == 0)
      #expect(try SnapshotStore(url: copy).write { try $0.save(1, as: "n") }.sequence == 7)
      // Salvage ignores a recorded last sequence that is too low, or that no store would assign.
      for (place, told) in [2, Int64.max].enumerated() {
        let copy = folder.appending(path: "copy\(place)")
        try Database.change(url) { try $0.execute("UPDATE sqlite_sequence SET seq = \(told)") }
        if told == .max { storeError(.damaged) { try SnapshotStore(url: url).write { try $0.save(1, as: "n") } } }
        _ = try SnapshotStore.salvage(url, to: copy)
        #expect(try SnapshotStore(url: copy).write { try $0.save(1, as: "n") }.sequence == 1_000_000_000_007)
      }
    }
  }

  @Test("Salvage reports a key name that differs between table and index, and keeps histories apart")
  func damagedNames() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: 1, keys: 4, revisions: 3)
      let before = try CheckTests.dump(url)
      // Renames memo/1 to memo/3, which already exists, in the table but not in the index.
      var bytes = try Data(contentsOf: url)
      let page = try #require(try Database.change(url) { try $0.pages(of: "keys") }.first) - 1
      let place = try #require(bytes.range(of: Data("memo/1".utf8), in: page * 4096..<(page + 1) * 4096))
      bytes.replaceSubrange(place, with: Data("memo/3".utf8))
      try bytes.write(to: url)
      #expect(try !SnapshotStore(url: url).check(.full).isClean)
      let report = try SnapshotStore.salvage(url, to: copy)
      let after = try CheckTests.dump(copy)
      #expect(report.revisions == 12 && after.count == 4)
      #expect(after["memo/0"] == before["memo/0"] && after["memo/2"] == before["memo/2"])
      #expect(report.lost.count >= 3)
      #expect(try SnapshotStore(url: copy).check(.full).isClean)
    }
  }

  @Test("A file whose first page is damaged is salvaged completely", .longRunsOnly, .tags(.long), arguments: 0...3)
  func firstPage(damage: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: 7, keys: 30, revisions: 4)
      if damage == 3 {
        // Pruning frees pages and shrinks the file, but moves no table.
        _ = try SnapshotStore(url: url).prune([.keepLast(2)])
      }
      let before = try CheckTests.dump(url)
      var bytes = try Data(contentsOf: url)
      switch damage {
      case 0, 3: bytes.replaceSubrange(0..<4096, with: Data(count: 4096))
      case 1: for place in 0..<4096 { bytes[place] ^= UInt8(truncatingIfNeeded: place &* 31 &+ 7) }
      default: bytes.replaceSubrange(100..<4096, with: Data(count: 3996))
      }
      try bytes.write(to: url)
      let report = try SnapshotStore.salvage(url, to: copy)
      #expect(report.lost.map(\.description) == [])
      #expect(try CheckTests.dump(copy) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.hasSuffix("tmp") })
    }
  }

  /// The bytes of a store, its content, and the last revision number of each key.
  private static let whole = Result {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try CheckTests.fill(url, seed: 7, keys: 60, revisions: 3)
      return try (bytes: Data(contentsOf: url), before: CheckTests.dump(url), numbers: lastNumbers(url))
    }
  }

  @Test(
    "Salvaging a truncated file recovers all intact revisions or throws a clear error", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(1, long: 6)))
  func truncated(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      let (bytes, before, numbers) = try Self.whole.get()
      var random = SeededRandom(seed: seed)
      let size = seed == 0 ? bytes.count - 1 : bytes.count * (20 + Int(seed) * 7) / 100 - random.below(4096)
      try bytes.prefix(size).write(to: url)
      do {
        let report = try SnapshotStore.salvage(url, to: copy)
        print(
          "salvage: \(report.revisions) of 188 revisions from \(size) of \(bytes.count) bytes, \(report.lost.count) lost"
        )
        if seed == 11 { #expect(report.revisions > 0) }
        #expect(!report.isComplete || report.revisions >= 188)
        _ = try Self.brought(copy, before, numbers)
        #expect(try SnapshotStore(url: copy).check(.full).isClean)
      } catch let error as StoreError {
        print("salvage: \(error) from \(size) of \(bytes.count) bytes")
        #expect([.damaged, .notAStore].contains(error.code) && size < 100_000)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
      }
    }
  }

  @Test("Opening or salvaging a file of zeros throws notAStore and leaves it unchanged", arguments: [1, 4096, 200_000])
  func zeros(count: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "zeros")
      try Data(count: count).write(to: url)
      storeError(.notAStore) { try SnapshotStore(url: url) }
      storeError(.notAStore) { try SnapshotStore.salvage(url, to: folder.appending(path: "copy")) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["zeros"])
      #expect(try Data(contentsOf: url) == Data(count: count))
    }
  }

  @Test("Salvaging a file that is not a store throws notAStore")
  func salvageOthers() throws {
    try withFolder { folder in
      let text = folder.appending(path: "text"), copy = folder.appending(path: "copy")
      try Data(repeating: 65, count: 5000).write(to: text)
      storeError(.notAStore) { try SnapshotStore.salvage(text, to: copy) }
      storeError(.notAStore) { try SnapshotStore.salvage(folder.appending(path: "none"), to: copy) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["text"])
    }
  }

  @Test("A store that no longer opens can be salvaged")
  func salvageFile() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try CheckTests.fill(url, seed: 5, keys: 4, revisions: 3)
      let before = try CheckTests.dump(url)
      try Database.change(url) { try $0.execute("DELETE FROM meta") }
      storeError(.damaged) { try SnapshotStore(url: url) }
      let report = try SnapshotStore.salvage(url, to: copy)
      #expect(report.isComplete)
      #expect(try CheckTests.dump(copy) == before)
    }
  }
}
