public import Foundation
public import GRDB
public import StrataCore

/// An error that occurred while models were saved as rows or rows were read as models. It contains the location of the problem,
/// such as the entity, the key path, the table and the columns.
///
/// Messages contain names and key paths, but no values other than integer primary keys.
public struct EntityError: Error, Sendable {
  /// The kind of failure. Programs should test the code, because the wording of ``description`` may change.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// A mapping does not match its model or its table.
    case invalidMapping
    /// The source, such as JSON or an archive, cannot be decoded as the entity. ``EntityError/underlyingError`` is the cause.
    case invalidSource
    /// A required column has no value: the object does not provide one, and the column has no default.
    case missingValue
    /// A column cannot store a value without changing it.
    case notStorable
    /// A column has a value that the property cannot represent.
    case notReadable
    /// The row has been changed or deleted since the saved object was fetched, in a way that conflicts with the save.
    case conflict
    /// An object without a ``RowBase`` would overwrite a row that is synchronized with a server. It is unknown whether the row
    /// has newer values than the object.
    case staleSave
    /// A relation was set in an object that had been fetched without the relation. The save would lose the related rows.
    case unreadRelation
    /// The saved data contradicts itself or other rows. For example, two keys of an object identify different rows, the two sides
    /// of a relation disagree, or another row already has the same value in a unique index.
    case clash
    /// The row violates a foreign key or another constraint of the table, or a trigger rejects the row. Violations of unique indexes
    /// have the code ``clash`` instead, and violations of `NOT NULL` constraints have the code ``missingValue``.
    case constraint
    /// The rows were migrated by a newer version of the program.
    case newerModel
    /// The rows have an older version of the model, or a migration of the rows was interrupted.
    case unmigrated
    /// A row cannot be migrated. ``EntityError/underlyingError`` is the cause.
    case migrationFailed
    /// The object breaks a rule of its model, or a hook of the model failed. ``EntityError/underlyingError`` is the cause.
    case invalid
    /// Another connection has locked the database.
    case busy
    /// The disk or the database is full.
    case full
    /// Any other database error. ``EntityError/underlyingError`` is the cause.
    case database
  }

  /// The kind of failure, which programs should test instead of ``description``.
  public let code: Code
  /// The problem, and how to fix it. ``description`` also contains the entity, the path, the columns and the cause.
  public let reason: String
  /// The registered name of the model, or `nil` if the error is not about a model.
  public let entity: String?
  /// The path from the root of the saved value to the value with the error, as keys and array indices. Empty if the error is about the
  /// root itself, or about no value at all.
  public let path: [ArchiveError.PathComponent]
  /// The name of the table, or `nil` if the error is not about a table.
  public let table: String?
  /// The names of the affected columns.
  public let columns: [String]
  /// The primary key of the row that cannot be migrated. Empty for errors outside a migration.
  public let primaryKey: [DatabaseValue]
  /// The error that caused this error, such as an `ArchiveError` or GRDB's `DatabaseError`; `nil` if there is none.
  public let underlyingError: (any Error)?

  package init(
    _ code: Code, _ reason: String, entity: String? = nil, path: [ArchiveError.PathComponent] = [],
    table: String? = nil, columns: [String] = [], primaryKey: [DatabaseValue] = [], underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.entity = entity
    self.path = path
    self.table = table
    self.columns = columns
    self.primaryKey = primaryKey
    underlyingError = underlying
  }
}

extension EntityError: CustomStringConvertible, LocalizedError {
  /// One line with the problem, its remedy and its location. The wording may change between releases.
  public var description: String {
    var text = reason
    var place: [String] = []
    if let entity { place.append(entity) }
    if !path.isEmpty { place.append("at " + ArchiveError.describe(path)) }
    if let table {
      let names = columns.map { "\(table).\($0)" }
      place.append(names.isEmpty ? "table \(table)" : "column \(names.joined(separator: ", "))")
    }
    if !primaryKey.isEmpty {
      place.append(
        "row " + primaryKey.map { Int64.fromDatabaseValue($0).map(String.init) ?? "…" }.joined(separator: ", "))
    }
    if !place.isEmpty { text += " (\(place.joined(separator: ", ")))" }
    // Only the reason of an ArchiveError is added, because its full description repeats the path and the type.
    if let error = underlyingError as? ArchiveError {
      text += ": \(error.reason)" + (error.underlyingError.map { ": \(StoreError.wording(of: $0))" } ?? "")
    } else if let underlyingError {
      text += ": \(StoreError.wording(of: underlyingError))"
    }
    return text
  }

  public var errorDescription: String? { description }
}

extension EntityError {
  /// Returns a copy of the error with details about its location. Only details that the error does not have yet are set to the given
  /// values. `path` is inserted before the error's own path.
  package func located(
    entity: String? = nil, path: [ArchiveError.PathComponent] = [], table: String? = nil, columns: [String] = [],
    primaryKey: [DatabaseValue] = []
  ) -> EntityError {
    EntityError(
      code, reason, entity: self.entity ?? entity, path: path + self.path, table: self.table ?? table,
      columns: self.columns.isEmpty ? columns : self.columns,
      primaryKey: self.primaryKey.isEmpty ? primaryKey : self.primaryKey, underlying: underlyingError)
  }

  /// Converts an `ArchiveError` to an ``EntityError`` with the given details. Returns any other error unchanged.
  static func of(
    _ error: any Error, _ code: Code, _ reason: String, entity: String?, path: [ArchiveError.PathComponent] = [],
    table: String? = nil, columns: [String] = []
  ) -> any Error {
    guard let error = error as? ArchiveError else { return error }
    return EntityError(
      code, reason, entity: entity ?? error.typeName, path: path + error.codingPath, table: table, columns: columns,
      underlying: error)
  }

  /// Converts an SQLite error to an ``EntityError``. Returns any other error unchanged.
  package static func ofDatabase(_ error: any Error) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    if error.resultCode == .SQLITE_CONSTRAINT { return ofConstraint(error) }
    switch StoreError.meaning(of: error.extendedResultCode).code {
    case .busy:
      return EntityError(
        .busy,
        "another connection has locked the database; end that connection's transaction, or set busyMode to wait for "
          + "the lock",
        underlying: error)
    case .full:
      return EntityError(
        .full, "the disk is full, so nothing was saved; free up disk space", underlying: error)
    default:
      return EntityError(.database, "the database rejected the operation", underlying: error)
    }
  }

  /// Converts a constraint violation to an ``EntityError``.
  ///
  /// The table and the columns are taken from SQLite's message, such as `UNIQUE constraint failed: user.email, user.team`.
  private static func ofConstraint(_ error: DatabaseError) -> EntityError {
    var table: String?
    var columns: [String] = []
    let parts = error.message?.components(separatedBy: "constraint failed: ") ?? []
    if parts.count == 2,
      [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_NOTNULL]
        .contains(error.extendedResultCode)
    {
      for name in parts[1].components(separatedBy: ", ") {
        guard let dot = name.firstIndex(of: ".") else { continue }
        table = String(name[..<dot])
        columns.append(String(name[name.index(after: dot)...]))
      }
    }
    let (code, reason): (Code, String) =
      switch error.extendedResultCode {
      case .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID:
        (
          .clash,
          "another row already has the same value in a unique index, so nothing was saved; use a different value"
        )
      case .SQLITE_CONSTRAINT_NOTNULL:
        (
          .missingValue,
          "the NOT NULL column has no value, so nothing was saved; set a value, or give the column a default"
        )
      case .SQLITE_CONSTRAINT_FOREIGNKEY:
        (
          .constraint,
          "a foreign key would refer to a missing row, so nothing was saved; if you are saving a row, also save "
            + "the row it refers to; if you are deleting a row, first change the rows that refer to it"
        )
      default: (.constraint, "a constraint of the database rejected the row, so nothing was saved")
      }
    return EntityError(code, reason, table: table, columns: columns, underlying: error)
  }
}
