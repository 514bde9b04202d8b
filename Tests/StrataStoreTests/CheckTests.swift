import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Check, salvage, backup")
struct CheckTests {
  /// A store with histories, deletions, labels and long texts.
  static func fill(_ url: URL, seed: UInt64, keys: Int, revisions: Int) throws {
    var random = MemoRandom(seed: seed)
    let store = try SnapshotStore(url: url)
    for key in 0..<keys {
      try store.write { transaction in
        var memo = random.memo()
        for number in 0..<revisions {
          try transaction.save(memo, as: "memo/\(key)", author: "a\(number)", note: "why \(number)")
          memo = random.changed(memo)
        }
        try transaction.setLabel("second", of: "memo/\(key)", at: .revision(2))
        if key % 7 == 6 { try transaction.delete("memo/\(key)") }
      }
    }
    try store.close()
  }

  /// All that a store says of itself.
  static func dump(_ url: URL) throws -> [String: [String]] {
    let store = try SnapshotStore(url: url)
    defer { withExtendedLifetime(store) {} }
    return try store.readNow { transaction in
      var all: [String: [String]] = [:]
      for revision in try transaction.revisions(since: 0) {
        let value = try transaction.untypedValue(for: revision.key, at: .revision(revision.number))
        all[revision.key, default: []].append("\(revision) \(String(describing: value))")
      }
      for key in all.keys { all[key]?.append("\(try transaction.labels(of: key).sorted { $0.key < $1.key })") }
      return all
    }
  }

  @Test(
    "A store that is as it was written is clean", arguments: [.quick, .share(percent: 50), .full] as [StoreCheckLevel])
  func clean(level: StoreCheckLevel) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      try Self.fill(url, seed: 1, keys: 10, revisions: 6)
      let report = try await SnapshotStore(url: url).check(level)
      #expect(report.findings.map(\.description) == [])
      switch level {
      case .quick: #expect(report.checkedRevisions == 0)
      case .share: #expect((5...55).contains(report.checkedRevisions))
      case .full: #expect(report.checkedRevisions == 61)
      }
      await storeErrorAsync(.invalid) { try await SnapshotStore(url: url).check(.share(percent: 101)) }
    }
  }

  private static let damages: [(what: String, sql: String, level: StoreCheckLevel, kind: StoreFinding.Kind)] = [
    ("a row", "UPDATE revisions SET time = time + 1 WHERE id = 3", .share(percent: 100), .revision),
    ("a delta", "UPDATE revisions SET content = x'00' WHERE base > 0", .full, .revision),
    ("content", "UPDATE blobs SET bytes = x'0011'", .full, .content),
    ("a digest", "UPDATE blobs SET hash = randomblob(32) WHERE id = 1", .full, .content),
    ("a definition", "UPDATE definitions SET content = x'00'", .quick, .definition),
    ("a head", "UPDATE keys SET head = (SELECT min(id) FROM revisions WHERE key = keys.id)", .quick, .reference),
    ("a missing revision", "DELETE FROM revisions WHERE id = 2", .quick, .reference),
    ("a count", "UPDATE counts SET revisions = revisions + 1", .quick, .count),
    ("no counts", "DELETE FROM counts", .quick, .count),
    ("a label", "UPDATE labels SET revision = (SELECT max(id) FROM revisions)", .quick, .label),
    (
      "an orphan", "INSERT INTO blobs (hash, size, crc, bytes) SELECT randomblob(32), size, crc, bytes FROM blobs",
      .full, .content
    ),
  ]

  @Test("Damage is found, with its place, and with what to do", arguments: damages.indices)
  func damage(place: Int) throws {
    try withFolder { folder in
      let (what, sql, level, kind) = Self.damages[place]
      let url = folder.appending(path: "store")
      try Self.fill(url, seed: 2, keys: 3, revisions: 6)
      try Database.change(url) { try $0.execute(sql) }
      let report = try SnapshotStore(url: url).check(level)
      let finding = report.findings.first { $0.kind == kind }
      #expect(finding != nil, "\(what): \(report.findings)")
      #expect(!report.isClean && finding?.advice.isEmpty == false)
      if kind == .revision { #expect(finding?.key == "memo/0" && finding?.revision != nil) }
    }
  }

  @Test("Salvage brings a whole store out as it is", arguments: 0..<4 as Range<UInt64>)
  func salvageAll(seed: UInt64) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: seed, keys: 8, revisions: 9)
      let report = try await SnapshotStore(url: url).salvage(to: copy)
      #expect(report.isComplete && report.revisions == 73 && report.keys == 8)
      #expect(try Self.dump(copy) == Self.dump(url))
      #expect(try await SnapshotStore(url: copy).check(.full).findings.map(\.description) == [])
      let sizes = try [url, copy].map { url in try Database.change(url) { try $0.contentSize() } }
      #expect(sizes[1] < sizes[0] * 11 / 10)
      await storeErrorAsync(.invalid) { try await SnapshotStore(url: url).salvage(to: copy) }
      // Numbers that were given are not given again.
      let next = try await SnapshotStore(url: copy).save(1, as: "n")
      #expect(next.sequence == 74)
    }
  }

  @Test(
    "A damaged page ends neither a check nor salvage, and all else is brought out", arguments: 0..<15 as Range<UInt64>)
  func damagedPage(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: seed, keys: 60, revisions: 4)
      let before = try Self.dump(url)
      var bytes = try Data(contentsOf: url)
      // Pages of revisions and of what they refer to; those of the schema are in the beginning.
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
      let after = try Self.dump(copy)
      #expect(try SnapshotStore(url: copy).check(.full).findings.map(\.description) == [])
      var lost = 0
      for (key, states) in before {
        let found = Set(after[key]?.dropLast() ?? [])
        #expect(found.isSubset(of: states), "what is brought out is as it was, seed \(seed)")
        for state in states.dropLast() where !found.contains(state) { lost += 1 }
      }
      #expect(report.lost.count + report.omittedLosses >= lost, "every loss is listed, seed \(seed)")
      // What was salvaged is not to be salvaged.
      #expect(report.lost.allSatisfy { !$0.description.contains("salvage it") && !$0.advice.contains("salvage ") })
      #expect(check.findings.allSatisfy { !$0.problem.contains("salvage") && !$0.advice.isEmpty })
      #expect(report.revisions >= 100)
    }
  }

  @Test(
    "Where the last number cannot be read, what comes after a damaged page is brought out, and no number is given again",
    arguments: 0..<6 as Range<UInt64>)
  func damagedSequence(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: seed, keys: 60, revisions: 4)
      let before = try Self.dump(url)
      let (pages, sequence) = try Database.change(url) {
        (try $0.pages(of: "revisions"), try $0.pages(of: "sqlite_sequence"))
      }
      var random = SeededRandom(seed: seed)
      // Several pages in a row, so that there is more than one number between what can be read.
      let first = 1 + random.below(pages.count / 2)
      var damaged = sequence + pages[first..<first + 2]
      if seed.isMultiple(of: 2), let last = pages.last { damaged.append(last) }
      try Database.overwrite(url, pages: damaged)
      let check = try SnapshotStore(url: url).check(.full)
      #expect(!check.isClean)
      #expect(check.findings.allSatisfy { !$0.advice.isEmpty })
      let report = try SnapshotStore.salvage(url, to: copy)
      let after = try Self.dump(copy)
      print("salvage: \(report.revisions) of 248 revisions, \(report.lost.count) lost, seed \(seed)")
      #expect(report.revisions > 150)
      for (key, states) in after { #expect(Set(states.dropLast()).isSubset(of: before[key] ?? [])) }
      if !seed.isMultiple(of: 2) { #expect(after["memo/59"] == before["memo/59"]) }
      let store = try SnapshotStore(url: copy)
      let next = try store.write { try $0.save(1, as: "n") }
      #expect(next.sequence > 1_000_000_000_000, "seed \(seed)")
      #expect(report.lost.contains { $0.problem.contains("given last") })
      #expect(try store.check(.full).findings.map(\.description) == [])
    }
  }

  @Test("Numbers go on above all that a store names, even where no revision is left")
  func numbersGoOn() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: 1, keys: 2, revisions: 3)
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1") }
      #expect(try SnapshotStore.salvage(url, to: copy).revisions == 0)
      #expect(try SnapshotStore(url: copy).write { try $0.save(1, as: "n") }.sequence == 7)
      // A sequence below what was given says nothing, nor does one that no store gives.
      for (place, told) in [2, Int64.max].enumerated() {
        let copy = folder.appending(path: "copy\(place)")
        try Database.change(url) { try $0.execute("UPDATE sqlite_sequence SET seq = \(told)") }
        if told == .max { storeError(.damaged) { try SnapshotStore(url: url).write { try $0.save(1, as: "n") } } }
        _ = try SnapshotStore.salvage(url, to: copy)
        #expect(try SnapshotStore(url: copy).write { try $0.save(1, as: "n") }.sequence == 1_000_000_000_007)
      }
    }
  }

  @Test("A name that index and table tell differently is told, and histories of two keys never mix")
  func damagedNames() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: 1, keys: 4, revisions: 3)
      let before = try Self.dump(url)
      // In the table memo/1 becomes memo/3, which there is already.
      var bytes = try Data(contentsOf: url)
      let page = try #require(try Database.change(url) { try $0.pages(of: "keys") }.first) - 1
      let place = try #require(bytes.range(of: Data("memo/1".utf8), in: page * 4096..<(page + 1) * 4096))
      bytes.replaceSubrange(place, with: Data("memo/3".utf8))
      try bytes.write(to: url)
      #expect(try !SnapshotStore(url: url).check(.full).isClean)
      let report = try SnapshotStore.salvage(url, to: copy)
      let after = try Self.dump(copy)
      #expect(report.revisions == 12 && after.count == 4)
      #expect(after["memo/0"] == before["memo/0"] && after["memo/2"] == before["memo/2"])
      #expect(report.lost.count >= 3)
      #expect(try SnapshotStore(url: copy).check(.full).isClean)
    }
  }

  @Test("A file whose first page is gone is salvaged whole", arguments: [0, 1, 2, 3])
  func firstPage(damage: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: 7, keys: 30, revisions: 4)
      if damage == 3 {
        // Pages that were freed and given back move no table.
        _ = try SnapshotStore(url: url).prune([.keepLast(2)])
      }
      let before = try Self.dump(url)
      var bytes = try Data(contentsOf: url)
      switch damage {
      case 0, 3: bytes.replaceSubrange(0..<4096, with: Data(count: 4096))
      case 1: for place in 0..<4096 { bytes[place] ^= UInt8(truncatingIfNeeded: place &* 31 &+ 7) }
      default: bytes.replaceSubrange(100..<4096, with: Data(count: 3996))
      }
      try bytes.write(to: url)
      let report = try SnapshotStore.salvage(url, to: copy)
      #expect(report.lost.map(\.description) == [])
      #expect(try Self.dump(copy) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.hasSuffix("tmp") })
    }
  }

  @Test(
    "Of a file that was cut all that is intact is brought out, or the error is clear",
    arguments: 0..<12 as Range<UInt64>)
  func truncated(seed: UInt64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: 7, keys: 60, revisions: 3)
      let before = try Self.dump(url)
      let bytes = try Data(contentsOf: url)
      var random = SeededRandom(seed: seed)
      let size = seed == 0 ? bytes.count - 1 : bytes.count * (20 + Int(seed) * 7) / 100 - random.below(4096)
      try bytes.prefix(size).write(to: url)
      do {
        let report = try SnapshotStore.salvage(url, to: copy)
        print(
          "salvage: \(report.revisions) of 188 revisions from \(size) of \(bytes.count) bytes, \(report.lost.count) lost"
        )
        if seed == 11 { #expect(report.revisions > 0) }
        #expect(!report.isComplete || report.revisions == 188)
        for (key, states) in try Self.dump(copy) where !key.hasPrefix("salvaged/") {
          #expect(Set(states.dropLast()).isSubset(of: before[key] ?? []))
        }
        #expect(try SnapshotStore(url: copy).check(.full).isClean)
      } catch let error as StoreError {
        print("salvage: \(error) from \(size) of \(bytes.count) bytes")
        #expect([.damaged, .notAStore].contains(error.code) && size < 100_000)
        #expect(!FileManager.default.fileExists(atPath: copy.path))
      }
    }
  }

  @Test("A file of zeros is no store", arguments: [1, 4096, 200_000])
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

  @Test("What is no store is not salvaged")
  func salvageOthers() throws {
    try withFolder { folder in
      let text = folder.appending(path: "text"), copy = folder.appending(path: "copy")
      try Data(repeating: 65, count: 5000).write(to: text)
      storeError(.notAStore) { try SnapshotStore.salvage(text, to: copy) }
      storeError(.notAStore) { try SnapshotStore.salvage(folder.appending(path: "none"), to: copy) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["text"])
    }
  }

  @Test("A file that does not open as a store any more is salvaged")
  func salvageFile() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), copy = folder.appending(path: "copy")
      try Self.fill(url, seed: 5, keys: 4, revisions: 3)
      let before = try Self.dump(url)
      try Database.change(url) { try $0.execute("DELETE FROM meta") }
      storeError(.damaged) { try SnapshotStore(url: url) }
      let report = try SnapshotStore.salvage(url, to: copy)
      #expect(report.isComplete)
      #expect(try Self.dump(copy) == before)
    }
  }

  @Test("A backup is one file, holds every save that was acknowledged before, and opens as a store")
  func backup() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store"), file = folder.appending(path: "backup")
      let store = try SnapshotStore(url: url)
      let writer = Task.detached {
        var last: Int64 = 0
        while !Task.isCancelled { last = try await store.save(Int(last), as: "n").sequence }
        return last
      }
      for _ in 0..<5 {
        let acknowledged = try await store.save("marker", as: "m").sequence
        let backup = try await store.backup(to: file)
        #expect(backup.sequence >= acknowledged)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(names) == ["store", "store-wal", "store-shm", "backup"])
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int == backup.size)
        let copy = try SnapshotStore(url: file)
        #expect(try await copy.value(String.self, for: "m") == "marker")
        #expect(try await copy.check(.full).isClean)
        #expect(try await copy.revision(at: backup.sequence) != nil)
        // An open backup is a store, and has a journal.
        await storeErrorAsync(.invalid) { try await store.backup(to: file) }
        try copy.close()
      }
      writer.cancel()
      _ = await writer.result
      await storeErrorAsync(.invalid) { try await store.backup(to: url) }
      await storeErrorAsync(.fileSystem) { try await store.backup(to: folder.appending(path: "none/backup")) }
    }
  }

  @Test("A backup of a damaged store is none, and the last one stays")
  func damagedBackup() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), file = folder.appending(path: "backup")
      try Self.fill(url, seed: 3, keys: 60, revisions: 4)
      try SnapshotStore(url: url).backup(to: file)
      let good = try Data(contentsOf: file)
      var bytes = try Data(contentsOf: url)
      let page = try #require(try Database.change(url) { try $0.pages(of: "revisions") }.last) - 1
      bytes.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(count: 4096))
      try bytes.write(to: url)
      storeError(.damaged) { try SnapshotStore(url: url).backup(to: file) }
      #expect(try Data(contentsOf: file) == good)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("tmp") }.isEmpty)
    }
  }
}

extension SnapshotStore {
  fileprivate func revision(at sequence: Int64) async throws -> StoreRevision? {
    try await read { try $0.revisions(since: sequence - 1, limit: 1).first }
  }
}
