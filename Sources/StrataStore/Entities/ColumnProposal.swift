internal import GRDB
internal import StrataCore

/// The statements that add the columns which mappings name and existing tables lack.
struct ColumnProposal {
  private let db: Database
  private(set) var statements: [String] = []
  private var known: Set<ObjectIdentifier> = []

  init(_ db: Database) { self.db = db }

  /// Adds the columns of an entity, and of those that its relations refer to.
  mutating func add(_ type: any Entity.Type) throws {
    guard known.insert(ObjectIdentifier(type)).inserted else { return }
    let mapping = type.entityMapping
    for field in type.schema.fields where !field.isLibraryField {
      if let relation = mapping.relations[field.key] {
        guard let target = EntityCatalogBuilder.shape(of: field.type).element as? any Entity.Type else { continue }
        try add(relation, mapping.table, target.entityMapping.table)
        try add(target)
      } else {
        let column = mapping.columns[field.key]
        guard let name = column?.name ?? (column == nil && field.archive != .excluded ? field.key : nil) else {
          continue
        }
        let coding = try ColumnCoding(field.type, column?.form ?? .automatic, .none)
        try add(name, Self.type(of: coding.kind), to: mapping.table)
      }
    }
  }

  private mutating func add(_ relation: EntityRelation, _ own: String, _ target: String) throws {
    switch relation.kind {
    case .toOne(let column, let referenced): try add(column, reference(to: target, referenced), to: own)
    case .toMany(let foreignKey, let referenced, let order, _):
      try add(foreignKey, reference(to: own, referenced), to: target)
      if case .column(let name)? = order { try add(name, "INTEGER", to: target) }
    case .through(let table, _, _, let order, _):
      if case .column(let name)? = order { try add(name, "INTEGER", to: table) }
    }
  }

  private mutating func add(_ column: String, _ declaration: String, to table: String) throws {
    guard try db.tableExists(table) else {
      throw EntityError(
        .invalidMapping, "there is no such table; make it with the app's migrations first", table: table)
    }
    let statement =
      "ALTER TABLE \(table.quotedDatabaseIdentifier) ADD COLUMN \(column.quotedDatabaseIdentifier) \(declaration)"
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(?) WHERE lower(name) = lower(?))"
    guard try Bool.fetchOne(db, sql: sql, arguments: [table, column]) == false, !statements.contains(statement) else {
      return
    }
    statements.append(statement)
  }

  /// The declaration of a foreign key.
  private func reference(to table: String, _ column: String?) throws -> String {
    let primaryKey = try db.tableExists(table) ? db.primaryKey(table).columns.first : nil
    guard let column = column ?? primaryKey else { return "" }
    let sql = "SELECT type FROM pragma_table_xinfo(?) WHERE lower(name) = lower(?)"
    let type = try String.fetchOne(db, sql: sql, arguments: [table, column]) ?? "INTEGER"
    return
      "\(type.isEmpty ? "" : type + " ")REFERENCES \(table.quotedDatabaseIdentifier) (\(column.quotedDatabaseIdentifier))"
  }

  private static func type(of kind: ColumnCoding.Kind) -> String {
    switch kind {
    case .bool: "BOOLEAN"
    case .integer, .date(.millisecondsSince1970): "INTEGER"
    case .float, .double, .date(.secondsSince1970): "DOUBLE"
    case .string, .url, .decimal, .json: "TEXT"
    case .date(.text), .date(.iso8601): "DATETIME"
    case .data, .uuid, .archive, .unconverted: "BLOB"
    case .transform(_, let kind): type(of: kind)
    }
  }
}
