public import GRDB

/// The inserted, updated, unchanged and deleted rows of a save.
public struct EntityReport: Sendable {
  /// The row counts of one table.
  public struct Counts: Sendable, Hashable {
    /// New rows.
    public var inserted = 0
    /// Rows in which columns were set.
    public var updated = 0
    /// Rows that already had the saved values.
    public var unchanged = 0
    /// Rows that were deleted.
    public var deleted = 0

    /// Creates counts, 0 by default.
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

  /// A row that was written.
  public struct Change: Sendable, Hashable {
    /// The kind of a change.
    public enum Kind: String, Sendable, Hashable {
      /// The row is new.
      case inserted
      /// Columns of the row were set.
      case updated
      /// The row was deleted.
      case deleted
    }

    /// The name of the table.
    public let table: String
    /// The registered name of the model; `nil` for a table of pairs.
    public let entity: String?
    /// The values of its primary key, in the order of the columns.
    public let primaryKey: [DatabaseValue]
    /// The kind of the change.
    public let kind: Kind
    /// The columns that were set; empty for a row that was deleted.
    public let columns: [String]
  }

  private var counts: [String: Counts] = [:]
  /// The rows that were written.
  public internal(set) var changes: [Change] = []
  /// Rows for which a document has several values of one column. The last value is saved.
  public internal(set) var contradictions: [Change] = []
  /// The primary keys of the rows of the saved root objects, in their order. The values are null for a root that was
  /// dropped because its row had been deleted.
  public internal(set) var roots: [[DatabaseValue]] = []

  /// A report of a save that wrote nothing.
  public init() {}

  /// The names of the tables with saved rows, in alphabetical order.
  public var tables: [String] { counts.keys.sorted() }

  /// The counts of a table.
  public subscript(table: String) -> Counts {
    get { counts[table] ?? Counts() }
    set { counts[table] = newValue }
  }

  /// The sum of the counts of all tables.
  public var total: Counts {
    counts.values.reduce(into: Counts()) { $0.add($1) }
  }

  /// Adds the counts of another save.
  package mutating func add(_ other: EntityReport) {
    for (table, added) in other.counts { self[table].add(added) }
  }

  /// Whether nothing was written.
  public var isEmpty: Bool { changes.isEmpty }
}

extension EntityReport: CustomStringConvertible {
  /// One line per table: `blog: 2 inserted, 1 unchanged`.
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
