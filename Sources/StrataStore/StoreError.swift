public import Foundation
package import GRDB
internal import StrataCore

/// An error thrown by a store. It names the affected key, revision and type, if there are any.
///
/// Except for `CancellationError` and errors of closures, stores throw only errors of this type. ``underlyingError`` contains
/// the cause, such as an `ArchiveError` or an SQLite error. Messages contain keys, types and versions, but never values.
public struct StoreError: Error, Sendable {
  /// The kind of failure. Programs should test the code, because the wording of ``description`` may change.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The file is not a store, because it is not an SQLite database or does not have the tables of a store.
    case notAStore
    /// The store was written by a newer program, in a format that this program cannot read.
    case newerStore
    /// The store cannot be changed, because it was opened read-only or because this program cannot write its newer format.
    case readOnly
    /// The store's tables could not be upgraded to the format of this program. The store is unchanged or was restored, unless its
    /// safety copy was lost.
    case schemaChangeFailed
    /// The key, revision or label does not exist.
    case notFound
    /// A newer program saved the row with a model version that this program does not know.
    case newerModel
    /// Data in the store differs from the data that was written.
    case damaged
    /// The row is intact, but its archive cannot be decoded as the requested type. ``StoreError/underlyingError`` is the cause.
    case notDecodable
    /// The key's last revision does not meet the ``SaveCondition`` of the save.
    case conflict
    /// The value cannot be archived. ``StoreError/underlyingError`` is the cause.
    case notEncodable
    /// The key has no change to undo or redo.
    case nothingToUndo
    /// A name, key or setting is invalid, or the store was closed.
    case invalid
    /// Another connection kept the store locked for longer than ``StoreOptions/busyTimeout``.
    case busy
    /// The disk is full, or the store has reached its size limit. Existing data is intact.
    case full
    /// An error of the operating system or of SQLite. ``StoreError/underlyingError`` is the cause.
    case fileSystem
  }

  /// The kind of failure.
  public let code: Code
  /// The problem and its remedy. ``description`` also includes the key, the revision, the type and the cause.
  public let reason: String
  /// The key that was read or saved, or `nil` if the error is not about a single key.
  public let key: String?
  /// The number of the revision within the history of its key, or `nil` if the error is not about a revision. For a `conflict`, this is
  /// the number of the last revision.
  public let revision: Int?
  /// The registered name of the type, or `nil` if the error is not about a type.
  public let typeName: String?
  /// The model version (for `newerModel`) or the store format (for `newerStore` and `readOnly`) that was found.
  public let foundVersion: Int?
  /// The highest model version or the highest store format that this program supports.
  public let supportedVersion: Int?
  /// The cause: an `ArchiveError`, GRDB's `DatabaseError` or an error of the operating system.
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
  /// The problem, its remedy and its location, in one line. The wording may change between releases.
  public var description: String {
    var text = reason
    if let key { text += revision.map { " (key \(key), revision \($0))" } ?? " (key \(key))" }
    if let typeName { text += " [\(typeName)]" }
    if let underlyingError { text += ": \(Self.wording(of: underlyingError))" }
    return text
  }

  public var errorDescription: String? { description }

  /// Returns the text that describes an underlying error, without values. For an SQLite error, this is only the message, because
  /// the statement and its arguments could contain values.
  package static func wording(of error: any Error) -> String {
    guard let error = error as? DatabaseError else { return ArchiveError.wording(of: error) }
    return "SQLite \(error.extendedResultCode.rawValue): \(error.message ?? "no message")"
  }
}

extension StoreError {
  /// Converts an error that occurred while reading a row to a ``StoreError`` with the key and the revision.
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
      case .newerModel: (.newerModel, "a newer program saved the row; update this program")
      case .damaged, .truncated, .notAnArchive: (.damaged, "the row is damaged; check the store, then salvage it")
      default: (.notDecodable, "the row cannot be decoded as the type")
      }
    return StoreError(
      code, reason, key: key, revision: revision, typeName: error.typeName, foundVersion: error.foundVersion,
      supportedVersion: error.supportedVersion, underlying: error)
  }

  /// Converts an `ArchiveError` that occurred while encoding to a ``StoreError``. Returns any other error unchanged.
  static func ofSaving(_ error: any Error, key: String) -> any Error {
    guard let error = error as? ArchiveError else { return error }
    return StoreError(
      .notEncodable, "the value cannot be saved", key: key, typeName: error.typeName, underlying: error)
  }

  /// Converts an SQLite error to a ``StoreError``. Returns any other error unchanged.
  ///
  /// - Parameter systemErrors: the `errno` values that the system reported for the connection's files, if known.
  static func ofDatabase(_ error: any Error, _ systemErrors: [Int32] = []) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    let (code, reason) = meaning(of: error.extendedResultCode, systemErrors)
    return StoreError(code, reason, underlying: error)
  }

  /// Converts a file system or SQLite error to a ``StoreError``. Returns any other error unchanged.
  ///
  /// - Parameter reason: a text that describes the failed file operation.
  static func ofFile(_ error: any Error, _ reason: String = "the operating system refused a file operation")
    -> any Error
  {
    let known = error as? ArchiveError
    guard known?.code == .fileSystem || error is CocoaError || error is POSIXError else { return ofDatabase(error) }
    var cause = (known?.underlyingError ?? error) as NSError
    while let inner = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = inner }
    let isFull = cause.domain == NSPOSIXErrorDomain && noRoom.contains(Int32(truncatingIfNeeded: cause.code))
    return StoreError(
      isFull ? .full : .fileSystem, isFull ? "\(reason): the disk is full; free up disk space" : reason,
      underlying: error)
  }

  /// Maps an SQLite result code to a ``StoreError/Code`` and a reason. All SQLite errors are classified here.
  ///
  /// - Parameter systemErrors: the `errno` values that the system reported for the connection's files.
  package static func meaning(of code: ResultCode, _ systemErrors: [Int32] = []) -> (code: Code, reason: String) {
    switch code.primaryResultCode {
    // `SQLITE_IOERR_SHMSIZE` means that SQLite could not extend the index file of the write-ahead log. This fails only if the
    // disk is full.
    case .SQLITE_IOERR where code == .SQLITE_IOERR_SHMSIZE || systemErrors.contains { noRoom.contains($0) },
      .SQLITE_FULL:
      (.full, "the disk is full, so the transaction was not saved; free up disk space")
    // If the system fails to read a page, SQLite may report the page as corrupt. If there are system errors, they are the actual
    // cause.
    case .SQLITE_CORRUPT where !systemErrors.isEmpty, .SQLITE_IOERR: (.fileSystem, unreadable)
    case .SQLITE_CORRUPT: (.damaged, "the store file is damaged; check the store, then salvage it")
    // SQLite never stores a row above its size limit, so only a damaged row can appear to be this large.
    case .SQLITE_TOOBIG: (.damaged, "a row is larger than SQLite allows; check the store, then salvage it")
    case .SQLITE_NOTADB: (.notAStore, "the file is not an SQLite database")
    case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
      (
        .busy,
        "another connection has locked the store; end that connection's transaction, or increase busyTimeout"
      )
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
      (.fileSystem, "the file cannot be opened; check that its folder exists and is writable")
    case .SQLITE_READONLY: (.readOnly, "the store is read-only")
    // SQLite reports `SQLITE_MISUSE` if the connection is closed. Its own error message would be misleading here.
    case .SQLITE_MISUSE: (.invalid, "the store is closed; open the store again")
    case .SQLITE_NOMEM: (.fileSystem, "the system does not have enough memory for the operation; try again later")
    default: (.fileSystem, "the database rejected the operation")
    }
  }

  /// The `errno` values for a full disk, an exceeded file size limit and an exceeded disk quota.
  private static let noRoom = [ENOSPC, EFBIG, EDQUOT]

  private static let unreadable =
    "the operating system failed to read or write the file, although the file itself may be intact; try "
    + "again, or copy the file to another disk and check the copy"

  /// Returns the error for a file that the system cannot read.
  static func unreadable(_ cause: (any Error)?) -> StoreError { StoreError(.fileSystem, unreadable, underlying: cause) }

  /// Returns whether an error means that data is damaged or unknown to this program, rather than temporarily inaccessible. If
  /// so, the caller can skip the data and continue.
  ///
  /// - Parameter db: the connection that threw the error, if available.
  static func isDamage(_ error: any Error, _ db: Database? = nil) -> Bool {
    switch error {
    case let error as StoreError: [.damaged, .notDecodable, .newerModel].contains(error.code)
    case let error as ArchiveError: error.code != .fileSystem
    case let error as DatabaseError:
      [.damaged, .notAStore].contains(meaning(of: error.extendedResultCode, db?.systemErrors ?? []).code)
    default: false
    }
  }

  static func notFound(_ reason: String, key: String, revision: Int? = nil) -> StoreError {
    StoreError(.notFound, reason, key: key, revision: revision)
  }
}
