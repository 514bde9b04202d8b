internal import GRDB
public import StrataCore

/// The column that stored a field in older versions of a model. It is passed to
/// ``EntityMigrator/register(_:unrecorded:columns:)``.
public struct FormerColumn: Sendable {
  let column: EntityColumn
  let version: Int
  private let type: Any.Type?

  /// Creates the description of a former column.
  ///
  /// - Parameters:
  ///   - type: the type of the property in the older versions, or `nil` if the column's value needs no conversion, such as a
  ///     foreign key.
  ///   - column: the column in the older versions.
  ///   - version: the first version in which the property has a different column or type.
  public init(
    _ type: (any (Archivable & SendableMetatype).Type)? = nil, in column: EntityColumn, before version: Int
  ) {
    (self.type, self.column, self.version) = (type, column, version)
  }

  func coding(_ affinity: ColumnAffinity) throws -> ColumnCoding {
    try type.map { try ColumnCoding($0, column.form, affinity) } ?? ColumnCoding(.unconverted, affinity)
  }
}
