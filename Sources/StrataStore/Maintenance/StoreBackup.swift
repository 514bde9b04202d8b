public import Foundation
internal import GRDB
internal import StrataCore

/// The result of a backup.
public struct StoreBackup: Sendable, Hashable {
  /// The file of the backup.
  public let url: URL
  /// The size of the backup in bytes.
  public let size: Int
  /// The ``StoreRevision/sequence`` of the last save in the backup, or 0 if the store is empty.
  public let sequence: Int64
}

extension StoreBackup: CustomStringConvertible {
  /// The name and the size of the file, and the sequence of the last save, in one line.
  public var description: String {
    "\(url.lastPathComponent): \(size.counting("byte")), revisions up to sequence \(sequence)".onOneLine
  }
}

extension SnapshotStore {
  /// Writes the current state of the store to a single file. The store can be used during the backup. Other readers and writers
  /// do not wait for the backup.
  ///
  /// The backup contains every save that returned before the call. It is a complete store without a separate write-ahead log.
  /// The backup is checked (`PRAGMA quick_check`) before it replaces an existing file. If the backup fails, the existing file
  /// is kept. When this method returns, the backup has been written to disk. For a store in the app's own database, the whole
  /// database is backed up.
  ///
  /// - Parameter url: the file of the backup, which must not be the file of an open store.
  /// - Throws: ``StoreError`` with the code `full`, `busy` or `fileSystem`, or `damaged` if the copy fails the check. The code is
  ///   `invalid` if `url` is the file of this store, or if the file has a journal, for example because it is open. Throws
  ///   `CancellationError` if the task was cancelled.
  /// - Complexity: linear in the size of the file. The write-ahead log cannot be truncated until the backup is done.
  @discardableResult
  public func backup(to url: URL) async throws -> StoreBackup {
    try await StoreWork.run { try StoreBackup.create(self, url, $0) }
  }

  /// The synchronous variant of ``backup(to:)-(URL)``.
  @discardableResult
  public func backup(to url: URL) throws -> StoreBackup {
    try StoreWork.runNow { try StoreBackup.create(self, url, $0) }
  }
}

extension StoreBackup {
  static func create(_ store: SnapshotStore, _ url: URL, _ work: StoreWork) throws -> StoreBackup {
    let (sequence, size) = try DatabaseFile.backup(to: url, of: store.journal?.path) { copy in
      try store.read { transaction in
        // This query starts the read transaction, so that all steps of the copy see the same snapshot and concurrent saves do
        // not restart the backup.
        _ = try store.lastSequence(in: transaction.db)
        try DatabaseFile.copy(transaction.db, to: copy, work)
      }
      return try copy.read { db in try db.withStoreErrors { try store.lastSequence(in: db) } }
    }
    return StoreBackup(url: url, size: size, sequence: sequence)
  }
}
