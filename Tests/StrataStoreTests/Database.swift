import Foundation
import GRDB
import StrataCore
import StrataTestSupport
import Testing

/// Changes the file of a store without the store's knowledge.
struct Database {
  private let db: GRDB.Database

  static func change<R>(_ url: URL, _ body: (Database) throws -> R) throws -> R {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    return try DatabaseQueue(path: url.path, configuration: configuration).write { try body(Database(db: $0)) }
  }

  func execute(_ sql: String) throws { try db.execute(sql: sql) }

  func number(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }

  /// Changes the sequence number of a row that has a blob, and updates the row's checksum (Docs/StoreFormat.md).
  func renumber(_ id: Int64, _ seq: Int64) throws {
    let row = try Row.fetchOne(
      db, sql: "SELECT id, key, time, definition, kind, blob FROM revisions WHERE id = ?", arguments: [id])
    guard let row else { return }
    var bytes = Data()
    for number: Int64 in [row[0], row[1], seq, row[2], row[3], row[4], -1, row[5], -1] {
      bytes.append(0)
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    bytes.append(contentsOf: [0, 0])
    let crc = Int32(bitPattern: Checksum.crc32(of: bytes.bytes))
    try db.execute(sql: "UPDATE revisions SET seq = ?, crc = ? WHERE id = ?", arguments: [seq, crc, id])
  }

  /// The leaf pages of a table, without overflow pages.
  func pages(of table: String) throws -> [Int] {
    try Int.fetchAll(
      db, sql: "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", arguments: [table])
  }

  /// Overwrites pages of a file with zeros.
  static func overwrite(_ url: URL, pages: [Int]) throws {
    var bytes = try Data(contentsOf: url)
    for page in pages { bytes.replaceSubrange((page - 1) * 4096..<page * 4096, with: Data(count: 4096)) }
    try bytes.write(to: url)
  }

  /// Damages a column in the only row of a table.
  func damage(_ table: String, _ column: String, _ random: inout SeededRandom) throws {
    switch try DatabaseValue.fetchOne(db, sql: "SELECT \(column) FROM \(table)")?.storage {
    case .blob(var bytes)?:
      bytes[random.below(bytes.count)] ^= UInt8(1) << random.below(8)
      try db.execute(sql: "UPDATE \(table) SET \(column) = ?", arguments: [bytes])
    case .int64(let number)?:
      try db.execute(sql: "UPDATE \(table) SET \(column) = ?", arguments: [number ^ (1 << random.below(20))])
    default: try db.execute(sql: "UPDATE \(table) SET \(column) = ?", arguments: column == "content" ? [7] : ["x"])
    }
  }

  /// Scans the tables and checks the invariants of every store.
  func checkInvariants(sourceLocation: SourceLocation = #_sourceLocation) throws {
    func expectNone(_ what: Comment, _ sql: String) throws {
      #expect(try number("SELECT count(*) FROM (\(sql))") == 0, what, sourceLocation: sourceLocation)
    }
    try expectNone("references that lead nowhere", "SELECT * FROM pragma_foreign_key_check")
    try expectNone("damage that SQLite finds", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
    try expectNone(
      "blobs that nothing refers to",
      "SELECT id FROM blobs WHERE id NOT IN (SELECT blob FROM revisions WHERE blob IS NOT NULL UNION SELECT blob FROM pieces)"
    )
    try expectNone(
      "heads that are not the last revisions",
      "SELECT id FROM keys k WHERE head <> (SELECT id FROM revisions r WHERE r.key = k.id ORDER BY seq DESC LIMIT 1)")
    try expectNone(
      "last revisions that are deltas", "SELECT k.id FROM keys k JOIN revisions r ON r.id = head AND base > 0")
    try expectNone(
      "counts that differ from those of the rows",
      """
      SELECT definition, revisions, heads FROM counts WHERE revisions > 0
      EXCEPT SELECT r.definition, count(*), count(k.id) FROM revisions r LEFT JOIN keys k ON k.head = r.id GROUP BY 1
      """)
    try expectNone(
      "rows that are not counted",
      """
      SELECT r.definition, count(*), count(k.id) FROM revisions r LEFT JOIN keys k ON k.head = r.id
      WHERE r.definition IS NOT NULL GROUP BY 1 EXCEPT SELECT definition, revisions, heads FROM counts
      """)
  }

  /// The size in bytes of the content of all revisions, or only of the deltas.
  func contentSize(deltas: Bool = false) throws -> Int {
    let own = try number(
      "SELECT sum(length(content)) FROM revisions" + (deltas ? " WHERE base IS NOT NULL" : ""))
    return deltas ? own : try own + number("SELECT sum(length(bytes)) FROM blobs")
  }
}
