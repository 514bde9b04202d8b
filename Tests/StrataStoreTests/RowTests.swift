import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Rows and archives")
struct RowTests {
  /// Saves a value twice and then its archive, and compares the exports with the encoder's output. The second save reuses the
  /// definition that the first one created.
  private func check<T: Archivable>(_ value: T, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let store = try SnapshotStore()
    let direct = try ArchiveEncoder().encode(value)
    try store.write {
      try $0.save(value, as: "a")
      try $0.save(value, as: "b")
      try $0.saveArchive(direct, as: "c")
    }
    for key in ["a", "b", "c"] {
      let exported = try store.read { try $0.archive(of: key) }
      #expect(exported == direct, "exported under \(key)", sourceLocation: sourceLocation)
      let read: T? = try store.read { try $0.value(for: key) }
      #expect(try read.map { try ArchiveEncoder().encode($0) } == direct, sourceLocation: sourceLocation)
    }
  }

  @Test(
    "A saved value round-trips, and its export equals its archive byte for byte", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(10, long: 60)))
  func memos(seed: UInt64) throws {
    var random = MemoRandom(seed: seed)
    let memo = random.memo()
    let store = try SnapshotStore()
    try store.write { _ = try $0.save(memo, as: "memo") }
    #expect(try store.read { try $0.value(Memo.self, for: "memo") } == memo)
    try check(memo)
  }

  @Test(
    "Collections, optionals and plain values round-trip through rows", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(3, long: 12)))
  func containers(seed: UInt64) throws {
    var random = MemoRandom(seed: seed)
    let memos = (0..<random.random.below(5)).map { _ in random.memo() }
    try check(memos)
    try check(Set(memos))
    try check(Dictionary(memos.map { ($0.title, $0) }, uniquingKeysWith: { first, _ in first }))
    try check(memos.first)
    try check(memos.map { Optional($0) } + [nil])
    try check(random.reminder() ?? .none)
    try check("text")
    try check(String(repeating: "x", count: 513))
    try check(7)
    try check([String: Int]())
  }

  @Test(
    "Shared objects and cycles round-trip in sets and lists", .tags(.long),
    arguments: 0..<UInt64(Effort.rounds(8, long: 30)))
  func graphs(seed: UInt64) throws {
    var random = MemoRandom(seed: seed)
    let person = random.group(1 + random.random.below(12))
    try check(person)
    try check([person, person])
    try check(Optional(person))
  }

  @Test("Untyped values with more shapes than there are tags round-trip")
  func untyped() throws {
    let records = (0..<300).map { number in
      ArchiveValue.record(
        ModelRecord(typeName: "Kind\(number)", modelVersion: number % 3, fields: [("k\(number)", .int(1))]))
    }
    try check(ArchiveValue.array(records + records.reversed()))
    try check(ArchiveValue.set(records))
    try check(ArchiveValue.map([ArchiveValue.MapEntry(key: .array([1, .set([2, 3])]), value: .double(.nan))]))
    try check(ArchiveValue.object(["a": .null, "b": .data(Data(repeating: 7, count: 600)), "c": .float(1.5)]))
  }

  @Test("A long text is stored once for all references and deleted with the last one", .tags(.long))
  func contentsOnce() throws {
    try withFolder { folder in
      let store = try SnapshotStore(url: folder.appending(path: "store"))
      var random = MemoRandom(seed: 4)
      let text = random.text(200_000)
      try store.write { transaction in
        for number in 0..<Effort.rounds(10, long: 50) {
          var memo = random.memo()
          memo.text = text
          memo.image = Data(text.utf8)
          try transaction.save(memo, as: "memo/\(number)")
        }
      }
      let size = try Data(contentsOf: folder.appending(path: "store-wal")).count
      #expect(size < 2_500_000, "text and image would take 20 MB if each had its own")
      let memo = try store.read { try $0.value(Memo.self, for: "memo/9") }
      #expect(memo?.text == text && memo?.image == Data(text.utf8))
    }
  }

  @Test("Reading a row with damaged bytes throws", .tags(.long), arguments: 0..<UInt64(Effort.rounds(8, long: 40)))
  func damage(seed: UInt64) throws {
    var random = MemoRandom(seed: seed)
    let memo = random.memo()
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try SnapshotStore(url: url).write { _ = try $0.save(memo, as: "memo") }
      try Database.change(url) { table in
        let column = ["content", "note", "time", "definition", "seq", "kind", "crc", "key"][Int(seed) % 8]
        try table.damage("revisions", column, &random.random)
      }
      let store = try SnapshotStore(url: url)
      do {
        let read = try store.read { try $0.value(Memo.self, for: "memo") }
        Issue.record("read \(read == memo ? "the same" : "something else")")
      } catch let error as StoreError { #expect(error.code == .damaged || error.code == .notFound, "\(error)") }
    }
  }
}
