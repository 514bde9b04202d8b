import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Saving to a damaged store")
struct DamagedContentTests {
  /// Returns an array that is long enough to be stored in a blob of its own.
  private static func numbers(_ number: Int) -> [Int] { (0..<1000).map { $0 * 7919 + number } }

  @Test(
    "Saving content again repairs the damaged stored copy that other keys share",
    arguments: ["bytes = x'0011'", "bytes = 'text'", "crc = crc + 1", "size = size + 1", "size = 'x'"])
  func sharedContent(damage: String) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), text = String(repeating: "some long text ", count: 100)
      let store = try SnapshotStore(url: url)
      try store.write { transaction throws in
        try transaction.save(Self.numbers(1), as: "a")
        try transaction.save(text, as: "b")
      }
      try Database.change(url) { try $0.execute("UPDATE blobs SET \(damage)") }
      storeError(.damaged) { try store.read { try $0.value([Int].self, for: "a") } }
      storeError(.damaged) { try store.read { try $0.value(String.self, for: "b") } }
      try store.write { transaction throws in
        try transaction.save(Self.numbers(1), as: "c")
        try transaction.save(text, as: "d")
      }
      for key in ["a", "c"] {
        #expect(try store.read { try $0.value([Int].self, for: key) } == Self.numbers(1))
      }
      for key in ["b", "d"] { #expect(try store.read { try $0.value(String.self, for: key) } == text) }
      #expect(try store.check(.full).findings.map(\.description) == [])
      #expect(try Database.change(url) { try $0.number("SELECT count(*) FROM blobs") } == 2)
    }
  }

  @Test("A key with an unreadable first or last revision can still be saved and restored", arguments: ["DESC", "ASC"])
  func damagedHead(order: String) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.write { transaction throws in
        try transaction.save(Self.numbers(1), as: "n")
        // This value is so different from the first one that it is not stored as a delta.
        try transaction.save((0..<1000).map { $0 &* 0x5DEE_CE66D ^ 0xBEEF }, as: "n")
      }
      try Database.change(url) {
        try $0.execute("UPDATE blobs SET bytes = x'0011' WHERE id = (SELECT blob FROM revisions ORDER BY id \(order))")
      }
      let intact = order == "DESC" ? 1 : 2
      let before = try store.read { try $0.value([Int].self, for: "n", at: .revision(intact)) }
      try store.write { transaction throws in
        #expect(try transaction.save(Self.numbers(3), as: "n").number == 3)
        #expect(try transaction.restore("n", to: .revision(intact)).number == 4)
        #expect(try transaction.save(Self.numbers(5), as: "n").number == 5)
        storeError(.damaged) { try transaction.restore("n", to: .revision(3 - intact)) }
      }
      try store.read { transaction throws in
        #expect(try transaction.value([Int].self, for: "n", at: .revision(3)) == Self.numbers(3))
        #expect(try transaction.value([Int].self, for: "n", at: .revision(4)) == before)
        #expect(try transaction.value([Int].self, for: "n") == Self.numbers(5))
      }
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test("A transaction that catches the error of a failed save still throws and saves nothing")
  func halfSave() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), text = String(repeating: "some long text ", count: 100)
      let store = try SnapshotStore(url: url)
      try store.write { _ = try $0.save(1, as: "n") }
      try Database.change(url) {
        try $0.execute("CREATE TRIGGER t BEFORE INSERT ON pieces BEGIN SELECT RAISE(ABORT, 'no'); END")
      }
      storeError(.fileSystem) {
        try store.write { transaction throws in
          try transaction.save(1, as: "m")
          #expect(throws: (any Error).self) { try transaction.save(text, as: "n") }
        }
      }
      #expect(try store.read { try $0.value(Int.self, for: "n") } == 1)
      #expect(try store.read { try $0.value(Int.self, for: "m") } == nil)
      try Database.change(url) { try $0.checkInvariants() }
    }
  }

  @Test(
    "Impossible revision and head counts throw damaged",
    arguments: [
      "revisions = 9223372036854775807", "heads = 9223372036854775807", "revisions = -1", "heads = -1",
      "revisions = 9007199254740993", "revisions = 'x'", "heads = 1e300",
    ])
  func counts(damage: String) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.write { transaction throws in
        try transaction.save(OldPoint(name: "o", x: 1, y: 1), as: "p")
        try transaction.save([OldPoint(name: "o", x: 1, y: 1)], as: "q")
        try transaction.save("text", as: "t")
      }
      #expect(try store.status().revisions == 3)
      try Database.change(url) { try $0.execute("UPDATE counts SET \(damage)") }
      storeError(.damaged) { try store.status() }
      storeError(.damaged) { try store.upgradePlan([Point5.self]) }
      #expect(try !store.check(.quick).isClean)
      #expect(try store.read { try $0.value(String.self, for: "t") } == "text")
    }
  }

  @Test("A row with a valid checksum and an impossible revision number throws damaged", arguments: [0, -1, Int64.min])
  func numberNeverGiven(seq: Int64) throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      let store = try SnapshotStore(url: url)
      try store.write { _ = try $0.save(Self.numbers(1), as: "n") }
      try Database.change(url) { try $0.renumber(1, seq) }
      storeError(.damaged) { try store.read { try $0.value([Int].self, for: "n") } }
      storeError(.damaged) { try store.write { try $0.save(Self.numbers(2), as: "n") } }
      #expect(try !store.check(.full).isClean)
      #expect(try store.salvage(to: folder.appending(path: "copy")).revisions == 0)
    }
  }

  @Test("A damaged label or time throws damaged instead of returning the value of another revision")
  func otherValues() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store"), clock = Clock()
      let store = try SnapshotStore(url: url, options: clock.options)
      let start = clock.now
      for number in 1...4 {
        clock.now = start + Double(number) * 10
        try store.write { transaction throws in
          try transaction.save(number, as: "n")
          try transaction.save(-number, as: "m")
        }
      }
      try store.write { try $0.setLabel("l", of: "n", at: .revision(2)) }
      #expect(try store.read { try $0.value(Int.self, for: "n", at: .label("l")) } == 2)
      #expect(try store.read { try $0.value(Int.self, for: "n", at: .time(start + 25)) } == 2)
      try Database.change(url) {
        try $0.execute("UPDATE labels SET revision = (SELECT head FROM keys WHERE name = 'm')")
        // Damages the time of the second revision. Without the check, that revision would seem to be later than the requested time.
        try $0.execute("UPDATE revisions SET time = time + 1000000 WHERE seq = 2")
      }
      storeError(.damaged) { try store.read { try $0.value(Int.self, for: "n", at: .label("l")) } }
      storeError(.damaged) { try store.read { try $0.value(Int.self, for: "n", at: .time(start + 25)) } }
      #expect(try store.read { try $0.value(Int.self, for: "n") } == 4)
    }
  }
}
