public import GRDB
public import StrataCore

/// A model that is stored in a table, with one row per object.
///
/// An entity is also a `TableRecord` and a `FetchableRecord`, so it works with GRDB's query interface, associations and
/// observation. An ``EntityStore`` saves and reads entities with their relations. See the guide in Docs/Entities.md.
public protocol Entity: VersionedModel, TableRecord, FetchableRecord {
  /// The mapping of the model to its table. Declare it as a `static let`, so that it is created only once instead of on every access.
  static var entityMapping: EntityMapping { get }
}

extension Entity {
  /// The name of the table, as declared in ``entityMapping``.
  public static var databaseTableName: String { entityMapping.table }

  /// Creates the model from a row. To fetch an entity that has relations, use ``EntityStore`` instead.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if a column is missing or has a value that its property cannot
  ///   represent, or with the code `invalidMapping` if the entity has relations.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

// GRDB also declares an `init(row:)` for `Decodable` types. Without this overload, calls of `init(row:)` on a `Decodable` entity
// would be ambiguous.
extension Entity where Self: Decodable {
  /// Creates the model from a row. To fetch an entity that has relations, use ``EntityStore`` instead.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if a column is missing or has a value that its property cannot
  ///   represent, or with the code `invalidMapping` if the entity has relations.
  public init(row: Row) throws { self = try EntityRowCoding.model(Self.self, of: row) }
}

/// The values of a row, by column name. The `subclass` closure of an ``EntityMapping`` uses these values to choose the class of
/// the row's object.
public struct EntityRow: Sendable {
  let table: String
  let values: [String: DatabaseValue]

  /// Returns the value of a column.
  ///
  /// - Throws: ``EntityError`` with the code `notReadable` if no mapping of the table uses the column, or if its value cannot be
  ///   converted to `V`.
  public func value<V: DatabaseValueConvertible>(_ type: V.Type = V.self, in column: String) throws -> V {
    guard let stored = values[column.lowercased()], let value = V.fromDatabaseValue(stored) else {
      throw EntityError(
        .notReadable, "the column is not mapped to a property, or its value cannot be converted to the type \(V.self)",
        table: table,
        columns: [column])
    }
    return value
  }
}
