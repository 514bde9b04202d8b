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
    try await StoreWork.run { try StoreBackup.make(self, url, $0) }
  }

  /// Like ``backup(to:)-(URL)``, for synchronous code.
  @discardableResult
  public func backup(to url: URL) throws -> StoreBackup {
    try StoreWork.runNow { try StoreBackup.make(self, url, $0) }
  }
}

extension StoreBackup {
  static func make(_ store: SnapshotStore, _ url: URL, _ work: StoreWork) throws -> StoreBackup {
    do {
      try checkTarget(store, url)
      let folder = url.deletingLastPathComponent()
      guard try FileStatus(ofPath: folder.path) != nil else {
        throw StoreError(.fileSystem, "the backup has no folder to be in: there is none at \(folder.path)")
      }
      return try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let sequence = try Self.copy(store, to: copy.path, work)
        try work.check()
        let size = try FileStatus(ofPath: copy.path)?.size ?? 0
        try AtomicFile.place(copy, at: url)
        return StoreBackup(url: url, size: size, sequence: sequence)
      }
    } catch { throw StoreError.ofFile(error, "the backup could not be written") }
  }

  private static func checkTarget(_ store: SnapshotStore, _ url: URL) throws {
    if let path = store.journal?.path, let own = try FileStatus(ofPath: path),
      let other = try FileStatus(ofPath: url.path), own.device == other.device, own.inode == other.inode
    {
      throw StoreError(.invalid, "a store cannot be backed up to itself; name another file")
    }
    // SQLite would apply an existing journal to the new file.
    func hasJournal() throws -> Bool {
      try ["-wal", "-journal"].contains { try FileStatus(ofPath: url.path + $0) != nil }
    }
    guard try hasJournal() else { return }
    // Changing the journal mode removes a stale journal, unless another connection has the file open. If it fails, the journal stays.
    if try FileStatus(ofPath: url.path) != nil, let old = try? DatabaseQueue(path: url.path) {
      // As above. The check below finds out whether the journal is gone.
      _ = try? old.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
      try? old.close()  // as above
    }
    guard try !hasJournal() else {
      throw StoreError(
        .invalid, "the file of the backup has a journal beside it: it is open, or the journal is of another file")
    }
  }

  /// - Returns: the sequence of the last save in the copy.
  private static func copy(_ store: SnapshotStore, to path: String, _ work: StoreWork) throws -> Int64 {
    let queue = try DatabaseFile.open(path)
    try store.read { transaction in
      let source = transaction.db
      // Begins the transaction, so that all steps copy one snapshot, and saves by others do not restart the backup.
      _ = try store.lastSequence(in: source)
      try queue.writeWithoutTransaction { target in
        try target.telling { try source.backup(to: target, pagesPerStep: 1024) { _ in try work.check() } }
      }
    }
    let sequence = try queue.read { db in try db.telling { try store.lastSequence(in: db) } }
    if let problem = try DatabaseFile.close(copy: queue) {
      throw StoreError(.damaged, "the store is damaged, and no backup was made: \(problem); check it, then salvage it")
    }
    return sequence
  }
}
