import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("History")
struct HistoryTests {
  /// The expected history of a key: its states in order, and the information for undo.
  private struct Oracle {
    var states: [Memo?] = []
    /// `past` has the states that undo can return to and ends with the current state. `future` has the states that redo can return to.
    var past: [Memo?] = []
    var future: [Memo?] = []

    mutating func change(_ state: Memo?) {
      states.append(state)
      past.append(state)
      future = []
    }

    mutating func undo() -> Bool {
      guard past.count > 1, let last = past.popLast() else { return false }
      future.append(last)
      states.append(past[past.count - 1])
      return true
    }

    mutating func redo() -> Bool {
      guard let next = future.popLast() else { return false }
      past.append(next)
      states.append(next)
      return true
    }
  }

  @Test(
    "Random saves, deletions, restores, undo and redo match a list of states", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(3, long: 12)))
  func oracle(seed: UInt64) throws {
    try withFolder { folder in
      var random = MemoRandom(seed: seed)
      let url = folder.appending(path: "store")
      // Two stores open the same file, as two programs would.
      let stores = try [SnapshotStore(url: url), SnapshotStore(url: url)]
      var oracles = ["a": Oracle(), "b": Oracle()]
      for _ in 0..<60 {
        let store = random.random.oneOf(stores), key = random.random.oneOf(["a", "b"])
        var oracle = oracles[key] ?? Oracle()
        let now = oracle.states.last ?? nil
        switch random.random.below(10) {
        case 0 where now != nil:
          try store.write { _ = try $0.delete(key) }
          oracle.change(nil)
        case 1 where !oracle.states.isEmpty:
          let number = random.random.below(oracle.states.count)
          try store.write { _ = try $0.restore(key, to: .revision(number + 1)) }
          oracle.change(oracle.states[number])
        case 2, 3:
          for _ in 0...random.random.below(3) {
            if oracle.undo() {
              try store.write { _ = try $0.undo(key) }
            } else if !oracle.states.isEmpty {
              storeError(.nothingToUndo) { try store.write { try $0.undo(key) } }
            }
          }
        case 4, 5:
          for _ in 0...random.random.below(3) {
            if oracle.redo() {
              try store.write { _ = try $0.redo(key) }
            } else if !oracle.states.isEmpty {
              storeError(.nothingToUndo) { try store.write { try $0.redo(key) } }
            }
          }
        default:
          let memo = now.map { random.changed($0) } ?? random.memo()
          try store.write { _ = try $0.save(memo, as: key) }
          if try !memo.isSame(as: now) { oracle.change(memo) }
        }
        oracles[key] = oracle
      }
      try Database.change(url) { try $0.checkInvariants() }
      for store in stores {
        try store.read { transaction throws in
          for (key, oracle) in oracles {
            #expect(try transaction.history(of: key).map(\.number) == oracle.states.indices.map { $0 + 1 })
            for (place, state) in oracle.states.enumerated() {
              let read = try transaction.value(Memo.self, for: key, at: .revision(place + 1))
              #expect(read == state, "revision \(place + 1) of \(key), seed \(seed)")
              let most = Int(log2(Double(place + 1)).rounded(.up)) + 1
              #expect(transaction.inflations <= most || state == nil)
            }
            #expect(try transaction.value(Memo.self, for: key) == oracle.states.last ?? nil)
          }
        }
      }
    }
  }

  @Test("Saving an equal value adds no revision and keeps redo available; with a note it adds one")
  func equalSaves() throws {
    try withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      for value in [[1], [1], [1, 2], [1, 2]] { try store.write { _ = try $0.save(value, as: "k") } }
      #expect(try store.write { try $0.save([1, 2], as: "k") }.number == 2)
      try store.write { _ = try $0.undo("k") }
      #expect(try store.read { try $0.value([Int].self, for: "k") } == [1])
      // Saving the current value again keeps the undone states.
      try store.write { _ = try $0.save([1], as: "k") }
      try store.write { _ = try $0.redo("k") }
      #expect(try store.read { try $0.value([Int].self, for: "k") } == [1, 2])
      #expect(try store.write { try $0.save([1, 2], as: "k", note: "release") }.note == "release")
      try store.write { _ = try $0.delete("k") }
      try store.write { _ = try $0.save([1, 2], as: "k") }
      #expect(try store.read { try $0.value([Int].self, for: "k") } == [1, 2])
      // Large values, which are stored as blobs and pieces, are also compared with the current value.
      let large = (0..<1000).map { $0 * 7919 }
      for _ in 0..<2 { try store.write { _ = try $0.save(large, as: "large") } }
      #expect(try store.read { try $0.history(of: "large").count } == 1)
      try store.write { _ = try $0.save(large + [1], as: "large") }
      #expect(try store.read { try $0.history(of: "large").count } == 2)
    }
  }

  @Test("Revisions are ordered by sequence, even if the clock was set back")
  func clock() throws {
    let clock = Clock()
    let store = try SnapshotStore(inMemory: clock.options)
    let start = clock.now
    for (number, seconds) in [0.0, 10, 5, 7, 20].enumerated() {
      clock.now = start + seconds
      try store.write { _ = try $0.save(number, as: "n", author: "a\(number)", note: "why \(number)") }
    }
    try store.read { transaction throws in
      let history = try transaction.history(of: "n")
      #expect(history.map(\.number) == [1, 2, 3, 4, 5])
      #expect(history.map(\.author) == (0..<5).map { "a\($0)" } && history[2].note == "why 2")
      #expect(history.map(\.time) == [0, 10, 5, 7, 20].map { start + $0 })
      func value(_ seconds: TimeInterval) throws -> Int? {
        try transaction.value(Int.self, for: "n", at: .time(start + seconds))
      }
      #expect(try value(-1) == nil)
      #expect(try value(0) == 0)
      #expect(try value(6) == 0)
      #expect(try value(10) == 3)
      #expect(try value(19) == 3)
      #expect(try value(20) == 4)
    }
  }

  @Test("Labels name revisions and can be moved and removed")
  func labels() throws {
    let store = try SnapshotStore()
    try store.write { transaction in
      for number in 1...4 { try transaction.save(number, as: "n") }
      try transaction.setLabel("good", of: "n", at: .revision(2))
      try transaction.setLabel("good", of: "n", at: .revision(3))
      try transaction.setLabel("first", of: "n", at: .revision(1))
      #expect(try transaction.labels(of: "n") == ["good": 3, "first": 1])
      #expect(try transaction.value(Int.self, for: "n", at: .label("good")) == 3)
      try transaction.restore("n", to: .label("first"))
      try transaction.removeLabel("first", of: "n")
      storeError(.notFound) { try transaction.removeLabel("first", of: "n") }
      storeError(.notFound) { try transaction.value(Int.self, for: "n", at: .label("first")) }
      storeError(.notFound) { try transaction.value(Int.self, for: "n", at: .revision(9)) }
      storeError(.invalid) { try transaction.setLabel("", of: "n") }
    }
    #expect(try store.read { try $0.value(Int.self, for: "n") } == 1)
    #expect(try store.read { try $0.revision(of: "n") }?.origin == 1)
  }

  @Test("The difference of two revisions lists each changed key path")
  func differences() throws {
    let store = try SnapshotStore()
    var memo = MemoRandom(seed: 1).withParts()
    try store.write { transaction in
      try transaction.save(memo, as: "m")
      memo.title = "new"
      memo.parts[1].weight = 99
      try transaction.save(memo, as: "m")
      try transaction.delete("m")
    }
    let changes = try store.read { try $0.difference(of: "m", from: .revision(1), to: .revision(2)).changes }
    #expect(changes.map { "\($0.path)" } == ["title", "parts[1].weight"])
    #expect(changes.first?.new == .string("new"))
    #expect(try store.read { try $0.difference(of: "m", from: .revision(2)) }.changes.count == 1)
  }

  @Test("Revisions of different model versions are compared field by field or after upgrading")
  func differencesOfVersions() throws {
    let store = try SnapshotStore()
    try store.write { transaction in
      try transaction.save([OldPoint(name: "a", x: 1, y: 2)], as: "p")
      try transaction.save([Point5(name: "b", x: 1, y: 2, label: "new", isOn: true)], as: "p")
      try transaction.save(Holder(inner: OldPoint(name: "a", x: 1, y: 2)), as: "h")
      try transaction.save(Holder(inner: Point5(name: "a", x: 3, y: 2, label: nil, isOn: true)), as: "h")
    }
    func changes(_ difference: ValueDifference) -> [String] { difference.changes.map { "\($0.path) \($0.kind)" } }
    let difference = try store.read { try $0.difference(of: "p", from: .revision(1)) }
    #expect(changes(difference) == ["[0].name changed", "[0].label added", "[0].isOn added"])
    let upgraded = try store.read { try $0.difference(of: "p", as: [Point5].self, from: .revision(1)) }
    #expect(changes(upgraded) == ["[0].name changed", "[0].label changed"])
    #expect(upgraded.changes.first?.old == .string("a") && upgraded.changes.first?.new == .string("b"))
    let nested = try store.read { try $0.difference(of: "h", from: .revision(1)) }
    #expect(changes(nested) == ["inner.x changed", "inner.label added", "inner.isOn added"])
    let nestedNow = try store.read { try $0.difference(of: "h", as: Holder<Point5>.self, from: .revision(1)) }
    #expect(changes(nestedNow) == ["inner.x changed"])
    storeError(.notDecodable) { try store.read { try $0.difference(of: "p", as: Int.self, from: .revision(1)) } }
  }

  /// The changes that each revision makes to a document.
  enum Edits: CaseIterable {
    /// Replaces one text with random words, and changes two numbers.
    case fewFields
    /// Replaces three texts, each with 20 to 40 bytes of words from the document.
    case threeTexts
    /// Replaces three texts, each with 20 to 40 bytes of random letters and digits, which are incompressible.
    case threeRandomTexts

    func name(_ random: inout MemoRandom, _ number: Int = 0) -> String {
      switch self {
      case .fewFields: "changed \(number) " + random.text(10)
      case .threeTexts: random.text(20)
      case .threeRandomTexts:
        String((0..<20 + random.random.below(21)).map { _ in random.random.oneOf(Self.letters) })
      }
    }

    func change(_ parts: inout [Part], _ number: Int, _ random: inout MemoRandom) {
      for _ in 0..<(self == .fewFields ? 1 : 3) {
        parts[random.random.below(parts.count)].name = name(&random, number)
      }
      guard self == .fewFields else { return }
      for _ in 0..<2 { parts[random.random.below(parts.count)].weight = Double(random.random.below(1000)) }
    }

    private static let letters = Array("abcdefghijklmnopqrstuvwxyz012345")
  }

  @Test(
    "A hundred revisions of a document take at most three times its size", .longRunsOnly, .tags(.long),
    arguments: Edits.allCases)
  func space(edits: Edits) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      var random = MemoRandom(seed: 11)
      var parts: [Part] = []
      while try ArchiveEncoder(compression: .none).encode(parts).count < 10_000 {
        parts.append(random.part())
        if edits != .fewFields { parts[parts.count - 1].name = edits.name(&random) }
      }
      let plain = try ArchiveEncoder(compression: .none).encode(parts).count
      for number in 0..<100 {
        edits.change(&parts, number, &random)
        try store.write { [parts] in _ = try $0.save(parts, as: "document") }
      }
      let used = try Database.change(url) { try $0.contentSize() }
      let deltas = try Database.change(url) { try $0.contentSize(deltas: true) }
      print("history: 100 revisions of \(plain) bytes, \(edits), take \(used) bytes, \(deltas) of them in deltas")
      #expect(used < 3 * plain)
      try store.read { transaction throws in
        for number in 1...100 {
          #expect(try transaction.value([Part].self, for: "document", at: .revision(number)) != nil)
          #expect(transaction.inflations <= 8)
        }
        #expect(try transaction.value([Part].self, for: "document") == parts)
      }
    }
  }

  @Test(
    "Reading one of a thousand revisions takes at most ⌈log2 n⌉ + 1 inflations plus one per long text",
    .tags(.long), .longRunsOnly)
  func inflations() throws {
    try withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      var random = MemoRandom(seed: 5)
      let longTexts = (0..<2).map { _ in String(repeating: random.text(30), count: 20) }
      var parts = (0..<60).map { _ in random.part() }
      var states: [[Part]] = []
      try store.write { transaction in
        for number in 0..<1000 {
          // Some revisions insert words, some insert incompressible text, and some replace nearly all parts.
          for _ in 0..<(number % 50 == 49 ? 50 : 1) { parts[random.random.below(50)].name = random.text(30) }
          if number % 3 == 0 { parts[random.random.below(50)].name = "\(random.random.next())" }
          for (place, text) in longTexts.enumerated() { parts[50 + place].name = text + (number > 500 ? "!" : "") }
          if number % 97 == 96 {
            try transaction.delete("document")
            states.append([])
          } else {
            try transaction.save(parts, as: "document")
            states.append(parts)
          }
        }
      }
      func check() throws {
        var most = 0
        try store.read { transaction throws in
          for revision in try transaction.history(of: "document") {
            let state = states[revision.number - 1]
            let value = try transaction.value([Part].self, for: "document", at: .revision(revision.number))
            #expect(value ?? [] == state)
            let allowed = Int(log2(Double(revision.number)).rounded(.up)) + 1
            #expect(transaction.inflations <= allowed || state.isEmpty, "revision \(revision.number)")
            most = max(most, transaction.inflations)
          }
        }
        print("history: at most \(most) inflations for any of 1000 revisions")
      }
      try check()
      // Pruning stores the remaining revisions anew. Reading them must respect the same limit on inflations.
      for number in 1...1000 where number % 7 == 0 || random.random.isOnce(in: 5) {
        try store.write { try $0.setLabel("l\(number)", of: "document", at: .revision(number)) }
      }
      _ = try store.prune([.keepLast(30)])
      try check()
    }
  }

  @Test(
    "The history of a document larger than the deflate window stays small", .tags(.long),
    arguments: Effort.sample(1, of: [100_000, 30_000, 400_000]))
  func largeDocuments(size: Int) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      var random = SeededRandom(seed: UInt64(size))
      var names = (0..<size / 40).map { _ in (0..<24).map { _ in String(random.below(36), radix: 36) }.joined() }
      var states: [[String]] = []
      for number in 0..<16 {
        names[random.below(names.count)] = "changed \(number)"
        names.insert("inserted \(number)", at: random.below(names.count))
        names.remove(at: random.below(names.count))
        states.append(names)
        try store.write { [names] in _ = try $0.save(names, as: "document") }
      }
      let used = try Database.change(url) { try $0.contentSize(deltas: true) }
      let plain = try ArchiveEncoder(compression: .none).encode(names).count
      print("history: 11 deltas of a document of \(plain) bytes take \(used) bytes")
      #expect(used < plain)
      for (place, state) in states.enumerated() {
        #expect(try store.read { try $0.value([String].self, for: "document", at: .revision(place + 1)) } == state)
      }
    }
  }
}

extension MemoRandom {
  fileprivate func withParts() -> Memo {
    var random = self
    var memo = random.memo()
    memo.parts = [Part(name: "a", weight: 1), Part(name: "b", weight: 2)]
    return memo
  }
}
