public import Foundation
internal import GRDB
internal import StrataCore

/// A finished backup.
public struct StoreBackup: Sendable, Hashable {
  /// The file of the backup.
  public let url: URL
  /// The size of the file in bytes.
  public let size: Int
  /// The ``StoreRevision/sequence`` of the last save in the backup; 0 if there is none.
  public let sequence: Int64
}

extension StoreBackup: CustomStringConvertible {
  /// One line: the name of the file, its size, and the last save in it.
  public var description: String {
    "\(url.lastPathComponent), \(size.counting("byte")), up to sequence \(sequence)".onOneLine
  }
}

extension SnapshotStore {
  /// Writes the current state of the store to one file while the store is in use. No reader or writer waits for it.
  ///
  /// The backup contains every save that was acknowledged before the call. It needs no journal, and opens as a store. It is
  /// checked (`PRAGMA quick_check`) before it replaces an existing file, which stays if the backup fails. It is on the disk
  /// when this returns. For a store inside the app's own database, the whole database is written.
  ///
  /// - Parameter url: the file of the backup, which must not be the file of an open store.
  /// - Throws: ``StoreError`` with the code `invalid` if `url` is the store itself, or has a journal and so belongs to
  ///   an open store; `damaged` if the copy fails the check; `full`, `busy`, `fileSystem`.
  /// - Complexity: linear in the size of the file. Saves made meanwhile stay in the journal until the backup is done.
  @discardableResult
  public func backup(to url: URL) async throws -> StoreBackup {
    try await StoreWork.run { try StoreBackup.create(self, url, $0) }
  }

  /// Like ``backup(to:)-(URL)``, for synchronous code.
  @discardableResult
  public func backup(to url: URL) throws -> StoreBackup {
    try StoreWork.runNow { try StoreBackup.create(self, url, $0) }
  }
}

extension StoreBackup {
  static func create(_ store: SnapshotStore, _ url: URL, _ work: StoreWork) throws -> StoreBackup {
    let (sequence, size) = try DatabaseFile.backup(to: url, of: store.journal?.path) { copy in
      try store.read { transaction in
        // Begins the transaction, so that all steps copy one snapshot, and saves by others do not restart the backup.
        _ = try store.lastSequence(in: transaction.db)
        try DatabaseFile.copy(transaction.db, to: copy, work)
      }
      return try copy.read { db in try db.withStoreErrors { try store.lastSequence(in: db) } }
    }
    return StoreBackup(url: url, size: size, sequence: sequence)
  }
}
