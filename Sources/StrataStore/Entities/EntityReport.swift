public import GRDB

/// A report of the rows that a save inserted, updated, left unchanged and deleted.
public struct EntityReport: Sendable {
  /// The row counts of one table.
  public struct Counts: Sendable, Hashable {
    /// The number of inserted rows.
    public var inserted = 0
    /// The number of updated rows.
    public var updated = 0
    /// The number of rows that already had the saved values.
    public var unchanged = 0
    /// The number of deleted rows.
    public var deleted = 0

    /// Creates row counts. Each count is 0 by default.
    public init(inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int = 0) {
      self.inserted = inserted
      self.updated = updated
      self.unchanged = unchanged
      self.deleted = deleted
    }

    fileprivate mutating func add(_ other: Counts) {
      inserted += other.inserted
      updated += other.updated
      unchanged += other.unchanged
      deleted += other.deleted
    }
  }

  /// A row that a save inserted, updated or deleted.
  public struct Change: Sendable, Hashable {
    /// The kind of change.
    public enum Kind: String, Sendable, Hashable {
      /// The row was inserted.
      case inserted
      /// Columns of an existing row were set.
      case updated
      /// The row was deleted.
      case deleted
    }

    /// The name of the table.
    public let table: String
    /// The registered name of the model, or `nil` for a join table.
    public let entity: String?
    /// The values of the row's primary key, in the order of the key's columns.
    public let primaryKey: [DatabaseValue]
    /// Whether the row was inserted, updated or deleted.
    public let kind: Kind
    /// The names of the columns that were set. Empty for a deleted row.
    public let columns: [String]
  }

  private var counts: [String: Counts] = [:]
  /// The rows that were inserted, updated or deleted.
  public internal(set) var changes: [Change] = []
  /// The rows and columns for which the source contains contradictory values. The last value is saved.
  public internal(set) var contradictions: [Change] = []
  /// The primary keys of the saved root objects, in the order of the objects. For an object that was not saved because its row
  /// had been deleted, all values are null.
  public internal(set) var roots: [[DatabaseValue]] = []

  /// Creates an empty report, like the report of a save that wrote nothing.
  public init() {}

  /// The names of the tables that have counts, in alphabetical order.
  public var tables: [String] { counts.keys.sorted() }

  /// The counts of a table. All counts are 0 if the save did not affect the table.
  public subscript(table: String) -> Counts {
    get { counts[table] ?? Counts() }
    set { counts[table] = newValue }
  }

  /// The sum of the counts of all tables.
  public var total: Counts {
    counts.values.reduce(into: Counts()) { $0.add($1) }
  }

  /// Adds the counts of `other`, but not its changes.
  package mutating func add(_ other: EntityReport) {
    for (table, added) in other.counts { self[table].add(added) }
  }

  /// Whether the save wrote nothing.
  public var isEmpty: Bool { changes.isEmpty }
}

extension EntityReport: CustomStringConvertible {
  /// One line per table, such as `blog: 2 inserted, 1 unchanged`.
  public var description: String {
    guard !counts.isEmpty else { return "nothing to save" }
    return tables.map { table in
      let counts = self[table]
      let parts = [
        (counts.inserted, "inserted"), (counts.updated, "updated"), (counts.unchanged, "unchanged"),
        (counts.deleted, "deleted"),
      ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      return "\(table): \(parts.isEmpty ? "nothing" : parts.joined(separator: ", "))"
    }.joined(separator: "\n")
  }
}
