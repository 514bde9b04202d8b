import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Retention")
struct RetentionTests {
  private let day = 86_400.0

  @Test("Rules keep revisions by UTC days and weeks, and always keep heads and labels")
  func rules() throws {
    let clock = Clock(Date(timeIntervalSince1970: 1_699_833_600))  // a Monday, 0:00
    let store = try SnapshotStore(inMemory: clock.options)
    let start = clock.now
    // Two saves on each of 20 days, at 6:00 and 18:00.
    for number in 0..<40 {
      clock.now = start + Double(number) * day / 2 + day / 4
      try store.write { _ = try $0.save(number, as: "n") }
    }
    try store.write { try $0.setLabel("keep", of: "n", at: .revision(3)) }
    func kept(_ rules: [RetentionRule], force: Bool = false) throws -> [Int] {
      let report = try store.prune(rules, dryRun: true, force: force)
      #expect(report.isDryRun && report.kept + report.removedCount == 40)
      return (1...40).filter { !(report.removed["n"] ?? []).contains($0) }
    }
    #expect(try kept([.keepLast(3)]) == [3, 38, 39, 40])
    #expect(try kept([.daily(3)]) == [3, 36, 38, 40])
    // The last day is the Saturday of the third week. Days 6 and 13 are Sundays.
    #expect(try kept([.weekly(5)]) == [3, 14, 28, 40])
    #expect(try kept([.within(.seconds(86_400))]) == [3, 38, 39, 40])
    #expect(try kept([.keepLast(1), .daily(2), .weekly(2)]) == [3, 28, 38, 40])
    for rules in [[], [.keepLast(0)], [.daily(-1)], [.within(.seconds(-1))]] as [[RetentionRule]] {
      storeError(.invalid) { try store.prune(rules, dryRun: true) }
      #expect(try kept(rules, force: true) == [3, 40])
    }
    // After a year without a save, pruning by age throws instead of removing nearly everything.
    clock.now = start + 400 * day
    storeError(.invalid) { try store.prune([.within(.seconds(86_400))]) }
    #expect(try store.read { try $0.history(of: "n") }.count == 40)
  }

  @Test(
    "Pruning keeps the remaining revisions intact, and later saves work as before", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(1, long: 12)))
  func oracle(seed: UInt64) throws {
    try withFolder { folder in
      var random = MemoRandom(seed: seed)
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      var states: [String: [Int: Memo?]] = ["a": [:], "b": [:], "c": [:]]
      var last: [String: Int] = [:]
      for _ in 0..<4 {
        for _ in 0..<40 {
          let key = random.random.oneOf(["a", "b", "c"])
          let number = last[key, default: 0] + 1
          let now = last[key].flatMap { states[key]?[$0] ?? nil }
          if now != nil, random.random.isOnce(in: 9) {
            try store.write { _ = try $0.delete(key) }
            states[key]?[number] = .some(nil)
          } else {
            let memo = now.map { random.changed($0) } ?? random.memo()
            try store.write { _ = try $0.save(memo, as: key) }
            // Saving an equal value creates no revision.
            guard try !memo.isSame(as: now) else { continue }
            states[key]?[number] = memo
          }
          last[key] = number
        }
        // Pruning keeps labeled revisions, which leaves gaps in the history that no rule alone would leave.
        for key in ["a", "b", "c"] where random.random.isOnce(in: 2) {
          if let number = states[key]?.keys.randomElement(using: &random.random) {
            try store.write { try $0.setLabel("l\(number)", of: key, at: .revision(number)) }
          }
        }
        let report = try store.prune([.keepLast(1 + random.random.below(12))])
        #expect(report.skipped.isEmpty)
        for (key, numbers) in report.removed { for number in numbers { states[key]?[number] = nil } }
        try Database.change(url) { try $0.checkInvariants() }
      }
      try store.read { transaction throws in
        for (key, states) in states {
          #expect(try transaction.history(of: key).map(\.number) == states.keys.sorted())
          for (number, state) in states {
            #expect(try transaction.value(Memo.self, for: key, at: .revision(number)) == state, "seed \(seed)")
            let most = Int(log2(Double(number)).rounded(.up)) + 1
            #expect(transaction.inflations <= most || state == nil)
          }
        }
      }
      #expect(try store.check(.full).findings.map(\.description) == [])
    }
  }

  @Test(
    "Pruning returns space to the file system and needs at most a tenth more while it runs", .tags(.long), .longRunsOnly
  )
  func space() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.writeNow { transaction in
        for key in 0..<300 {
          for _ in 0..<20 {
            let data = (0..<250).reduce(into: Data(capacity: 2000)) { data, _ in
              withUnsafeBytes(of: UInt64.random(in: 0 ... .max)) { data.append(contentsOf: $0) }
            }
            try transaction.save(data, as: "d\(key)")
          }
        }
      }
      try store.close()
      @Sendable func size() throws -> Int {
        try ["", "-wal"].reduce(0) {
          try $0
            + (FileManager.default.fileExists(atPath: url.path + $1)
              ? FileManager.default.attributesOfItem(atPath: url.path + $1)[.size] as? Int ?? 0 : 0)
        }
      }
      let before = try size()
      let again = try SnapshotStore(url: url)
      let most = Mutex(0), isOver = Mutex(false)
      // Measures on a separate thread, because a task might have to wait for other tasks.
      Thread.detachNewThread {
        while !isOver.withLock({ $0 }) {
          #expect(throws: Never.self) {
            let now = try size()
            most.withLock { $0 = max($0, now) }
          }
          Thread.sleep(forTimeInterval: 0.002)
        }
      }
      while most.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(2)) }
      let report = try await again.prune([.keepLast(2)])
      isOver.withLock { $0 = true }
      let highest = most.withLock { $0 }
      let after = try size()
      print("prune: \(before) bytes, at most \(highest), then \(after); \(report.removedCount) revisions")
      #expect(report.removedCount == 300 * 18 && report.kept == 600)
      #expect(after < before / 6 && report.freedBytes > before / 2)
      #expect(highest >= before && Double(highest) < Double(before) * 1.1)
      #expect(try await again.check(.full).isClean)
      #expect(try await again.prune([.keepLast(2)]).removedCount == 0)
    }
  }

  /// Saves a long history of one key and returns the value of each revision.
  private func long(_ store: SnapshotStore, _ count: Int) throws -> [Memo] {
    var random = MemoRandom(seed: 11)
    var memo = random.memo()
    var all: [Memo] = []
    for _ in 0..<count / 16 {
      try store.write { transaction in
        for _ in 0..<16 {
          try transaction.save(memo, as: "long")
          all.append(memo)
          while try memo.isSame(as: all.last) { memo = random.changed(memo) }
        }
      }
    }
    return all
  }

  @Test(
    "A long history is pruned in parts during saves, and a cancelled prune loses no kept revision",
    .tags(.long), .longRunsOnly)
  func longHistory() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      // Counted from 0, the next revision is 0x400. Its base would be 0x300, which pruning removes.
      let count = 1024
      var memos = try long(store, count)
      func check(_ kept: Set<Int>) throws {
        try store.readNow { transaction throws in
          let history = try transaction.history(of: "long")
          #expect(Set(history.map(\.number)) == kept)
          for revision in history {
            let value = try transaction.value(Memo.self, for: "long", at: .revision(revision.number))
            #expect(value == memos[revision.number - 1])
            #expect(transaction.inflations <= Int(log2(Double(revision.number)).rounded(.up)) + 1)
          }
        }
        #expect(try store.check(.full).findings.map(\.description) == [])
      }
      // Cancels the prune after it has removed the first part. The prune waits at the gate until then.
      let gate = Gate()
      let pruning = Task.detached { try await store.prune([.keepLast(20)]) { if $0.removedCount > 0 { gate.pass() } } }
      await gate.reached()
      pruning.cancel()
      gate.open()
      let result = await pruning.result
      #expect(throws: CancellationError.self) { try result.get() }
      let left = Set(try await store.history(of: "long").map(\.number))
      #expect(left.count < count && left.count > 20)
      try check(left)
      // While the prune waits, revisions are saved, and one that the prune would remove is labeled.
      let second = Gate()
      let again = Task.detached { try await store.prune([.keepLast(20)]) { if $0.removedCount > 0 { second.pass() } } }
      await second.reached()
      try store.writeNow { try $0.setLabel("late", of: "long", at: .revision(2)) }
      for number in 0..<3 {
        memos.append(memos[number])
        try await store.save(memos[number], as: "long")
      }
      second.open()
      let report = try await again.value
      #expect(report.removed["long"]?.contains(2) == false && report.skipped.isEmpty)
      try check(Set([2] + (count - 19...count + 3)))
    }
  }

  @Test(
    "Two concurrent prunes of a long history share the work, and neither reports damage", .tags(.long), .longRunsOnly)
  func together() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url), other = try SnapshotStore(url: url)
      _ = try long(store, 1024)
      let gate = Gate()
      let pruning = Task.detached { try await store.prune([.keepLast(20)]) { if $0.removedCount > 0 { gate.pass() } } }
      await gate.reached()
      let second = try await other.prune([.keepLast(20)])
      gate.open()
      let first = try await pruning.value
      #expect(first.skipped.map(\.description) == [] && second.skipped.map(\.description) == [])
      #expect(first.removedCount > 0 && second.removedCount > 0)
      #expect(first.removedCount + second.removedCount == 1004)
      #expect(try await store.history(of: "long").map(\.number) == Array(1005...1024))
      #expect(try await store.check(.full).findings.map(\.description) == [])
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test(
    "Pruning a long history with a damaged revision removes nothing", .tags(.long),
    arguments: Effort.sample(1, of: [5, 300]))
  func damagedLong(id: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      _ = try long(store, 400)
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1 WHERE id = \(id)") }
      let report = try store.prune([.keepLast(2)])
      #expect(report.skipped.map(\.key) == ["long"] && report.removed.isEmpty && report.kept == 400)
      #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM revisions") } == 400)
    }
  }

  @Test("Pruning removes nothing from a history whose last revision is unreadable", arguments: [6, 400])
  func unreadableHead(count: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.write { transaction in
        for number in 0..<count { try transaction.save((0..<1000).map { $0 * 7919 + number }, as: "n") }
        for number in 0..<6 { try transaction.save(number, as: "other") }
      }
      try Database.change(url) {
        try $0.execute(
          """
          UPDATE blobs SET bytes = x'0011'
          WHERE id = (SELECT blob FROM revisions r JOIN keys k ON k.head = r.id WHERE name = 'n')
          """)
      }
      storeError(.damaged) { try store.read { try $0.value([Int].self, for: "n") } }
      let report = try store.prune([.keepLast(2)])
      #expect(report.skipped.map(\.key) == ["n"] && report.removed == ["other": [1, 2, 3, 4]])
      #expect(report.kept == count + 2)
      #expect(try store.read { try $0.history(of: "n") }.count == count)
      let intact = try store.read { try $0.value([Int].self, for: "n", at: .revision(count - 1)) }
      #expect(intact?.first == count - 2)
    }
  }

  @Test("Pruning skips a key with a damaged revision and prunes the others")
  func damaged() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try CheckTests.fill(url, seed: 8, keys: 3, revisions: 6)
      try Database.change(url) { try $0.execute("UPDATE revisions SET time = time + 1 WHERE id IN (3, 4)") }
      let store = try SnapshotStore(url: url)
      let report = try store.prune([.keepLast(2)])
      #expect(report.skipped.map(\.key) == ["memo/0"] && report.removed["memo/0"] == nil)
      #expect(report.removed["memo/1"] == [1, 3, 4])
      #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM revisions WHERE key = 1") } == 6)
    }
  }
}
