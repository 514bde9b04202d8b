internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A mapper that has been checked against its entity and table.
struct MappedEntity: Sendable {
  /// A column that is read from or written to JSON.
  struct Field: Sendable {
    /// The index among the entity's attributes, or among its relations.
    enum Source: Sendable, Hashable {
      case attribute(Int)
      case relation(Int)
    }

    let source: Source
    let slot: Int
    let column: String
    /// The key of the property.
    let key: String
    /// Whether changes of it are sent.
    let isSent: Bool
    /// The number of the entity whose key the column holds; `nil` for any other column.
    let target: Int?
    /// The JSON path of a relation, at which JSON has an id or a nested object; `nil` for an attribute.
    let referencePath: ValuePath?
  }

  let mapper: EntityMapper
  let adapter: any EntityAdapter
  /// Reads bodies that are not JSON of the usual form.
  let decoder: (@Sendable (Data) throws -> ArchiveValue)?
  /// The number of the entity in the store's catalog.
  let number: Int
  let type: EntityType
  let table: EntityTable
  /// The slot of the primary key, and the attribute that holds it.
  let key: (slot: Int, attribute: Int)
  /// The slot of the server's id, and the attribute that holds it.
  let id: (slot: Int, attribute: Int)
  /// The columns that are read from or written to JSON, except the primary key and the server's id.
  let fields: [Field]
  let paths: EntityPaths
  var name: String { mapper.name }
  /// The components of the path of the list.
  var path: [String] { mapper.path.split(separator: "/").map(String.init) }
  /// Whether the server's id is the primary key.
  var idIsKey: Bool { key.slot == id.slot }

  func field(column: String) -> Field? { fields.first { $0.column == column } }

  /// The key of the property that holds the server's id.
  var idKey: String { type.schema.fields[type.attributes[id.attribute].place].key }

  /// The stored form of an attribute's value.
  func stored(_ value: ArchiveValue, _ attribute: Int) throws -> DatabaseValue {
    try type.stored(value, type.attributes[attribute], in: table)
  }

  func value(_ stored: DatabaseValue, _ attribute: Int) throws -> ArchiveValue {
    try type.value(of: type.attributes[attribute], stored, in: table)
  }

  var quotedTable: String { table.name.quotedDatabaseIdentifier }
  var keyColumn: String { table.columns[key.slot].name }
  var idColumn: String { table.columns[id.slot].name }

  /// The server's id as it occurs in a URL path; `nil` if the column is null.
  func idText(_ stored: DatabaseValue) throws -> String? {
    try text(of: id.attribute, stored)
  }

  /// A field's value as it occurs in a URL path: the server's id of the record that it refers to, or the value itself;
  /// `nil` if there is none.
  func text(of field: Field, _ stored: DatabaseValue, _ catalog: RemoteCatalog, _ db: Database) throws -> String? {
    switch field.source {
    case .attribute(let place): return try text(of: place, stored)
    case .relation:
      guard let target = field.target.flatMap({ catalog.entity(ofType: $0) }) else { return nil }
      // The record may have been deleted locally, so the id is read without its row if possible.
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
        .invalidConfiguration, "a path can hold text, a number, a URL or a UUID; found \(other.kind)", entity: name)
    }
  }

  /// The row of a record, by slot; `nil` if it does not exist.
  func row(_ record: DatabaseValue, _ db: Database) throws -> [DatabaseValue]? {
    let sql = "SELECT \(table.selection) FROM \(quotedTable) AS t WHERE t.\(table.quoted(key.slot)) = ?"
    return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [record]).map { table.values($0) }
  }
}
