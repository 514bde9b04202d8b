internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A mapper compared with the entity and its table.
struct MappedEntity: Sendable {
  /// A column that JSON reads or writes.
  struct Field: Sendable {
    /// The place among the attributes of the entity, or among its relations.
    enum Source: Sendable, Hashable {
      case attribute(Int)
      case relation(Int)
    }

    let source: Source
    let slot: Int
    let column: String
    /// The key of the property.
    let key: String
    /// Whether it is sent.
    let isSent: Bool
    /// The entity whose key the column holds; `nil` for any other column.
    let target: Int?
    /// Where JSON has the id of the other record; `nil` for what is no reference by id.
    let referencePath: JSONPath?
  }

  let mapper: EntityMapper
  let adapter: any EntityAdapter
  /// Reads bodies that are no JSON of the usual form.
  let decoder: (@Sendable (Data) throws -> ArchiveValue)?
  /// The entity in the catalog of the store.
  let number: Int
  let type: EntityType
  let table: EntityTable
  /// The slot of the primary key, and the attribute that holds it.
  let key: (slot: Int, attribute: Int)
  /// The slot of the server's id, and the attribute that holds it.
  let id: (slot: Int, attribute: Int)
  /// The columns whose changes here are sent.
  let fields: [Field]
  let paths: EntityPaths
  var name: String { mapper.name }
  /// The components of the path of the list.
  var path: [String] { mapper.path.split(separator: "/").map(String.init) }
  /// Whether the server's id is the primary key.
  var idIsKey: Bool { key.slot == id.slot }

  func field(column: String) -> Field? { fields.first { $0.column == column } }

  var quotedTable: String { table.name.quotedDatabaseIdentifier }
  var keyColumn: String { table.columns[key.slot].name }
  var idColumn: String { table.columns[id.slot].name }

  /// The server's id as it stands in a path; `nil` where the column has none.
  func idText(_ stored: DatabaseValue) throws -> String? {
    try text(of: type.attributes[id.attribute], stored)
  }

  /// A value of a field as it stands in a path: the server's id of the record that it refers to, or the value itself; `nil` where there is
  /// none.
  func text(of field: Field, _ stored: DatabaseValue, _ catalog: RemoteCatalog, _ db: Database) throws -> String? {
    switch field.source {
    case .attribute(let place): return try text(of: type.attributes[place], stored)
    case .relation:
      guard let target = field.target.flatMap({ catalog.entity(ofType: $0) }) else { return nil }
      // The record may have been deleted here.
      if target.idIsKey { return try target.idText(stored) }
      return try target.row(stored, db).flatMap { try target.idText($0[target.id.slot]) }
    }
  }

  private func text(of attribute: EntityType.Attribute, _ stored: DatabaseValue) throws -> String? {
    guard !stored.isNull else { return nil }
    switch try type.value(of: attribute, stored, in: table) {
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

  /// The row of a record, by slot; `nil` where there is none.
  func row(_ record: DatabaseValue, _ db: Database) throws -> [DatabaseValue]? {
    let sql = "SELECT \(table.selection) FROM \(quotedTable) AS t WHERE t.\(table.quoted(key.slot)) = ?"
    return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: [record]).map { table.values($0) }
  }
}
