import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Store file size")
struct RowSizeTests {
  private static let count = 5000

  private func point(_ number: Int) -> Point5 {
    Point5(name: "Point number \(number)", x: number, y: number * 7, label: number % 2 == 0 ? "even" : nil, isOn: true)
  }

  /// Encodes the same fields as protocol buffers. Each field is a tag followed by a varint, or by a length and the text.
  private func protobuf(_ point: Point5) -> Data {
    func varint(_ number: Int) -> [UInt8] {
      var rest = number, bytes: [UInt8] = []
      while rest > 0x7F {
        bytes.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      return bytes + [UInt8(rest)]
    }
    var bytes = [0x0A] + varint(point.name.utf8.count) + Array(point.name.utf8)
    bytes += [0x10] + varint(point.x) + [0x18] + varint(point.y)
    if let label = point.label { bytes += [0x22] + varint(label.utf8.count) + Array(label.utf8) }
    return Data(bytes + [0x28, 1])
  }

  @Test("A store of small models takes at most 1.2 times the file size of protobuf blobs")
  func smallModels() throws {
    try withFolder { folder in
      let url = folder.appending(path: "store")
      try SnapshotStore(url: url).write { transaction in
        for number in 0..<Self.count { try transaction.save(point(number), as: "point/\(number)", author: "ann") }
      }
      let plain = folder.appending(path: "plain")
      try DatabaseQueue(path: plain.path).write { db in
        try db.execute(
          sql: """
            CREATE TABLE keys (name TEXT PRIMARY KEY, id INTEGER NOT NULL UNIQUE, head INTEGER) WITHOUT ROWID;
            CREATE TABLE revisions (
              id INTEGER PRIMARY KEY AUTOINCREMENT, key INTEGER NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL,
              content BLOB, author TEXT, note TEXT, UNIQUE (key, seq));
            """)
        for number in 0..<Self.count {
          try db.execute(
            sql: "INSERT INTO keys VALUES (?1, ?2, ?2)", arguments: ["point/\(number)", number + 1])
          try db.execute(
            sql: "INSERT INTO revisions (key, seq, time, content, author, note) VALUES (?, 1, ?, ?, ?, NULL)",
            arguments: [number + 1, 1_700_000_000_000 + number, protobuf(point(number)), "ann"])
        }
      }
      func used(_ url: URL) throws -> Int {
        try DatabaseQueue(path: url.path).read { db in
          try Int.fetchOne(
            db, sql: "SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%keys%' OR name LIKE '%revisions%'") ?? 0
        }
      }
      let content = try Database.change(url) { try $0.contentSize() }
      let raw = (0..<Self.count).reduce(0) { $0 + protobuf(point($1)).count }
      let ratio = try Double(used(url)) / Double(used(plain))
      print(
        "rows: \(content / Self.count) bytes of content, \(raw / Self.count) of protobuf; "
          + "\(try used(url) / Self.count) and \(try used(plain) / Self.count) in the file, ratio \(ratio)")
      #expect(ratio <= 1.2)
    }
  }
}
