import Foundation
import GRDB
import StrataTestSupport

/// What tests do to the file of a store behind its back.
struct Database {
  private let db: GRDB.Database

  static func change<R>(_ url: URL, _ body: (Database) throws -> R) throws -> R {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    return try DatabaseQueue(path: url.path, configuration: configuration).write { try body(Database(db: $0)) }
  }

  func execute(_ sql: String) throws { try db.execute(sql: sql) }

  func number(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }

  /// Changes something about a column of the only row of a table.
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

  /// How many bytes the content of all revisions takes, or that of deltas alone.
  func contentSize(deltas: Bool = false) throws -> Int {
    let own = try number(
      "SELECT sum(length(content)) FROM revisions" + (deltas ? " WHERE base IS NOT NULL" : ""))
    return deltas ? own : try own + number("SELECT sum(length(bytes)) FROM blobs")
  }
}
