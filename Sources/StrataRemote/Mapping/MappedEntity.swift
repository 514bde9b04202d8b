internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A mapper that has been checked against the model and the table of its entity.
struct MappedEntity: Sendable {
  /// A column whose values are read from JSON or written to JSON.
  struct Field: Sendable {
    /// The property that the column stores, as an index into the entity's attributes or relations.
    enum Source: Sendable, Hashable {
      case attribute(Int)
      case relation(Int)
    }

    let source: Source
    let slot: Int
    let column: String
    let key: String
    /// Whether local changes to the column are sent to the server.
    let isSent: Bool
    /// The number of the entity whose primary key the column contains, or `nil` if the column does not refer to an
    /// entity.
    let target: Int?
    /// For a relation, the JSON path of the related record's id, or of the nested record; `nil` for an attribute.
    let referencePath: ValuePath?
  }

  let mapper: EntityMapper
  let adapter: any EntityAdapter
  /// Decodes response bodies in a format other than plain JSON; `nil` for plain JSON.
  let decoder: (@Sendable (Data) throws -> ArchiveValue)?
  /// The number of the entity in the store's catalog.
  let number: Int
  let type: EntityType
  let table: EntityTable
  /// The primary key, as the index of its column in the table (`slot`) and the index of its attribute in the entity's
  /// attributes.
  let key: (slot: Int, attribute: Int)
  /// The server's id, as the index of its column in the table (`slot`) and the index of its attribute in the entity's
  /// attributes.
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

  /// The key of the model's property that holds the server's id.
  var idKey: String { type.schema.fields[type.attributes[id.attribute].place].key }

  /// Converts the value of an attribute to the database value that is stored in the attribute's column.
  func stored(_ value: ArchiveValue, _ attribute: Int) throws -> DatabaseValue {
    try type.stored(value, type.attributes[attribute], in: table)
  }

  func value(_ stored: DatabaseValue, _ attribute: Int) throws -> ArchiveValue {
    try type.value(of: type.attributes[attribute], stored, in: table)
  }

  var quotedTable: String { table.name.quotedDatabaseIdentifier }
  var keyColumn: String { table.columns[key.slot].name }
  var idColumn: String { table.columns[id.slot].name }

  /// Returns a record's stored server id as text for a URL path, or `nil` if the id is null.
  func idText(_ stored: DatabaseValue) throws -> String? {
    try text(of: id.attribute, stored)
  }

  /// Returns a field's stored value as text for a URL path, or `nil` if there is no value. For a relation, the text is the related
  /// record's server id.
  func text(of field: Field, _ stored: DatabaseValue, _ catalog: RemoteCatalog, _ db: Database) throws -> String? {
    switch field.source {
    case .attribute(let place): return try text(of: place, stored)
    case .relation:
      guard let target = field.target.flatMap({ catalog.entity(ofType: $0) }) else { return nil }
      // If the server's id is the primary key, the foreign key already contains it. The related row is then not needed, and it may have
      // been deleted locally.
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

  /// Returns the values of the record's row in the order of the table's columns, or `nil` if the table does not contain
  /// the record.
  ///
  /// - Parameter record: the primary key of the record.
  func row(_ record: DatabaseValue, _ db: Database) throws -> [DatabaseValue]? {
    let sql = "SELECT \(table.selection) FROM \(quotedTable) AS t WHERE t.\(table.quoted(key.slot)) = ?"
    return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [record]).map { table.values($0) }
  }
}
