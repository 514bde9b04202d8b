import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Check and backup")
struct CheckTests {
  /// Fills a store with histories, deletions, labels and long texts.
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

  /// Returns the whole content of a store. Each value is reduced to its beginning, its length and its checksum, because long texts are slow
  /// to hash and to search.
  static func dump(_ url: URL) throws -> [String: [String]] {
    let store = try SnapshotStore(url: url)
    defer { withExtendedLifetime(store) {} }
    return try store.readNow { transaction in
      var all: [String: [String]] = [:]
      for revision in try transaction.revisions(since: 0) {
        let value = try transaction.untypedValue(for: revision.key, at: .revision(revision.number))
        let text = Array(String(describing: value).utf8)
        let start = String(decoding: text.prefix(100), as: UTF8.self)
        all[revision.key, default: []].append(
          "\(revision.everything) \(start) \(text.count) \(Checksum.crc32(of: text.bytes))")
      }
      for key in all.keys { all[key]?.append("\(try transaction.labels(of: key).sorted { $0.key < $1.key })") }
      return all
    }
  }

  @Test(
    "Checking an undamaged store reports no findings",
    arguments: [.quick, .share(percent: 50), .full] as [StoreCheckLevel])
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

  @Test("A check reports each kind of damage with its location and advice", arguments: damages.indices)
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

  @Test("A backup is a single file that opens as a store and contains every acknowledged save")
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
        // A backup that is open as a store has a journal, so it cannot be overwritten.
        await storeErrorAsync(.invalid) { try await store.backup(to: file) }
        try copy.close()
      }
      writer.cancel()
      _ = await writer.result
      await storeErrorAsync(.invalid) { try await store.backup(to: url) }
      await storeErrorAsync(.fileSystem) { try await store.backup(to: folder.appending(path: "none/backup")) }
    }
  }

  @Test("Backing up a damaged store throws damaged and keeps the previous backup")
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
