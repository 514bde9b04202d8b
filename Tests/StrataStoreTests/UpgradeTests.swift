import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// A model with the same name and version as ``OldPoint``, in which one field has another type.
private struct OtherPoint: DescribedModel, Sendable {
  var name: Int
  var x: Int
  var y: Int

  static let fields = Fields(
    OtherPoint.self, name: "Point", version: 1, Field("name", \.name), Field("x", \.x), Field("y", \.y),
    make: { OtherPoint(name: $0, x: $1, y: $2) })
}

/// A version of ``OldPoint`` whose migration step lets another program change the store and then fails.
private struct LatePoint: DescribedModel, Migratable, Sendable {
  var name: String
  var x: Int
  var y: Int

  struct Refusal: Error {}
  static let meanwhile = Mutex<(@Sendable () throws -> Void)?>(nil)
  static let fields = Fields(
    LatePoint.self, name: "Point", version: 2, Field("name", \.name), Field("x", \.x), Field("y", \.y),
    make: { LatePoint(name: $0, x: $1, y: $2) })
  static let migration = MigrationPlan(
    .step(
      from: 1, to: 2,
      .custom("fail") { _ in
        // Because of the lock, the step changes the store for only one revision at a time.
        try meanwhile.withLock { try $0?() }
        throw Refusal()
      }))
}

@Suite("Upgrading a store")
struct UpgradeTests {
  /// Saves histories in several forms, as two versions of a program would.
  private func fill(_ store: SnapshotStore, keys: Int) throws {
    for key in 0..<keys {
      try store.write { transaction in
        for number in 0..<12 {
          let old = OldPoint(name: "o\(key)", x: number, y: key)
          switch key % 4 {
          case 0: try transaction.save(old, as: "k\(key)", author: "a\(number)", note: "n")
          case 1: try transaction.save([String(number): [old]], as: "k\(key)")
          case 2: try transaction.save(Holder(inner: old), as: "k\(key)")
          default:
            let now = Point5(name: String(repeating: "long", count: 200), x: number, y: 0, isOn: true)
            if number % 2 == 0 {
              try transaction.save(old, as: "k\(key)", overNewer: true)
            } else {
              try transaction.save(now, as: "k\(key)")
            }
          }
        }
        try transaction.setLabel("l", of: "k\(key)", at: .revision(4))
        if key % 5 == 4 { try transaction.delete("k\(key)") }
      }
    }
  }

  private static let types: [any (Archivable & SendableMetatype).Type] = [Point5.self, Holder<Point5>.self]

  @Test(
    "A long history is upgraded in parts, and a cancelled upgrade can be resumed", .tags(.long), .longRunsOnly,
    arguments: [false, true])
  func longHistory(isDamaged: Bool) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      let count = 1300
      for first in stride(from: 0, to: count, by: 130) {
        try store.writeNow { transaction in
          for number in first..<first + 130 {
            let name = String(repeating: "name \(number / 9) ", count: number % 40)
            try transaction.save(OldPoint(name: name, x: number, y: -number), as: "long")
          }
        }
      }
      // Revision numbers and sequences are equal in this store.
      var failing: Set<Int> = []
      if isDamaged {
        let base = try Database.change(url) { try $0.number("SELECT base FROM revisions WHERE id = 600") }
        try Database.change(url) { try $0.execute("UPDATE revisions SET time = 1 WHERE id = 600") }
        failing = try store.readNow { transaction in
          Set((1...count).filter { (try? transaction.untypedValue(for: "long", at: .revision($0))) == nil })
        }
        #expect(failing.contains(600) && failing.count < 20)
        failing.insert(base)
      }
      let gate = Gate()
      let upgrade = Task.detached { try await store.upgrade([Point5.self]) { _ in gate.pass() } }
      await gate.reached()
      upgrade.cancel()
      gate.open()
      _ = await upgrade.result
      #expect(try await store.upgradePlan([Point5.self]).pending > 0)
      let report = try await store.upgrade([Point5.self])
      #expect(failing.isSuperset(of: report.failures.compactMap(\.revision)))
      let plan = try await store.upgradePlan([Point5.self])
      #expect(plan.pending == 0 && plan.failed == failing.count)
      let aside = try Database.change(url) { database in
        try (1...count).filter { try database.number("SELECT count(*) FROM failures WHERE revision = \($0)") == 1 }
      }
      #expect(Set(aside) == failing)
      // Every revision whose upgrade did not fail was rewritten.
      let old = try Database.change(url) {
        try $0.number(
          """
          SELECT count(*) FROM revisions r JOIN definitions d ON d.id = r.definition
          WHERE d.version < (SELECT max(version) FROM definitions)
          """)
      }
      #expect(old == failing.count)
      try store.readNow { transaction throws in
        for number in 0..<count where !failing.contains(number + 1) {
          let point = try transaction.value(Point5.self, for: "long", at: .revision(number + 1))
          #expect(point?.x == number && point?.y == -number)
          #expect(transaction.inflations <= Int(log2(Double(number + 1)).rounded(.up)) + 1)
        }
      }
      if !isDamaged {
        #expect(try await store.check(.full).findings.map(\.description) == [])
        try Database.change(url) { try $0.checkInvariants() }
      }
    }
  }

  private func dump(_ store: SnapshotStore) throws -> [String] {
    try store.readNow { transaction in
      try transaction.revisions(since: 0).map { revision in
        let point = StorePoint.revision(revision.number)
        let value: String
        switch (Int(revision.key.dropFirst()) ?? 0) % 4 {
        case 0, 3: value = "\(String(describing: try transaction.value(Point5.self, for: revision.key, at: point)))"
        case 1:
          value = "\(String(describing: try transaction.value([String: [Point5]].self, for: revision.key, at: point)))"
        default:
          value =
            "\(String(describing: try transaction.value(Holder<Point5>.self, for: revision.key, at: point)?.inner))"
        }
        return "\(revision.key) \(revision.number) \(revision.sequence) \(revision.time) \(revision.author ?? "") "
          + "\(revision.action) \(try transaction.labels(of: revision.key)) \(value)"
      }
    }
  }

  @Test("An upgrade keeps all values and sets current versions, and a second upgrade does nothing")
  func all() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try fill(store, keys: 20)
      let before = try dump(store)
      let size = try Database.change(url) { try $0.contentSize() }
      let plan = try await store.upgradePlan(Self.types)
      #expect(plan.pending == 15 * 12 + 5 * 6 && plan.failed == 0)
      #expect(plan.parts.filter { $0.state == .current }.reduce(0) { $0 + $1.revisions } == 30)
      let report = try await store.upgrade(Self.types)
      #expect(report.upgraded == plan.pending && report.failures.isEmpty && report.total == plan.pending)
      #expect(try dump(store) == before)
      #expect(try await store.upgradePlan(Self.types).pending == 0)
      #expect(try await store.status().types.allSatisfy { $0.typeName != "Point" || $0.modelVersion == 2 })
      #expect(try await store.check(.full).findings.map(\.description) == [])
      try Database.change(url) { try $0.checkInvariants() }
      #expect(try Database.change(url) { try $0.contentSize() } < size * 13 / 10)
      // Any write makes the journal longer or, after a checkpoint, changes its beginning.
      let journal = try Data(contentsOf: URL(filePath: url.path + "-wal"))
      #expect(try await store.upgrade(Self.types).total == 0)
      #expect(try Data(contentsOf: URL(filePath: url.path + "-wal")) == journal)
      // The old program's model is now older than the stored one.
      #expect(try await store.value(Point5.self, for: "k0", at: .revision(3))?.x == 2)
      await storeErrorAsync(.newerModel) { try await store.value(OldPoint.self, for: "k0") }
    }
  }

  @Test("The next upgrade completes a cancelled one and includes values saved in between")
  func resuming() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url), other = try SnapshotStore(url: url)
      try fill(store, keys: 120)
      let before = try dump(store)
      let calls = Mutex(0)
      let task = Task {
        try await store.upgrade(Self.types) { _ in
          calls.withLock { $0 += 1 }
        }
      }
      while calls.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(1)) }
      task.cancel()
      let first = await task.result
      try await other.write { _ = try $0.save(OldPoint(name: "late", x: 1, y: 1), as: "late") }
      let pending = try await store.upgradePlan(Self.types).pending
      #expect(pending > 0 || (try? first.get()) != nil)
      let report = try await store.upgrade(Self.types)
      #expect(report.total == pending && report.upgraded == pending)
      #expect(try await store.upgradePlan(Self.types).pending == 0)
      #expect(try dump(store).dropLast() == before[...])
      #expect(try await store.check(.full).isClean)
    }
  }

  @Test("A resumed upgrade includes old versions saved meanwhile under keys that were already done")
  func savedBehind() async throws {
    let store = try SnapshotStore()
    try await store.write { transaction throws in
      for key in 0..<1200 { try transaction.save(OldPoint(name: "n", x: key, y: 2), as: "k\(key)") }
    }
    let gate = Gate()
    let upgrade = Task.detached { try await store.upgrade([Point5.self]) { _ in gate.pass() } }
    await gate.reached()
    upgrade.cancel()
    gate.open()
    _ = await upgrade.result
    _ = try await store.write { try $0.save(OldPoint(name: "late", x: -1, y: 2), as: "k0", overNewer: true) }
    let report = try await store.upgrade([Point5.self])
    #expect(report.upgraded == report.total && report.failures.isEmpty, "\(report)")
    #expect(try await store.upgradePlan([Point5.self]).pending == 0)
  }

  /// Returns how many inflations it takes to read each of the given revisions of the key `k`.
  private static func inflations(in store: SnapshotStore, _ revisions: ClosedRange<Int>) throws -> [Int] {
    try store.read { transaction throws in
      try revisions.map {
        _ = try transaction.value(Point5.self, for: "k", at: .revision($0))
        return transaction.inflations
      }
    }
  }

  @Test("Upgrading a long history whose first revision outgrows its row respects the inflation limit")
  func growingRoot() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      var random = SeededRandom(seed: 7)
      let name = String((0..<520).map { _ in random.oneOf(Array("abcdefghijklmnopqrstuvwxyz")) })
      try store.write { _ = try $0.save(OldPoint(name: String(name.prefix(500)), x: 1, y: 2), as: "size") }
      let size = try Database.change(url) { try $0.number("SELECT length(content) FROM revisions") }
      try store.write { transaction in
        // This row has the maximum length of a row that is stored in place.
        try transaction.save(OldPoint(name: String(name.prefix(500 + 512 - size)), x: 1, y: 2), as: "k")
        for letter in ["a", "b", "c"] {
          let name = name.prefix(380) + String(repeating: letter, count: 100)
          try transaction.save(OldPoint(name: String(name), x: 1, y: 2), as: "k")
        }
        for number in 4..<600 { try transaction.save(OldPoint(name: "n", x: number, y: 2), as: "k") }
      }
      func inflations() throws -> [Int] { try Self.inflations(in: store, 1...4) }
      #expect(try inflations() == [0, 1, 2, 3])
      #expect(try store.upgrade([Point5.self]).failures.isEmpty)
      let after = try inflations()
      #expect(zip(after, [0, 1, 2, 3]).allSatisfy { $0 <= $1 }, "\(after)")
      #expect(try store.check(.full).findings.map(\.description) == [])
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test("If an upgraded revision outgrows its row, its current deltas need no more inflations than before")
  func growingRootOfCurrentDeltas() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      var random = SeededRandom(seed: 7)
      let name = String((0..<520).map { _ in random.oneOf(Array("abcdefghijklmnopqrstuvwxyz")) })
      try store.write { _ = try $0.save(OldPoint(name: String(name.prefix(500)), x: 1, y: 2), as: "size") }
      let size = try Database.change(url) { try $0.number("SELECT length(content) FROM revisions") }
      let longest = String(name.prefix(500 + 512 - size))
      try store.write { transaction in
        // Only the first revision has the old version. Its row has the maximum length of a row that is stored in place.
        try transaction.save(OldPoint(name: longest, x: 1, y: 2), as: "k")
        // The first delta is too short to be deflated; the following ones are deflated. Reading revision 6 takes the maximum number of
        // inflations.
        try transaction.save(Point5(name: longest, x: 2, y: 2, isOn: true), as: "k")
        for letter in ["a", "b", "c", "d", "e"] {
          let name = name.prefix(380) + String(repeating: letter, count: 100)
          try transaction.save(Point5(name: String(name), x: 2, y: 2, isOn: true), as: "k")
        }
      }
      func inflations() throws -> [Int] { try Self.inflations(in: store, 1...6) }
      let before = try inflations()
      #expect(before == [0, 0, 1, 2, 3, 4])
      let report = try store.upgrade([Point5.self])
      // The count includes the revision that was saved to measure the size of a row.
      #expect(report.upgraded == 2 && report.failures.isEmpty)
      let after = try inflations()
      #expect(zip(after, before).allSatisfy { $0 <= $1 }, "\(after)")
      #expect(try store.read { try $0.value(Point5.self, for: "k", at: .revision(1)) }?.name == longest)
      #expect(try store.check(.full).findings.map(\.description) == [])
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test("With alternating saves and deletions, the first revision is upgraded with its many deltas")
  func alternatingDeletions() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      let count = 400
      func isDeletion(_ number: Int) -> Bool { number > 0 && number.isMultiple(of: 2) }
      try store.write { transaction in
        for number in 0..<count {
          if isDeletion(number) {
            try transaction.delete("k")
          } else {
            let points = (0..<60).map { OldPoint(name: "point \($0)", x: $0 == 7 ? number : $0, y: 2) }
            try transaction.save(points, as: "k")
          }
        }
      }
      // Counted from 0, each revision 16 i + 1 is a delta of the first one, because the revisions that would otherwise be its base are
      // deletions.
      #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM revisions WHERE base = 1") } >= 20)
      func inflations() throws -> [Int] {
        try store.read { transaction throws in
          try (0..<count).filter { !isDeletion($0) }.map { number in
            let points = try transaction.value([Point5].self, for: "k", at: .revision(number + 1))
            #expect(points?.count == 60 && points?[7].x == number, "\(number)")
            return transaction.inflations
          }
        }
      }
      let before = try inflations()
      let report = try store.upgrade([Point5.self])
      #expect(report.upgraded == before.count && report.failures.isEmpty, "\(report)")
      let after = try inflations()
      #expect(zip(after, before).allSatisfy { $0 <= $1 }, "\(after)")
      #expect(try store.check(.full).findings.map(\.description) == [])
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test("A revision that is upgraded or pruned elsewhere while its upgrade fails is not marked as failed")
  func changedMeanwhile() throws {
    for isPruned in [false, true] {
      try withFolder { folder in
        let url = folder.appending(path: "store")
        let store = try SnapshotStore(url: url), other = try SnapshotStore(url: url)
        try store.write { transaction throws in
          for number in 0..<2 { try transaction.save(OldPoint(name: "n", x: number, y: 2), as: "k") }
        }
        LatePoint.meanwhile.withLock {
          $0 = {
            if isPruned { _ = try other.prune([.keepLast(1)]) } else { _ = try other.upgrade([Point5.self]) }
          }
        }
        defer { LatePoint.meanwhile.withLock { $0 = nil } }
        let report = try store.upgrade([LatePoint.self])
        #expect(report.upgraded == 0)
        #expect(report.failures.map(\.revision) == (isPruned ? [2] : []))
        #expect(try store.status().failedUpgrades == (isPruned ? 1 : 0))
        let last = try store.read { try $0.value(Point5.self, for: "k") }
        #expect(last?.x == 1)
        #expect(try store.check(.full).findings.map(\.description) == [])
      }
    }
  }

  @Test("A damaged revision is reported and kept, and the others are upgraded", arguments: [1, 2, 3])
  func damagedRow(key: Int) async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try await store.write { transaction throws in
        for name in ["k1", "k2", "k3"] {
          for number in 0..<4 { try transaction.save(OldPoint(name: "n", x: number, y: 2), as: name) }
        }
      }
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1 WHERE id = \(key * 4 - 2)") }
      let report = try await store.upgrade([Point5.self])
      #expect(report.failures.map(\.key) == ["k\(key)"] && report.upgraded == 11)
      let plan = try await store.upgradePlan([Point5.self])
      #expect(plan.pending == 0 && plan.failed == 1)
      #expect(try await store.upgrade([Point5.self]).total == 0)
      #expect(try await store.upgrade([Point5.self], retryFailed: true).failures.map(\.key) == ["k\(key)"])
      for name in ["k1", "k2", "k3"] where name != "k\(key)" {
        #expect(try await store.value(Point5.self, for: name, at: .revision(2))?.x == 1)
      }
      #expect(try await store.value(Point5.self, for: "k\(key)")?.x == 3)
    }
  }

  @Test("retryFailed after a cancelled upgrade includes the revisions that had failed")
  func retryingAfterStop() async throws {
    let store = try SnapshotStore()
    try await store.write { transaction throws in
      for key in 0..<3 { try transaction.save(OldPoint(name: "n", x: key, y: 2), as: "k\(key)") }
      try transaction.save(OtherPoint(name: 7, x: 1, y: 2), as: "failing")
      for key in 0..<1200 { try transaction.save(OldPoint(name: "n", x: key, y: 2), as: "l\(key)") }
    }
    let gate = Gate()
    let upgrade = Task.detached { try await store.upgrade([Point5.self]) { _ in gate.pass() } }
    await gate.reached()
    upgrade.cancel()
    gate.open()
    _ = await upgrade.result
    #expect(try await store.status().failedUpgrades == 1)
    let report = try await store.upgrade([Point5.self], retryFailed: true)
    #expect(report.failures.map(\.key) == ["failing"])
    #expect(report.upgraded + report.failures.count == report.total, "\(report.upgraded) of \(report.total)")
  }

  @Test("A revision with damaged content is marked as failed, and the upgrade completes")
  func damagedContent() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      let text = String(repeating: "a long text ", count: 80)
      try await store.write { transaction throws in
        for number in 0..<3 {
          try transaction.save(OldPoint(name: number == 1 ? text : "n", x: number, y: 2), as: "k")
          try transaction.save(OldPoint(name: "n", x: number, y: 2), as: "other")
        }
      }
      try Database.change(url) { try $0.execute("UPDATE blobs SET bytes = x'00'") }
      let report = try await store.upgrade([Point5.self])
      #expect(report.failures.map(\.revision) == [2] && report.upgraded == 5)
      let plan = try await store.upgradePlan([Point5.self])
      #expect(plan.pending == 0 && plan.failed == 1)
      #expect(try await store.upgrade([Point5.self]).total == 0)
      #expect(try await store.value(Point5.self, for: "k")?.x == 2)
    }
  }

  @Test("Empty collections get the current definition, and the upgrade terminates")
  func emptyCollections() async throws {
    let store = try SnapshotStore()
    try await store.write { transaction throws in
      try transaction.save([OldPoint](), as: "empty")
      try transaction.save([String: OldPoint](), as: "none")
    }
    let total = try await store.upgradePlan(Self.types).pending
    let report = try await store.upgrade(Self.types)
    #expect(report.upgraded + report.unchanged == total && report.failures.isEmpty, "\(report)")
    #expect(try await store.upgradePlan(Self.types).pending == 0)
    #expect(try await store.upgrade(Self.types).total == 0)
    #expect(try await store.value([Point5].self, for: "empty") == [])
    try await store.save([OldPoint(name: "o", x: 1, y: 2)], as: "full")
    #expect(try await store.upgrade(Self.types).upgraded == 1)
  }

  @Test("A revision that cannot be upgraded is kept and recorded, and the others are upgraded")
  func failures() async throws {
    let store = try SnapshotStore()
    try await store.write { transaction in
      for number in 0..<4 {
        let name = "n\(number)"
        if number == 2 {
          try transaction.save(OtherPoint(name: 7, x: 1, y: 2), as: "p")
        } else {
          try transaction.save(OldPoint(name: name, x: 1, y: 2), as: "p")
        }
        try transaction.save([OldPoint(name: name, x: 1, y: 2)], as: "q")
      }
    }
    let plan = try await store.upgradePlan(Self.types)
    let before = try await store.read { try $0.untypedValue(for: "p", at: .revision(3)) }
    let report = try await store.upgrade(Self.types)
    #expect(report.failures.map(\.revision) == [3])
    #expect(report.upgraded + report.failures.count + report.unchanged == plan.pending, "\(plan) \(report)")
    #expect(try await store.read { try $0.untypedValue(for: "p", at: .revision(3)) } == before)
    #expect(try await store.value([Point5].self, for: "q")?.first?.name == "n3")
    #expect(try await store.status().failedUpgrades == report.failures.count)
    #expect(try await store.upgrade(Self.types).total == 0)
    #expect(try await store.check(.full).isClean)
  }
}
