public import GRDB

/// A report of the rows that a migration or a dry run has read, with their changes and failures.
public struct EntityMigrationReport: Sendable {
  /// The results of a migration or a dry run for one table.
  public struct Table: Sendable {
    /// The name of the table.
    public let name: String
    /// The registered name of the model.
    public let entity: String
    /// The lowest model version of the rows before the migration.
    public let fromVersion: Int
    /// The current version of the model.
    public let toVersion: Int
    /// The number of rows that were read.
    public internal(set) var rows = 0
    /// The number of rows in which a column changed.
    public internal(set) var changedRows = 0
    /// The number of changed values, by column.
    public internal(set) var changedColumns: [String: Int] = [:]
    /// Sample changes, at most three per column.
    public internal(set) var samples: [Sample] = []
    /// The errors of the first 100 rows that cannot be migrated. Always empty after a completed migration, because a migration
    /// stops at the first such row.
    public internal(set) var failures: [EntityError] = []
    /// The number of failures beyond the first 100.
    public internal(set) var omittedFailures = 0

    mutating func add(_ row: [DatabaseValue], _ changes: [RowUpgrader.Change], _ table: EntityTable) {
      rows += 1
      if !changes.isEmpty { changedRows += 1 }
      for (slot, value) in changes {
        let column = table.columns[slot].name
        changedColumns[column, default: 0] += 1
        guard changedColumns[column] ?? 0 <= 3 else { continue }
        samples.append(
          Sample(primaryKey: table.primaryKey.map { row[$0] }, column: column, before: row[slot], after: value))
      }
    }

    mutating func add(_ failure: EntityError) {
      rows += 1
      if failures.count < 100 { failures.append(failure) } else { omittedFailures += 1 }
    }
  }

  /// An example of a changed value: the value of one column in one row, before and after the migration.
  public struct Sample: Sendable, Hashable {
    /// The primary key of the row.
    public let primaryKey: [DatabaseValue]
    /// The name of the column.
    public let column: String
    /// The value before the migration.
    public let before: DatabaseValue
    /// The value after the migration.
    public let after: DatabaseValue
  }

  /// The tables that have rows to migrate.
  public internal(set) var tables: [Table] = []
}

extension EntityMigrationReport: CustomStringConvertible {
  /// One line per table, such as `person 1 → 3: 10 of 12 rows changed, 1 failed`.
  public var description: String {
    guard !tables.isEmpty else { return "nothing to migrate" }
    return tables.map { table in
      let failed = table.failures.count + table.omittedFailures
      return
        "\(table.name) \(table.fromVersion) → \(table.toVersion): \(table.changedRows) of \(table.rows) rows changed"
        + (failed > 0 ? ", \(failed) failed" : "")
    }.joined(separator: "\n")
  }
}
