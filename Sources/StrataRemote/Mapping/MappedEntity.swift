internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A mapper that has been checked against its entity and table.
struct MappedEntity: Sendable {
  /// A column that is read from or written to JSON.
  struct Field: Sendable {
    /// The source of the column's value: an index into the entity's attributes or into its relations.
    enum Source: Sendable, Hashable {
      case attribute(Int)
      case relation(Int)
    }

    let source: Source
    let slot: Int
    let column: String
    /// The key of the property.
    let key: String
    /// Whether changes of the column are sent.
    let isSent: Bool
    /// The number of the entity to whose primary key the column refers; `nil` for any other column.
    let target: Int?
    /// For a relation, the path at which the JSON has an id or a nested object; `nil` for an attribute.
    let referencePath: ValuePath?
  }

  let mapper: EntityMapper
  let adapter: any EntityAdapter
  /// Reads bodies that are not JSON in the usual form.
  let decoder: (@Sendable (Data) throws -> ArchiveValue)?
  /// The number of the entity in the store's catalog.
  let number: Int
  let type: EntityType
  let table: EntityTable
  /// The slot of the primary key, and the index of the attribute that holds it.
  let key: (slot: Int, attribute: Int)
  /// The slot of the server's id, and the index of the attribute that holds it.
  let id: (slot: Int, attribute: Int)
  /// The columns that are read from or written to JSON, except the primary key and the server's id.
  let fields: [Field]
  let paths: EntityPaths
  var name: String { mapper.name }
  /// The components of the list's path.
  var path: [String] { mapper.path.split(separator: "/").map(String.init) }
  /// Whether the server's id is the primary key.
  var idIsKey: Bool { key.slot == id.slot }

  func field(column: String) -> Field? { fields.first { $0.column == column } }

  /// The key of the property that holds the server's id.
  var idKey: String { type.schema.fields[type.attributes[id.attribute].place].key }

  /// Converts an attribute's value to the form in which the table stores it.
  func stored(_ value: ArchiveValue, _ attribute: Int) throws -> DatabaseValue {
    try type.stored(value, type.attributes[attribute], in: table)
  }

  func value(_ stored: DatabaseValue, _ attribute: Int) throws -> ArchiveValue {
    try type.value(of: type.attributes[attribute], stored, in: table)
  }

  var quotedTable: String { table.name.quotedDatabaseIdentifier }
  var keyColumn: String { table.columns[key.slot].name }
  var idColumn: String { table.columns[id.slot].name }

  /// Returns the server's id as it appears in a URL path; `nil` if the column is null.
  func idText(_ stored: DatabaseValue) throws -> String? {
    try text(of: id.attribute, stored)
  }

  /// Returns a field's value as it appears in a URL path: the server's id of the referenced record, or the value itself
  /// if the field is an attribute; `nil` if there is no value.
  func text(of field: Field, _ stored: DatabaseValue, _ catalog: RemoteCatalog, _ db: Database) throws -> String? {
    switch field.source {
    case .attribute(let place): return try text(of: place, stored)
    case .relation:
      guard let target = field.target.flatMap({ catalog.entity(ofType: $0) }) else { return nil }
      // The referenced record may have been deleted locally, so the id is read without the row if possible.
      if target.idIsKey { return try target.idText(stored) }
      return try target.row(stored, db).flatMap { try target.idText($0[target.id.slot]) }
    }
  }

  private func text(of attribute: Int, _ stored: DatabaseValue) throws -> String? {
    guard !stored.isNull else { return nil }
    switch try value(stored, attribute) {
    case .string(let text): return text
    case .url(let url): return url.absoluteString
    case .uuid(let uuid): return uuid.uuidString.lowercased()
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    case let other:
      throw RemoteError(
        .invalidConfiguration,
        "a value in a path must be text, a number, a URL or a UUID; found \(other.kind)", entity: name)
    }
  }

  /// Returns the row of a record, by slot; `nil` if the row does not exist.
  func row(_ record: DatabaseValue, _ db: Database) throws -> [DatabaseValue]? {
    let sql = "SELECT \(table.selection) FROM \(quotedTable) AS t WHERE t.\(table.quoted(key.slot)) = ?"
    return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [record]).map { table.values($0) }
  }
}
