public import GRDB

/// What a save did, row by row.
public struct EntityReport: Sendable {
  /// The numbers of rows of one table.
  public struct Counts: Sendable, Hashable {
    /// Rows that are new.
    public var inserted = 0
    /// Rows in which columns were set.
    public var updated = 0
    /// Rows that what was saved said nothing new about.
    public var unchanged = 0
    /// Rows that were deleted.
    public var deleted = 0

    /// The numbers of rows; 0 unless given.
    public init(inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int = 0) {
      self.inserted = inserted
      self.updated = updated
      self.unchanged = unchanged
      self.deleted = deleted
    }
  }

  /// A row that was written.
  public struct Change: Sendable, Hashable {
    /// What was done to a row.
    public enum Kind: String, Sendable, Hashable {
      /// It is new.
      case inserted
      /// Columns of it were set.
      case updated
      /// It was deleted.
      case deleted
    }

    /// The name of the table.
    public let table: String
    /// The registered name of the model; `nil` for a table of pairs.
    public let entity: String?
    /// The values of its primary key, in the order of the columns.
    public let primaryKey: [DatabaseValue]
    /// What was done to the row.
    public let kind: Kind
    /// The columns that were set; empty for a row that was deleted.
    public let columns: [String]
  }

  private var counts: [String: Counts] = [:]
  /// The rows that were written.
  public internal(set) var changes: [Change] = []
  /// Rows for whose columns a document had several values. The last one counts.
  public internal(set) var contradictions: [Change] = []
  /// The primary keys of the rows that the roots have, in their order.
  public internal(set) var roots: [[DatabaseValue]] = []

  /// A report of a save that wrote nothing.
  public init() {}

  /// The tables that a row was saved in, in alphabetical order.
  public var tables: [String] { counts.keys.sorted() }

  /// The numbers of a table.
  public subscript(table: String) -> Counts {
    get { counts[table] ?? Counts() }
    set { counts[table] = newValue }
  }

  /// The numbers of all tables.
  public var total: Counts {
    counts.values.reduce(into: Counts()) { sum, counts in
      sum.inserted += counts.inserted
      sum.updated += counts.updated
      sum.unchanged += counts.unchanged
      sum.deleted += counts.deleted
    }
  }

  /// Adds the numbers of another save.
  package mutating func add(_ other: EntityReport) {
    for (table, added) in other.counts {
      self[table].inserted += added.inserted
      self[table].updated += added.updated
      self[table].unchanged += added.unchanged
      self[table].deleted += added.deleted
    }
  }

  /// Whether nothing was written.
  public var isEmpty: Bool { changes.isEmpty }
}

extension EntityReport: CustomStringConvertible {
  /// A line a table: `blog: 2 inserted, 1 unchanged`.
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
