internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Stores the header fields of responses (``HTTPCopy``), by account and URL. They make a later request conditional, so
/// that the server can answer it with 304 (Not Modified). A 304 does not update the rows, so the header fields are
/// deleted as soon as the rows no longer match the response.
enum StoredCopies {
  static func fetch(account: String, url: String, _ db: Database) throws -> HTTPCopy? {
    let data = try Data.fetchOne(
      db.cachedStatement(sql: "SELECT copy FROM strata_remote_copies WHERE account = ? AND url = ?"),
      arguments: [account, url])
    // `try?` ignores cached headers that this version of the library cannot decode. An unconditional request is then
    // sent.
    return data.flatMap { try? JSONDecoder().decode(HTTPCopy.self, from: $0) }
  }

  /// Caches the header fields of a response, unless header fields from a later request are already cached.
  ///
  /// - Parameter number: the number of the request.
  static func save(
    _ copy: HTTPCopy, account: String, url: String, _ entity: MappedEntity, number: Int64, _ db: Database
  ) throws {
    try db.execute(
      cached: """
        INSERT INTO strata_remote_copies VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, url) DO UPDATE
        SET copy = excluded.copy, applied = excluded.applied WHERE excluded.applied > applied
        """, [account, url, entity.name, try JSONEncoder().encode(copy), number])
  }

  /// Deletes the cached response headers for a URL, unless they are from a later request.
  ///
  /// - Parameter number: the number of the request.
  static func forget(account: String, url: String, number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE account = ? AND url = ? AND applied <= ?", [account, url, number])
  }

  /// Deletes the cached response headers for a URL in all accounts, after a change was sent to that URL (RFC 9111,
  /// section 4.4).
  static func forget(url: String, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_copies WHERE url = ?", [url])
  }

  static func forget(_ entity: MappedEntity, _ db: Database) throws {
    try db.execute(cached: "DELETE FROM strata_remote_copies WHERE entity = ?", [entity.name])
    try noteForgotten(entity, db)
  }

  /// Returns how often the cached response headers of an entity have been deleted. If this number changes while a request runs, rows
  /// have changed in the meantime. The response's headers are then not cached, because a later 304 would wrongly confirm the changed
  /// rows.
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

  /// Deletes the cached response headers of an entity, and of entities that refer to it, after a record was deleted. Other responses
  /// may also have contained the record, and its deletion may have deleted or changed rows of other entities through foreign keys.
  static func forgetDeleted(_ entity: MappedEntity, _ catalog: RemoteCatalog, _ db: Database) throws {
    var (numbers, waiting): (Set<Int>, [MappedEntity]) = ([entity.number], [entity])
    while let next = waiting.popLast() {
      try forget(next, db)
      waiting += catalog.entities.filter { other in
        other.fields.contains { $0.target == next.number } && numbers.insert(other.number).inserted
      }
    }
  }

  /// Deletes the cached response headers of an entity for all URLs except the given one, after a response from that URL
  /// has changed rows of the entity.
  static func forget(_ entity: MappedEntity, except url: String, account: String, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE entity = ? AND NOT (url = ? AND account = ?)",
      [entity.name, url, account])
    try noteForgotten(entity, db)
  }

  /// Deletes an entity's cached response headers for all requests that were made after the given one. The response to the given request
  /// arrived late and has changed rows that the later responses describe.
  static func forget(_ entity: MappedEntity, after number: Int64, _ db: Database) throws {
    try db.execute(
      cached: "DELETE FROM strata_remote_copies WHERE entity = ? AND applied > ?", [entity.name, number])
  }

  /// Deletes all cached response headers if the mapping of entities to JSON has changed. Otherwise a 304 response would keep the client
  /// from receiving newly mapped properties.
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

  /// Deletes the cached response headers of an entity if some of its rows are missing although no deletion was
  /// recorded. Otherwise the server could respond with 304 (Not Modified), and the rows would not be restored.
  static func checkRows(_ entity: MappedEntity, _ db: Database) throws {
    let isMissing = try db.exists(
      """
      SELECT 1 FROM strata_remote_records AS r WHERE r.entity = ?1
        AND NOT EXISTS (SELECT 1 FROM \(entity.quotedTable) AS t WHERE t.\(entity.keyColumn.quotedDatabaseIdentifier) = r.record)
        AND NOT EXISTS (SELECT 1 FROM strata_remote_changes AS c WHERE c.entity = ?1 AND c.record = r.record)
      """, [entity.name])
    if isMissing { try forget(entity, db) }
  }
}
