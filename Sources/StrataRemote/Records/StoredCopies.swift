internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// What is kept of answers, by account and URL, as long as a "not modified" would say something about the rows that are there.
enum StoredCopies {
  static func fetch(account: String, url: String, _ db: Database) throws -> HTTPCopy? {
    let data = try Data.fetchOne(
      db.cachedStatement(sql: "SELECT copy FROM strata_remote_copies WHERE account = ? AND url = ?"),
      arguments: [account, url])
    // What another version wrote and this one cannot read is asked for anew.
    return data.flatMap { try? JSONDecoder().decode(HTTPCopy.self, from: $0) }
  }

  /// Keeps a copy, unless that of a later request is there.
  static func save(
    _ copy: HTTPCopy, account: String, url: String, _ entity: MappedEntity, number: Int64, _ db: Database
  ) throws {
    try db.execute(
      cached: """
        INSERT INTO strata_remote_copies VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, url) DO UPDATE
        SET copy = excluded.copy, applied = excluded.applied WHERE excluded.applied > applied
        """, [account, url, entity.name, try JSONEncoder().encode(copy), number])
  }

  /// Forgets what is kept of a URL by a request or one before it.
  static func forget(account: String, url: String, number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE account = ? AND url = ? AND applied <= ?", [account, url, number])
  }

  /// Forgets what is kept of a URL that was changed (RFC 9111, section 4.4).
  static func forget(url: String, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_copies WHERE url = ?", [url])
  }

  static func forget(_ entity: MappedEntity, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_copies WHERE entity = ?", [entity.name])
    try noteForgotten(entity, db)
  }

  /// How often copies of an entity were forgotten. A copy of an answer that was asked for before is not kept: its tag would confirm rows
  /// that have changed since.
  static func generation(_ entity: MappedEntity, _ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM strata_remote_meta WHERE name = ?"),
      arguments: ["forgotten/" + entity.name]) ?? 0
  }

  private static func noteForgotten(_ entity: MappedEntity, _ db: Database) throws {
    try db.execute(
      cached: "INSERT INTO strata_remote_meta VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
      ["forgotten/" + entity.name])
  }

  /// Forgets what is kept after a record was deleted: other answers may have had it, and what the table deleted or changed along with it is
  /// no longer what the server has said of these.
  static func forgetDeleted(_ entity: MappedEntity, _ catalog: RemoteCatalog, _ db: Database) throws {
    var (numbers, waiting): (Set<Int>, [MappedEntity]) = ([entity.number], [entity])
    while let next = waiting.popLast() {
      try forget(next, db)
      waiting += catalog.entities.filter { other in
        other.fields.contains { $0.target == next.number } && numbers.insert(other.number).inserted
      }
    }
  }

  /// Forgets what is kept of other URLs than one, after an answer from there has changed rows: theirs are no longer as they were sent.
  static func forget(_ entity: MappedEntity, except url: String, account: String, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE entity = ? AND NOT (url = ? AND account = ?)",
      [entity.name, url, account])
    try noteForgotten(entity, db)
  }

  /// Forgets what later requests left, after an answer from before them has changed rows.
  static func forget(_ entity: MappedEntity, after number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE entity = ? AND applied > ?", [entity.name, number])
  }

  /// Forgets everything where entities are not read as they were: a property that is new has to come with the next answer.
  static func checkMapping(_ catalog: RemoteCatalog, _ db: Database) throws {
    let mapping = catalog.entities.map { entity in
      let fields = entity.type.schema.fields.map { field in
        "\(field.key)=\(entity.adapter.places(ofField: field.key)?.read.map(\.description).joined(separator: "|") ?? "")"
      }
      let columns = entity.table.columns.map(\.name).joined(separator: ",")
      return "\(entity.name) \(entity.type.schema.modelVersion) \(fields.joined(separator: ",")) \(columns)"
    }.sorted().joined(separator: "\n")
    let known = try String.fetchOne(db, sql: "SELECT value FROM strata_remote_meta WHERE name = 'mapping'")
    guard known != mapping else { return }
    try db.execute(sql: "DELETE FROM strata_remote_copies")
    try db.execute(sql: "INSERT OR REPLACE INTO strata_remote_meta VALUES ('mapping', ?)", arguments: [mapping])
  }

  /// Forgets what is kept of an entity where rows are gone that nobody here deleted: they would not come back by a 304.
  static func checkRows(_ entity: MappedEntity, _ db: Database) throws {
    let isMissing = try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM strata_remote_records AS r WHERE r.entity = ?1
          AND NOT EXISTS (SELECT 1 FROM \(entity.quotedTable) AS t WHERE t.\(entity.keyColumn.quotedDatabaseIdentifier) = r.record)
          AND NOT EXISTS (SELECT 1 FROM strata_remote_changes AS c WHERE c.entity = ?1 AND c.record = r.record))
        """, arguments: [entity.name])
    if isMissing ?? false { try forget(entity, db) }
  }
}
