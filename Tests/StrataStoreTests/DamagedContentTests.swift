import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Saving beside damage")
struct DamagedContentTests {
  /// So long that a row has a blob of its own.
  private static func numbers(_ number: Int) -> [Int] { (0..<1000).map { $0 * 7919 + number } }

  @Test(
    "What was acknowledged can be read, also where the store has the same content damaged",
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
}
