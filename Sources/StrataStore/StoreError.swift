public import Foundation
package import GRDB
internal import StrataCore

/// An error of a store, with its location.
///
/// Every error of a store is of this type. Its ``underlyingError`` is the cause, an `ArchiveError` or an error of
/// SQLite. Messages name keys, types and versions, and never values.
public struct StoreError: Error, Sendable {
  /// The kind of failure. Only the code is part of the interface; the wording of ``description`` is not.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    // Opening
    /// The file is not a store, or is a database with other tables.
    case notAStore
    /// A newer program wrote the store in a format that this one cannot read.
    case newerStore
    /// The store can only be read: it was opened read-only, or a newer program set a format that this one cannot write.
    case readOnly
    /// The store's own tables could not be changed to the format of this program. The store is unchanged.
    case schemaChangeFailed
    // Reading
    /// There is no such key, revision or label.
    case notFound
    /// A newer program saved the row, with a version of a model that this one does not know.
    case newerModel
    /// Bytes of the store are not those that were written.
    case damaged
    /// The row is intact, but its archive cannot be decoded as the requested type; see ``StoreError/underlyingError``.
    case notDecodable
    // Saving
    /// The last revision of the key does not meet the condition of the save.
    case conflict
    /// The value cannot be archived; see ``StoreError/underlyingError``.
    case notEncodable
    /// There is nothing to undo or to redo.
    case nothingToUndo
    /// A name, key or setting that cannot be used, or a store that was closed.
    case invalid
    // Files
    /// Another connection kept the store locked for longer than ``StoreOptions/busyTimeout``.
    case busy
    /// The disk is full, or the store has reached its size limit. Existing data is intact.
    case full
    /// An error of the operating system or of SQLite; see ``StoreError/underlyingError``.
    case fileSystem
  }

  /// The kind of failure.
  public let code: Code
  /// The problem and its remedy, without key, revision, type and cause, which ``description`` adds.
  public let reason: String
  /// The key that was read or saved; `nil` if the error concerns no single key.
  public let key: String?
  /// The number of the revision within the history of its key; for a `conflict` the last one. `nil` if the error concerns none.
  public let revision: Int?
  /// The registered name of the type; `nil` if the error concerns none.
  public let typeName: String?
  /// The version of the model (`newerModel`), or the format (`newerStore`, `readOnly`), that was found.
  public let foundVersion: Int?
  /// The highest version of that model, or the highest format, that this program knows.
  public let supportedVersion: Int?
  /// The `ArchiveError`, the `DatabaseError` of GRDB or the error of the system that caused it.
  public let underlyingError: (any Error)?

  init(
    _ code: Code, _ reason: String, key: String? = nil, revision: Int? = nil, typeName: String? = nil,
    foundVersion: Int? = nil, supportedVersion: Int? = nil, underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.key = key
    self.revision = revision
    self.typeName = typeName
    self.foundVersion = foundVersion
    self.supportedVersion = supportedVersion
    underlyingError = underlying
  }
}

extension StoreError: CustomStringConvertible, LocalizedError {
  /// One line: the problem, its remedy and its location. The wording may change between releases.
  public var description: String {
    var text = reason
    if let key { text += revision.map { " (key \(key), revision \($0))" } ?? " (key \(key))" }
    if let typeName { text += " [\(typeName)]" }
    if let underlyingError { text += ": \(Self.wording(of: underlyingError))" }
    return text
  }

  public var errorDescription: String? { description }

  /// The text of a cause, without values. For an error of SQLite it is the message, without the statement and its arguments.
  package static func wording(of error: any Error) -> String {
    guard let error = error as? DatabaseError else { return ArchiveError.wording(of: error) }
    return "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no message")"
  }
}

extension StoreError {
  /// Converts an error of reading a row, and adds the key and the revision.
  static func ofRow(_ error: any Error, key: String?, revision: Int?, _ db: Database? = nil) -> any Error {
    guard let error = error as? ArchiveError else {
      let error = ofDatabase(error, db?.systemErrors ?? [])
      guard let known = error as? StoreError, known.key == nil else { return error }
      return StoreError(
        known.code, known.reason, key: key, revision: revision, typeName: known.typeName,
        foundVersion: known.foundVersion, supportedVersion: known.supportedVersion, underlying: known.underlyingError)
    }
    let (code, reason): (Code, String) =
      switch error.code {
      case .newerModel: (.newerModel, "a newer program saved this row; update this one")
      case .damaged, .truncated, .notAnArchive: (.damaged, "the row is damaged; check the store, then salvage it")
      default: (.notDecodable, "the row cannot be read as this type")
      }
    return StoreError(
      code, reason, key: key, revision: revision, typeName: error.typeName, foundVersion: error.foundVersion,
      supportedVersion: error.supportedVersion, underlying: error)
  }

  /// Converts an `ArchiveError` of encoding. Returns any other error unchanged.
  static func ofSaving(_ error: any Error, key: String) -> any Error {
    guard let error = error as? ArchiveError else { return error }
    return StoreError(
      .notEncodable, "the value cannot be saved", key: key, typeName: error.typeName, underlying: error)
  }

  /// Converts an error of SQLite to a ``StoreError``. Returns any other error unchanged.
  ///
  /// - Parameter systemErrors: the system's errors for the files of the connection, if known.
  static func ofDatabase(_ error: any Error, _ systemErrors: [Int32] = []) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    let (code, reason) = meaning(of: error.extendedResultCode, systemErrors)
    return StoreError(code, reason, underlying: error)
  }

  /// Converts an error of a file, or of the database, to a ``StoreError``. Returns any other error unchanged.
  ///
  /// - Parameter reason: the operation that failed.
  static func ofFile(_ error: any Error, _ reason: String = "the system refused an operation on a file") -> any Error {
    let known = error as? ArchiveError
    guard known?.code == .fileSystem || error is CocoaError || error is POSIXError else { return ofDatabase(error) }
    var cause = (known?.underlyingError ?? error) as NSError
    while let inner = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = inner }
    let isFull = cause.domain == NSPOSIXErrorDomain && noRoom.contains(Int32(truncatingIfNeeded: cause.code))
    return StoreError(isFull ? .full : .fileSystem, isFull ? reason + "; make room" : reason, underlying: error)
  }

  /// Maps a result code of SQLite to a code and a reason. All classification of errors uses this.
  ///
  /// - Parameter systemErrors: the system's errors for the files of the connection.
  package static func meaning(of code: ResultCode, _ systemErrors: [Int32] = []) -> (code: Code, reason: String) {
    switch code.primaryResultCode {
    // The index of the journal could not be extended, which fails only if there is no space.
    case .SQLITE_IOERR where code == .SQLITE_IOERR_SHMSIZE || systemErrors.contains { noRoom.contains($0) },
      .SQLITE_FULL:
      (.full, "there is no room for what is saved; nothing of this transaction was saved; make room")
    // SQLite reports a page that the system fails to read as damaged.
    case .SQLITE_CORRUPT where !systemErrors.isEmpty, .SQLITE_IOERR: (.fileSystem, unreadable)
    case .SQLITE_CORRUPT: (.damaged, "the file of the store is damaged; check it, then salvage it")
    // Only a damaged row claims to be so large.
    case .SQLITE_TOOBIG: (.damaged, "a row is larger than SQLite allows; check the store, then salvage it")
    case .SQLITE_NOTADB: (.notAStore, "the file is no database of SQLite")
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
      (.busy, "another connection keeps the store locked; end its transaction, or allow a longer busyTimeout")
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
      (.fileSystem, "the file cannot be opened; its folder must be there, and may have to be written to")
    case .SQLITE_READONLY: (.readOnly, "the store can only be read")
    // SQLite's message for a closed connection describes another error.
    case .SQLITE_MISUSE: (.invalid, "the store was closed; open it again")
    case .SQLITE_NOMEM: (.fileSystem, "there is no memory for the operation; try again when there is")
    default: (.fileSystem, "the database refused the operation")
    }
  }

  /// The error numbers of a full disk, and of limits of the user and of the process.
  private static let noRoom = [ENOSPC, EFBIG, EDQUOT]

  private static let unreadable =
    "the system failed to read or write the file, which need not be damaged; try again, and if it fails again, copy the "
    + "file to another disk and check the copy"

  /// The error of a file that the system fails to read.
  static func unreadable(_ cause: (any Error)?) -> StoreError { StoreError(.fileSystem, unreadable, underlying: cause) }

  /// Whether an error means that data is damaged or unknown to this program, rather than not accessible now. After damage, the
  /// caller can continue with other data.
  ///
  /// - Parameter db: the connection of the error, if it is available.
  static func isDamage(_ error: any Error, _ db: Database? = nil) -> Bool {
    switch error {
    case let error as StoreError: [.damaged, .notDecodable, .newerModel].contains(error.code)
    case let error as ArchiveError: error.code != .fileSystem
    case let error as DatabaseError:
      [.damaged, .notAStore].contains(meaning(of: error.extendedResultCode, db?.systemErrors ?? []).code)
    default: false
    }
  }

  static func notFound(_ what: String, key: String, revision: Int? = nil) -> StoreError {
    StoreError(.notFound, "there is no \(what)", key: key, revision: revision)
  }
}
