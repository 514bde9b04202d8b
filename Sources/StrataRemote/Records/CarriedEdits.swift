internal import GRDB
internal import StrataCore
internal import StrataStore

/// Moves edits from an older app release to the columns of the current release.
///
/// Stored edits refer to columns by name. If an app update has renamed a column, the old column's edits are moved to the new one, which
/// the model's migration and `formerly` identify. Values that the migration converts are converted in the edits too. If an edited
/// property no longer exists, `run` throws an error that names its column.
struct CarriedEdits {
  private let entity: MappedEntity
  private let db: Database

  static func run(_ catalog: RemoteCatalog, _ db: Database) throws {
    for entity in catalog.entities { try CarriedEdits(entity: entity, db: db).run() }
  }

  /// A description of the app release that wrote the edits: the model version, and the property key of each column.
  private struct Known {
    var version: Int?
    var keys: [String: String] = [:]
  }

  private func run() throws {
    let known = try known()
    for column in try columns() where entity.field(column: column) == nil || isUpgraded(since: known) {
      try carry(column, known)
    }
    let lines = entity.fields.map { "\($0.column)\n\($0.key)" }
    try db.execute(
      sql: "INSERT OR REPLACE INTO strata_remote_meta VALUES (?, ?)",
      arguments: [meta, (["\(entity.type.schema.modelVersion)"] + lines).joined(separator: "\n")])
  }

  private var meta: String { "columns/" + entity.name }

  private func known() throws -> Known {
    var known = Known()
    let text = try String.fetchOne(db, sql: "SELECT value FROM strata_remote_meta WHERE name = ?", arguments: [meta])
    let lines = text?.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) ?? []
    known.version = lines.first.flatMap { Int($0) }
    for place in stride(from: 1, to: lines.count - 1, by: 2) { known.keys[lines[place]] = lines[place + 1] }
    return known
  }

  private func isUpgraded(since known: Known) -> Bool {
    known.version.map { $0 < entity.type.schema.modelVersion } ?? false
  }

  /// Returns the names of the columns for which edits, conflicts or sent values are stored.
  private func columns() throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT field FROM strata_remote_edits WHERE entity = ?1
        UNION SELECT field FROM strata_remote_conflicts WHERE entity = ?1
        UNION SELECT s.field FROM strata_remote_sent AS s JOIN strata_remote_changes AS c ON c.number = s.number
          WHERE c.entity = ?1
        """, arguments: [entity.name])
  }

  private func carry(_ column: String, _ known: Known) throws {
    let schema = entity.type.schema
    var key = known.keys[column] ?? column
    var conversions: [MigrationOperation] = []
    for step in schema.migration?.steps ?? [] where known.version.map({ step.fromVersion >= $0 }) ?? true {
      for operation in step.operations { try follow(operation, &key, &conversions) }
    }
    let field =
      entity.fields.first { $0.key == key }
      ?? entity.fields.first { field in schema.fields.contains { $0.key == field.key && $0.formerly.contains(key) } }
    guard let field else {
      throw RemoteError(
        .store,
        "an unsent edit refers to the column “\(column)”, which is no longer mapped to a property; send the "
          + "edits before the migration, or declare the former key “\(key)” with 'formerly' or in a step that "
          + "renames it",
        entity: entity.name)
    }
    // If the model version of the stored values is unknown, it is also unknown which conversions they need, so none are
    // applied.
    if known.version != nil, !conversions.isEmpty { try convert(column, field, conversions) }
    guard field.column != column else { return }
    for table in ["edits", "conflicts"] {
      try db.execute(
        sql: "UPDATE OR REPLACE strata_remote_\(table) SET field = ? WHERE entity = ? AND field = ?",
        arguments: [field.column, entity.name, column])
    }
    try db.execute(
      sql: "UPDATE OR REPLACE strata_remote_sent SET field = ? WHERE field = ? AND \(Self.ofEntity)",
      arguments: [field.column, column, entity.name])
  }

  private static let ofEntity = "number IN (SELECT number FROM strata_remote_changes WHERE entity = ?)"

  /// Follows the property with the given key through one migration operation. If the operation renames the property,
  /// `key` is replaced. If it converts the property's value, the operation is appended to `conversions`.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if the operation drops the property or moves its value, so that
  ///   the edits cannot be kept.
  private func follow(_ operation: MigrationOperation, _ key: inout String, _ conversions: inout [MigrationOperation])
    throws
  {
    switch operation {
    case .rename(key, let new, _): key = new
    case .convert(let path, _) where path == ValuePath(key: key),
      .replaceNull(let path, _) where path == ValuePath(key: key):
      conversions.append(operation)
    case .move(let path, _, _, _) where path.firstKey == key, .drop(let path) where path.firstKey == key:
      throw RemoteError(
        .store,
        "the migration would discard the unsent edit of “\(key)” (\(operation)); send the edits before the migration",
        entity: entity.name)
    case .optional(let inner): try follow(inner, &key, &conversions)
    case .rename, .convert, .replaceNull, .move, .drop, .setDefault, .custom: break
    }
  }

  /// Converts all stored values of a column: the merge bases of edits, the sent values, and the base and server values
  /// of conflicts.
  private func convert(_ column: String, _ field: MappedEntity.Field, _ conversions: [MigrationOperation]) throws {
    guard case .attribute(let place) = field.source else { return }
    func converted(_ stored: DatabaseValue) throws -> DatabaseValue {
      var value = stored.archiveValue
      for operation in conversions {
        guard let key = operation.key else { continue }
        var record = ModelRecord(typeName: entity.type.schema.name, modelVersion: 0, fields: [(key, value)])
        _ = try operation.apply(to: &record, isComplete: false)
        value = record[key] ?? .null
      }
      return try entity.stored(value, place)
    }
    func convert(_ table: String, _ value: String, _ condition: String) throws {
      let rows = try Row.fetchAll(
        db, sql: "SELECT DISTINCT \(value) FROM strata_remote_\(table) WHERE field = ? AND \(condition)",
        arguments: [column, entity.name])
      // A single statement replaces all values. With one statement per value, a converted value that is the same as another original
      // value would be converted a second time.
      let pairs = try rows.map { ($0[0] as DatabaseValue, try converted($0[0])) }.filter { !$0.isExactly($1) }
      guard !pairs.isEmpty else { return }
      let cases = pairs.map { _ in "WHEN ? THEN ?" }.joined(separator: " ")
      try db.execute(
        sql:
          "UPDATE strata_remote_\(table) SET \(value) = CASE \(value) \(cases) ELSE \(value) END WHERE field = ? AND \(condition)",
        arguments: StatementArguments(pairs.flatMap { [$0.0, $0.1] }) + [column, entity.name])
    }
    try convert("edits", "base", "entity = ?")
    try convert("sent", "value", Self.ofEntity)
    try convert("conflicts", "base", "entity = ?")
    try convert("conflicts", "server", "entity = ?")
  }
}

extension MigrationOperation {
  /// The key of the property whose value the operation converts, or `nil` if it converts no value.
  fileprivate var key: String? {
    switch self {
    case .convert(let path, _), .replaceNull(let path, _): path.firstKey
    case .optional(let inner): inner.key
    case .rename, .move, .drop, .setDefault, .custom: nil
    }
  }
}
