public import GRDB
public import StrataCore

/// A model that is kept in a table, a row an object.
///
/// It is a `TableRecord` and a `FetchableRecord` of GRDB, so the query interface, associations and observation take it. ``EntityStore``
/// saves and reads it with its relations. Docs/Entities.md is the guide.
public protocol Entity: VersionedModel, TableRecord, FetchableRecord {
  /// How the model is kept. A `static let`, made once.
  static var entityMapping: EntityMapping { get }
}

extension Entity {
  /// The table of the mapping.
  public static var databaseTableName: String { entityMapping.table }

  /// Makes the model of a row, for entities without relations.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` where a column is missing or holds what its property cannot be,
  ///   `invalidMapping` for an entity with relations, which ``EntityStore`` reads.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

// A model that is Decodable, too, would have two of it.
extension Entity where Self: Decodable {
  /// Makes the model of a row, for entities without relations.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` where a column is missing or holds what its property cannot be,
  ///   `invalidMapping` for an entity with relations, which ``EntityStore`` reads.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

/// The columns of a row, by name.
public struct EntityRow: Sendable {
  let table: String
  let values: [String: DatabaseValue]

  /// The value of a column.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` where there is no such column among those that mappings name, or where it
  ///   holds something else.
  public func value<V: DatabaseValueConvertible>(_ type: V.Type = V.self, in column: String) throws -> V {
    guard let stored = values[column.lowercased()], let value = V.fromDatabaseValue(stored) else {
      throw EntityError(
        .notReadable, "the column is not among those of the mapping, or is no \(V.self)", table: table,
        columns: [column])
    }
    return value
  }
}
