internal import GRDB
public import StrataCore

/// The column of a key in older versions of a model; see ``EntityMigrator/register(_:unrecorded:columns:)``.
public struct FormerColumn: Sendable {
  let column: EntityColumn
  /// The first version in which the property has another column or another type.
  let version: Int
  /// The type of the property in the older versions; `nil` to read the value as SQLite has it.
  private let type: Any.Type?

  /// A column with the values of a property of a type.
  ///
  /// - Parameter version: the first version in which the property has another column or another type.
  public init<T: Archivable & SendableMetatype>(_ type: T.Type, in column: EntityColumn, before version: Int) {
    (self.type, self.column, self.version) = (type, column, version)
  }

  /// A column whose values are read as SQLite has them, for instance a foreign key.
  public init(in column: EntityColumn, before version: Int) {
    (type, self.column, self.version) = (nil, column, version)
  }

  func coding(_ affinity: ColumnAffinity) throws -> ColumnCoding {
    try type.map { try ColumnCoding($0, column.form, affinity) } ?? ColumnCoding(.unconverted, affinity)
  }
}
