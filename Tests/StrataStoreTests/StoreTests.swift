import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Stores")
struct StoreTests {
  private let point = Point5(name: "a", x: 1, y: -2, label: nil, isOn: true)

  @Test("U-23: saved values are available after reopening, and each commit is synced to disk")
  func reopening() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let point = point
      try SnapshotStore(url: url).write { transaction in
        try transaction.save(point, as: "p", author: "ann", note: "first")
        try transaction.save("text", as: "t")
      }
      let store = try SnapshotStore(url: url)
      #expect(try store.read { try $0.value(Point5.self, for: "p") } == point)
      let revision = try #require(try store.read { try $0.revision(of: "p") })
      #expect(revision.number == 1 && revision.author == "ann" && revision.note == "first")
      #expect(revision.typeName == "Point" && revision.modelVersion == 2 && revision.action == .save)
      #expect(try store.read { try $0.value(Point5.self, for: "other") } == nil)
      #expect(try store.synchronous == 2)
      // Reading as another type throws instead of inventing a value.
      storeError(.notDecodable) { try store.read { try $0.value(Point5.self, for: "t") } }
    }
  }

  @Test("A failed transaction saves nothing, and its definitions are not cached")
  func rollback() throws {
    struct Stop: Error {}
    let store = try SnapshotStore()
    for _ in 0..<2 {
      #expect(throws: Stop.self) {
        try store.write { transaction in
          try transaction.save(point, as: "p")
          try transaction.save(Part(name: "x"), as: "q")
          throw Stop()
        }
      }
      #expect(try store.read { try $0.revisions() }.isEmpty)
    }
    // The identifiers of rolled-back definitions are reused.
    try store.write { transaction in
      try transaction.save(Part(name: "y"), as: "q")
      try transaction.save(point, as: "p")
    }
    #expect(try store.read { try $0.value(Part.self, for: "q") } == Part(name: "y"))
    #expect(try store.read { try $0.value(Point5.self, for: "p") } == point)
  }

  @Test("A conditional save succeeds only if its condition holds")
  func conditions() throws {
    let store = try SnapshotStore()
    try store.write { transaction in
      try transaction.save(1, as: "n", if: .isAbsent)
      storeError(.conflict) { try transaction.save(2, as: "n", if: .isAbsent) }
      storeError(.conflict) { try transaction.save(2, as: "n", if: .isStill(2)) }
      try transaction.save(2, as: "n", if: .isStill(1))
      let error = storeError(.conflict) { try transaction.delete("n", if: .isStill(1)) }
      #expect(error?.revision == 2)
      try transaction.delete("n", if: .isStill(2))
      storeError(.notFound) { try transaction.delete("n") }
      try transaction.save(4, as: "n", if: .isAbsent)
      storeError(.conflict) { try transaction.save(1, as: "m", if: .isStill(1)) }
      storeError(.invalid) { try transaction.save(1, as: "") }
      storeError(.invalid) { try transaction.save(1, as: String(repeating: "k", count: 1001)) }
    }
    #expect(try store.read { try $0.history(of: "n") }.map(\.isDeletion) == [false, false, true, false])
    storeError(.readOnly) { try store.read { try $0.save(1, as: "n") } }
  }

  @Test("A row of an older version is upgraded when read; a newer one throws newerModel and is not overwritten")
  func versions() throws {
    let store = try SnapshotStore()
    try store.write { transaction in
      try transaction.save(OldPoint(name: "old", x: 3, y: 4), as: "p")
      let point = try transaction.value(Point5.self, for: "p")
      #expect(point == Point5(name: "old", x: 3, y: 4, label: nil, isOn: true))
      try transaction.save(NewPoint(name: "new", z: 0.5), as: "p")
      let error = storeError(.newerModel) { try transaction.value(Point5.self, for: "p") }
      #expect(error?.foundVersion == 9 && error?.supportedVersion == 2 && error?.key == "p" && error?.revision == 2)
      storeError(.newerModel) { try transaction.save(self.point, as: "p") }
      storeError(.newerModel) { try transaction.save([self.point], as: "p") }
      let archive = try ArchiveEncoder().encode(self.point)
      let refused = storeError(.newerModel) { try transaction.saveArchive(archive, as: "p") }
      #expect(refused?.foundVersion == 9 && refused?.supportedVersion == 2 && refused?.key == "p")
      #expect(try transaction.history(of: "p").count == 2)
      try transaction.saveArchive(archive, as: "other")
      try transaction.saveArchive(archive, as: "other")
      try transaction.save(self.point, as: "p", overNewer: true)
      try transaction.save(NewPoint(name: "new", z: 0.5), as: "p")
      try transaction.saveArchive(archive, as: "p", overNewer: true)
      #expect(try transaction.value(NewPoint.self, for: "p", at: .revision(2))?.z == 0.5)
    }
  }

  @Test("Programs of different versions can save alternately, and each row keeps its version")
  func mixedVersions() throws {
    let store = try SnapshotStore()
    try store.write { transaction in
      for number in 0..<6 {
        try transaction.save([Point5(name: "n", x: number, y: 0, isOn: false)], as: "\(number)/new")
        try transaction.save([OldPoint(name: "o", x: number, y: 0)], as: "\(number)/old")
      }
      for number in 0..<6 {
        #expect(try transaction.value([OldPoint].self, for: "\(number)/old")?.first?.x == number)
        #expect(try transaction.value([Point5].self, for: "\(number)/new")?.first?.x == number)
      }
    }
  }

  @Test("Versions of a nested model are distinguished even if the outer versions are equal")
  func innerVersions() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let stores = try [SnapshotStore(url: url), SnapshotStore(url: url)]
      let old = Holder(inner: OldPoint(name: "o", x: 1, y: 2)), new = Holder(inner: point)
      for key in ["a", "b"] { try stores[0].write { _ = try $0.save(old, as: key) } }
      try stores[1].write { _ = try $0.save(new, as: "c") }
      #expect(try stores[1].read { try $0.history(of: "c") }.count == 1)
      try stores[1].write { _ = try $0.save(old, as: "d") }
      // An old program can replace its own value, whatever newer programs saved under other keys.
      try stores[0].write { _ = try $0.save(old, as: "d") }
      storeError(.newerModel) { try stores[0].write { try $0.save(old, as: "c") } }
      #expect(try stores[0].read { try $0.value(Holder<Point5>.self, for: "d") }?.inner.x == 1)
    }
  }

  @Test("Keys with a prefix are iterated in byte order, page by page")
  func iteration() async throws {
    let store = try SnapshotStore()
    let keys =
      (0..<700).map { "item/\($0)" } + ["item", "item0", "it\u{10FFFF}", "item/\u{10FFFF}x", "z", "item/\u{D7FF}"]
    try await store.write { transaction in
      for key in keys.shuffled() { try transaction.save(Point5(name: key, x: 0, y: 0, isOn: true), as: key) }
      for number in 0..<50 { try transaction.save("text", as: "item/text\(number)") }
      try transaction.delete("item/0")
    }
    func sorted(_ prefix: String) -> [String] {
      keys.filter { $0.utf8.starts(with: prefix.utf8) && $0 != "item/0" }
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
    for prefix in ["", "item/", "item", "it\u{10FFFF}", "item/\u{D7FF}", "none"] {
      var found: [String] = []
      for try await entry in store.entries(Point5.self, prefix: prefix) {
        #expect(entry.value.name == entry.key)
        found.append(entry.key)
      }
      #expect(found == sorted(prefix))
      var again: [String] = []
      try store.readNow { try $0.forEach(Point5.self, prefix: prefix) { again.append($0.key) } }
      #expect(again == found)
    }
  }

  @Test("Iteration starts after the given key, whether or not it has the prefix")
  func iterationAfterAKey() async throws {
    let store = try SnapshotStore()
    let keys = ["a", "item", "item/", "item/1", "item/2", "item/é", "item0", "z"]
    try await store.write { transaction in for key in keys { _ = try transaction.save(1, as: key) } }
    for prefix in ["", "item", "item/", "item/2", "none"] {
      for last in [nil, ""] + keys + ["item/11", "item.", "zz", "\u{10FFFF}"] {
        var found: [String] = []
        for try await entry in store.entries(Int.self, prefix: prefix, after: last) { found.append(entry.key) }
        let expected = keys.filter { key in
          key.utf8.starts(with: prefix.utf8) && last.map { $0.utf8.lexicographicallyPrecedes(key.utf8) } ?? true
        }
        #expect(found == expected, "\(prefix) after \(last ?? "nothing")")
      }
    }
  }

  @Test("Iteration throws for a damaged row and continues after it")
  func damagedRow() async throws {
    try await withFolder { folder in
      let url = folder.appending(path: "store")
      try await SnapshotStore(url: url).write { transaction in
        for number in 0..<300 { try transaction.save(number, as: "n\(1000 + number)") }
      }
      try Database.change(url) { try $0.execute("UPDATE revisions SET content = x'00' WHERE id IN (100, 101, 300)") }
      let store = try SnapshotStore(url: url)
      var entries = store.entries(Int.self).makeAsyncIterator()
      var found: [Int] = []
      var damaged: [String?] = []
      while true {
        do {
          guard let entry = try await entries.next() else { break }
          found.append(entry.value)
        } catch let error as StoreError {
          #expect(error.code == .damaged)
          damaged.append(error.key)
        }
      }
      #expect(found == Array(0..<300).filter { ![99, 100, 299].contains($0) })
      #expect(damaged == ["n1099", "n1100", "n1299"])
      try store.close()
    }
  }

  @Test("A store in the app's own database takes part in the app's transactions", arguments: [true, false])
  func ownDatabase(isPool: Bool) throws {
    try withFolder { folder in
      let path = folder.appending(path: "app").path
      let writer: any DatabaseWriter = isPool ? try DatabasePool(path: path) : try DatabaseQueue(path: path)
      try writer.write { try $0.execute(sql: "CREATE TABLE meta (id INTEGER PRIMARY KEY)") }
      let store = try SnapshotStore(in: writer)
      let other = try SnapshotStore(in: writer, prefix: "second_")
      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try writer.write { db in
          try db.execute(sql: "INSERT INTO meta DEFAULT VALUES")
          try store.write(in: db) { _ = try $0.save(1, as: "n") }
          throw Stop()
        }
      }
      try writer.write { db in
        try db.execute(sql: "INSERT INTO meta DEFAULT VALUES")
        try store.write(in: db) { _ = try $0.save(2, as: "n") }
        #expect(throws: Stop.self) {
          try store.write(in: db) {
            _ = try $0.save(3, as: "n")
            _ = try $0.save(point, as: "p")
            throw Stop()
          }
        }
        try store.write(in: db) { _ = try $0.save(Part(name: "y"), as: "q") }
        #expect(try store.read(in: db) { try $0.value(Int.self, for: "n") } == 2)
      }
      #expect(try store.read { try $0.value(Part.self, for: "q") } == Part(name: "y"))
      #expect(try store.read { try $0.history(of: "n") }.count == 1)
      #expect(try other.read { try $0.history(of: "n") }.isEmpty)
      storeError(.invalid) { try SnapshotStore(in: writer, prefix: "a b") }
      storeError(.invalid) { try SnapshotStore(in: writer, prefix: "") }
    }
  }

  @Test("Opening a file that is not a store throws notAStore and leaves it unchanged")
  func otherFiles() throws {
    try withFolder { folder in
      let database = folder.appending(path: "database")
      try DatabaseQueue(path: database.path).write { try $0.execute(sql: "CREATE TABLE meta (name, value)") }
      let text = folder.appending(path: "text")
      try Data(
        "no database, but long enough to be taken for the header of one, if nobody looks closely, of 100 bytes".utf8
      )
      .write(to: text)
      for url in [database, text] {
        let before = try Data(contentsOf: url)
        storeError(.notAStore) { try SnapshotStore(url: url) }
        #expect(try Data(contentsOf: url) == before)
      }
      var options = StoreOptions()
      options.isReadOnly = true
      storeError(.readOnly) { try SnapshotStore(url: folder.appending(path: "none"), options: options) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["database", "text"])
    }
  }
}

/// A type that is only `Codable` and whose own code rejects some values.
private struct Settings: Codable, Equatable {
  var name: String
  var sizes: [String: Double]
  var state: Set<Int>
  var more: [[String]]?

  enum CodingKeys: CodingKey { case name, sizes, state, more }

  init(name: String) {
    self.name = name
    sizes = ["b": 1.5, "a": -0.0]
    state = [3]
    more = [["x"], []]
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    sizes = try container.decode([String: Double].self, forKey: .sizes)
    state = try container.decode(Set<Int>.self, forKey: .state)
    more = try container.decodeIfPresent([[String]].self, forKey: .more)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    guard name != "wrong" else {
      throw EncodingError.invalidValue(name, EncodingError.Context(codingPath: [], debugDescription: "a wrong name"))
    }
    try container.encode(sizes, forKey: .sizes)
    try container.encode(state, forKey: .state)
    try container.encodeIfPresent(more, forKey: .more)
  }
}

@Suite("Closed stores")
struct StoreCloseTests {
  @Test("Every call on a closed store throws invalid")
  func closed() async throws {
    try await withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      try await store.save(1, as: "n")
      try store.close()
      let errors = [
        await storeErrorAsync(.invalid) { try await store.save(2, as: "n") },
        await storeErrorAsync(.invalid) { try await store.value(Int.self, for: "n") },
        await storeErrorAsync(.invalid) { try await store.status() },
      ]
      for error in errors { #expect(error?.reason.contains("closed") ?? false) }
    }
  }
}

@Suite("Codable types in stores")
struct StoreCodableTests {
  @Test("A Codable type round-trips, and its archive equals that of encoding it directly")
  func codable() async throws {
    let store = try SnapshotStore()
    for number in 0..<20 {
      let name = String(repeating: "long \(number) ", count: number * 20)
      try await store.save(Settings(name: name), as: "settings", author: "ann")
      #expect(try await store.value(Settings.self, for: "settings") == Settings(name: name))
      #expect(try await store.archive(of: "settings") == ArchiveEncoder().encode(Settings(name: name)))
    }
    #expect(try await store.history(of: "settings").last?.typeName == "Settings")
    #expect(try await store.value(Settings.self, for: "settings", at: .revision(1)) == Settings(name: ""))
    let error = await storeErrorAsync(.notEncodable) { try await store.save(Settings(name: "wrong"), as: "settings") }
    #expect(error?.key == "settings" && error?.underlyingError is ArchiveError)
    await storeErrorAsync(.conflict) { try await store.save(Settings(name: "x"), as: "settings", if: .isAbsent) }
    try await store.save(["a"], as: "list")
    await storeErrorAsync(.notDecodable) { try await store.value(Settings.self, for: "list") }
    #expect(try await store.value(Settings.self, for: "none") == nil)
    #expect(try await store.check(.full).isClean)
  }
}
