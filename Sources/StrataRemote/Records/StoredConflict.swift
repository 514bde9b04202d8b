internal import GRDB
internal import StrataCore
internal import StrataStore

/// A conflict that is stored in the database, together with the current local value.
struct StoredConflict {
  private let number: Int64
  private let account: String
  private let catalog: RemoteCatalog
  private let entity: MappedEntity
  private let field: MappedEntity.Field
  private let record: DatabaseValue
  private let part: ValuePart
  private let path: String
  private let base: DatabaseValue
  private let server: DatabaseValue
  private let local: DatabaseValue

  /// Reads a row of the conflict table. Returns `nil` if the record no longer exists, or if its entity or column is no longer mapped.
  init?(_ row: Row, _ catalog: RemoteCatalog, _ db: Database) throws {
    guard let entity = catalog[row["entity"]], let field = entity.field(column: row["field"]) else { return nil }
    let record: DatabaseValue = row["record"]
    guard let values = try entity.row(record, db) else { return nil }
    self.catalog = catalog
    self.entity = entity
    self.field = field
    self.record = record
    number = row["number"]
    account = row["account"]
    part = try ValuePart(text: row["part"])
    path = row["path"]
    base = row["base"]
    server = row["server"]
    local = values[field.slot]
  }

  var shown: RemoteConflict {
    get throws {
      try RemoteConflict(
        number: number, account: account, entity: entity.name, record: record.text ?? "", key: field.key, path: path,
        base: value(base), local: value(local), server: value(server))
    }
  }

  private func value(_ stored: DatabaseValue) throws -> ArchiveValue {
    guard case .attribute(let place) = field.source else { return stored.text.map { .string($0) } ?? .null }
    return try part.value(of: entity.value(stored, place)) ?? .null
  }

  func resolve(_ resolution: RemoteConflict.Resolution, _ db: Database) throws {
    let changes = try LocalChanges(db)
    switch resolution {
    case .local: break
    case .server:
      try checkTarget(db)
      try entity.set(field.column, of: record, to: entity.replacing(part, of: local, in: field, by: server), db)
    case .value(let value):
      guard case .attribute(let place) = field.source else {
        throw RemoteError(
          .store,
          "a conflict between two references cannot be resolved with a value; use .local or .server",
          entity: entity.name)
      }
      let new = try entity.stored(part.replaced(in: entity.value(local, place), with: value), place)
      try entity.set(field.column, of: record, to: new, db)
    }
    try db.execute(cached: "DELETE FROM strata_remote_conflicts WHERE number = ?", [number])
    let now = try entity.row(record, db)?[field.slot]
    if now?.isExactly(server) ?? true { try changes.setBase(entity, record, field.column, nil) }
    try changes.settle(entity, record)
    // The change may have been delayed until the conflict was resolved, so the delay is removed.
    try UnsentChange.clearDelay(entity, record, db)
  }

  /// Throws an error with the code `store` if the server's value is a reference to a record that does not exist
  /// locally.
  private func checkTarget(_ db: Database) throws {
    guard let number = field.target, let target = catalog.entity(ofType: number), !server.isNull else { return }
    guard try target.row(server, db) == nil else { return }
    throw RemoteError(
      .store,
      "the conflict cannot be resolved with .server because the server's value refers to a record that does "
        + "not exist locally; use .local, or discard the deletion of that record",
      entity: entity.name)
  }
}
