public import Foundation
internal import GRDB
internal import StrataCore

/// A backup that was made.
public struct StoreBackup: Sendable, Hashable {
  /// The file.
  public let url: URL
  /// Its bytes.
  public let size: Int
  /// The ``StoreRevision/sequence`` of the last save that is in it; 0 where there is none.
  public let sequence: Int64
}

extension StoreBackup: CustomStringConvertible {
  /// One line: the name of the file, its size, and the last save in it.
  public var description: String {
    "\(url.lastPathComponent), \(size.counting("byte")), up to sequence \(sequence)".onOneLine
  }
}

extension SnapshotStore {
  /// Writes the store to one file as it is now, while it is in use: nobody waits for it.
  ///
  /// Every save that was acknowledged before this began is in it. The file has no journal beside it, was checked
  /// (`PRAGMA quick_check`) before it got its name, and is on the disk when this returns; a file that was there is replaced
  /// only then, and stays where this fails. It opens as a store. Of a store inside of the app's own database the whole
  /// database is written.
  ///
  /// - Parameter url: the file of the backup, which must not be that of an open store.
  /// - Throws: ``StoreError`` with the code `invalid` where `url` is the store itself, or has a journal beside it and so
  ///   belongs to an open store; `damaged` where the copy does not pass the check; `full`, `busy`, `fileSystem`.
  /// - Complexity: linear in the size of the file. What is saved meanwhile stays in the journal until this is done.
  @discardableResult
  public func backup(to url: URL) async throws -> StoreBackup {
    try await StoreWork.run { [core] in try StoreBackup.make(core, url, $0) }
  }

  /// As ``backup(to:)-(URL)``, where there is no concurrency.
  @discardableResult
  public func backup(to url: URL) throws -> StoreBackup {
    try StoreWork.runNow { try StoreBackup.make(core, url, $0) }
  }
}

extension StoreBackup {
  static func make(_ core: StoreCore, _ url: URL, _ work: StoreWork) throws -> StoreBackup {
    do {
      try checkTarget(core, url)
      let folder = url.deletingLastPathComponent()
      guard try FileStatus(ofPath: folder.path) != nil else {
        throw StoreError(.fileSystem, "the backup has no folder to be in: there is none at \(folder.path)")
      }
      return try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let sequence = try Self.copy(core, to: copy.path, work)
        try work.check()
        let size = try FileStatus(ofPath: copy.path)?.size ?? 0
        try AtomicFile.place(copy, at: url)
        return StoreBackup(url: url, size: size, sequence: sequence)
      }
    } catch { throw StoreError.ofFile(error, "the backup could not be written") }
  }

  private static func checkTarget(_ core: StoreCore, _ url: URL) throws {
    if let path = core.journal?.path, let own = try FileStatus(ofPath: path),
      let other = try FileStatus(ofPath: url.path), own.device == other.device, own.inode == other.inode
    {
      throw StoreError(.invalid, "a store cannot be backed up to itself; name another file")
    }
    // What a journal says would be taken for changes of the new file.
    func hasJournal() throws -> Bool {
      try ["-wal", "-journal"].contains { try FileStatus(ofPath: url.path + $0) != nil }
    }
    guard try hasJournal() else { return }
    // One that was left behind goes where its file changes to another kind of journal, which nobody else may have open.
    // Whatever makes that fail leaves the journal where it is.
    if try FileStatus(ofPath: url.path) != nil, let old = try? DatabaseQueue(path: url.path) {
      // As above; whether the journal is gone is looked at below.
      _ = try? old.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE") }
      try? old.close()  // as above
    }
    guard try !hasJournal() else {
      throw StoreError(
        .invalid, "the file of the backup has a journal beside it: it is open, or the journal is of another file")
    }
  }

  /// - Returns: the sequence of the last save in the copy.
  private static func copy(_ core: StoreCore, to path: String, _ work: StoreWork) throws -> Int64 {
    let queue = try DatabaseFile.open(path)
    try core.read { transaction in
      let source = transaction.db
      // Begins the transaction, so that all steps copy one state, and none begins anew where others save.
      _ = try core.lastSequence(in: source)
      try queue.writeWithoutTransaction { target in
        try target.telling { try source.backup(to: target, pagesPerStep: 1024) { _ in try work.check() } }
      }
    }
    let sequence = try queue.read { db in try db.telling { try core.lastSequence(in: db) } }
    if let problem = try DatabaseFile.close(copy: queue) {
      throw StoreError(.damaged, "the store is damaged, and no backup was made: \(problem); check it, then salvage it")
    }
    return sequence
  }
}
