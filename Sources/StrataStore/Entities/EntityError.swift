public import Foundation
public import GRDB
public import StrataCore

/// An error in saving models as rows or reading them, with its location.
///
/// Messages name entities, key paths, tables and columns, and never values, except integers of a primary key.
public struct EntityError: Error, Sendable {
  /// The kind of failure. Only the code is part of the interface; the wording of ``description`` is not.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// Mappings, models and tables do not match.
    case invalidMapping
    /// The source cannot be read as the entity; see ``EntityError/underlyingError``.
    case invalidSource
    /// A column must have a value, and nothing supplies one.
    case missingValue
    /// A column would not return the value unchanged.
    case notStorable
    /// A column holds a value that its property cannot represent.
    case notReadable
    /// The row was changed or deleted after the saved object was fetched.
    case conflict
    /// An object without a base would overwrite a row that a server also has, and that may be newer.
    case staleSave
    /// A relation was set in an object that was fetched without it.
    case unreadRelation
    /// Keys, a unique index or two sides of a relation name different rows.
    case clash
    /// A rule of the table, a foreign key or a trigger of the database refuses the row.
    case constraint
    /// A newer version of the program has migrated the rows.
    case newerModel
    /// The rows have an older version of the model, or their migration is not complete.
    case unmigrated
    /// A row cannot be migrated; see ``EntityError/underlyingError``.
    case migrationFailed
    /// A rule of the model is broken, or a hook failed; see ``EntityError/underlyingError``.
    case invalid
    /// Another connection kept the database locked.
    case busy
    /// There is no space left.
    case full
    /// Any other error of the database; see ``EntityError/underlyingError``.
    case database
  }

  /// The kind of failure.
  public let code: Code
  /// The problem and its remedy, without entity, path, column and cause, which ``description`` adds.
  public let reason: String
  /// The registered name of the model; `nil` if the error concerns no model.
  public let entity: String?
  /// The path in the saved value: keys and array indices from the root. Empty for the root, or if the error concerns no value.
  public let path: [ArchiveError.PathComponent]
  /// The table; `nil` if the error concerns no table.
  public let table: String?
  /// The columns concerned.
  public let columns: [String]
  /// The primary key of the row that cannot be migrated; otherwise empty.
  public let primaryKey: [DatabaseValue]
  /// The `ArchiveError`, or the `DatabaseError` of GRDB, that caused it.
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
  /// One line: the problem, its remedy and its location. The wording may change between releases.
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
    // The path and type of an ArchiveError are in the text already.
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
  /// Returns the error with missing details filled in, and with `path` before its own path.
  package func located(
    entity: String? = nil, path: [ArchiveError.PathComponent] = [], table: String? = nil, columns: [String] = [],
    primaryKey: [DatabaseValue] = []
  ) -> EntityError {
    EntityError(
      code, reason, entity: self.entity ?? entity, path: path + self.path, table: self.table ?? table,
      columns: self.columns.isEmpty ? columns : self.columns,
      primaryKey: self.primaryKey.isEmpty ? primaryKey : self.primaryKey, underlying: underlyingError)
  }

  /// Converts an `ArchiveError` to an ``EntityError``. Returns any other error unchanged.
  static func of(
    _ error: any Error, _ code: Code, _ reason: String, entity: String?, path: [ArchiveError.PathComponent] = [],
    table: String? = nil, columns: [String] = []
  ) -> any Error {
    guard let error = error as? ArchiveError else { return error }
    return EntityError(
      code, reason, entity: entity ?? error.typeName, path: path + error.codingPath, table: table, columns: columns,
      underlying: error)
  }

  /// Converts an error of SQLite to an ``EntityError``. Returns any other error unchanged.
  package static func ofDatabase(_ error: any Error) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    if error.resultCode == .SQLITE_CONSTRAINT { return ofConstraint(error) }
    switch StoreError.meaning(of: error.extendedResultCode).code {
    case .busy:
      return EntityError(
        .busy, "another connection keeps the database locked; end its transaction, or set the busyMode of the database",
        underlying: error)
    case .full:
      return EntityError(
        .full, "there is no space left; nothing was saved; make room", underlying: error)
    default:
      return EntityError(.database, "the database refused the operation", underlying: error)
    }
  }

  /// Converts the violation of a constraint.
  ///
  /// SQLite names the columns in its message, as in `UNIQUE constraint failed: user.email, user.team`.
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
        (.clash, "another row has the same value in a unique index; nothing was saved")
      case .SQLITE_CONSTRAINT_NOTNULL: (.missingValue, "the column must have a value; nothing was saved")
      case .SQLITE_CONSTRAINT_FOREIGNKEY:
        (
          .constraint,
          "a foreign key would lead to no row; save what it refers to along, or say what becomes of the rows that refer to one which is deleted; nothing was saved"
        )
      default: (.constraint, "the database refuses the row; nothing was saved")
      }
    return EntityError(code, reason, table: table, columns: columns, underlying: error)
  }
}
