internal import GRDB
internal import StrataCore

/// Proposes an `ALTER TABLE` statement that adds a field's missing column to the table. `statement` is `nil` if the table already has
/// the column, or if the field needs no column.
struct ColumnProposal {
  let statement: String?

  init(_ field: FieldInfo, of type: any Entity.Type, _ db: Database) throws {
    let mapping = type.entityMapping, column = mapping.columns[field.key]
    var name = column?.name ?? (column == nil && field.archive != .excluded ? field.key : nil)
    var declaration = ""
    switch mapping.relations[field.key]?.cardinality {
    case nil where !field.isLibraryField:
      declaration = Self.declaration(of: try ColumnCoding(field.type, column?.form ?? .automatic, .none).conversion)
    case .toOne(let foreignKey, let references):
      name = foreignKey
      guard let target = TypeShape.unwrapped(field.type) as? any Entity.Type else { break }
      let table = target.entityMapping.table
      let referenced = try references ?? db.primaryKey(table).columns[0]
      let type = try db.columns(in: table).first { $0.name.lowercased() == referenced.lowercased() }?.type ?? "INTEGER"
      declaration = "\(type) REFERENCES \(table.quotedDatabaseIdentifier) (\(referenced.quotedDatabaseIdentifier))"
    case nil, .toMany, .through: name = nil
    }
    let names = try db.columns(in: mapping.table).map { $0.name.lowercased() }
    statement = name.flatMap { name in
      names.contains(name.lowercased())
        ? nil
        : "ALTER TABLE \(mapping.table.quotedDatabaseIdentifier) ADD COLUMN \(name.quotedDatabaseIdentifier) \(declaration)"
    }
  }

  private static func declaration(of conversion: ColumnCoding.Conversion) -> String {
    switch conversion {
    case .bool: "BOOLEAN"
    case .integer, .date(.millisecondsSince1970): "INTEGER"
    case .float, .double, .date(.secondsSince1970): "DOUBLE"
    case .string, .url, .decimal, .json: "TEXT"
    case .date: "DATETIME"
    case .data, .uuid, .archive, .unconverted: "BLOB"
    case .transform(_, let inner): declaration(of: inner)
    }
  }
}
