public import GRDB
public import StrataCore

/// A model stored in a table, one row per object.
///
/// It is a `TableRecord` and a `FetchableRecord` of GRDB, so it works with the query interface, associations and observation.
/// ``EntityStore`` saves and reads it with its relations. Docs/Entities.md is the guide.
public protocol Entity: VersionedModel, TableRecord, FetchableRecord {
  /// The mapping of the model to its table. Declare it as a `static let`, so that it is created once.
  static var entityMapping: EntityMapping { get }
}

extension Entity {
  /// The table of the mapping.
  public static var databaseTableName: String { entityMapping.table }

  /// Creates the model from a row, for entities without relations.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if a column is missing or holds a value that its property
  ///   cannot represent, `invalidMapping` if the entity has relations: fetch it with ``EntityStore``.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

// Resolves the ambiguity with GRDB's `init(row:)` for types that are also Decodable.
extension Entity where Self: Decodable {
  /// Creates the model from a row, for entities without relations.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if a column is missing or holds a value that its property
  ///   cannot represent, `invalidMapping` if the entity has relations: fetch it with ``EntityStore``.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

/// The columns of a row, by name.
public struct EntityRow: Sendable {
  let table: String
  let values: [String: DatabaseValue]

  /// The value of a column.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if no mapping names the column, or if its value is not a `V`.
  public func value<V: DatabaseValueConvertible>(_ type: V.Type = V.self, in column: String) throws -> V {
    guard let stored = values[column.lowercased()], let value = V.fromDatabaseValue(stored) else {
      throw EntityError(
        .notReadable, "the column is not in the mapping, or its value is not of type \(V.self)", table: table,
        columns: [column])
    }
    return value
  }
}
