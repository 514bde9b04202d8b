internal import Foundation
internal import GRDB
internal import StrataCore

/// Statistics of a store: its types, revisions, format and file sizes.
public struct StoreStatus: Sendable {
  /// The number of revisions of one type and model version.
  public struct TypeCount: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The model version of the revisions, or `nil` if the type is not a model.
    public let modelVersion: Int?
    /// The number of revisions.
    public let revisions: Int
    /// The number of keys whose last revision has this type and model version.
    public let heads: Int
  }

  /// The number of revisions of each type and model version, sorted by type name. Deletions are not counted.
  public let types: [TypeCount]
  /// The number of revisions that earlier upgrades failed to rewrite in the current model versions.
  public let failedUpgrades: Int
  /// The ``StoreRevision/sequence`` of the last save, or 0 if nothing has been saved.
  public let sequence: Int64
  /// The version of the store's format.
  public let format: Int
  /// The lowest format version that a program must support to read the store.
  public let minimumReader: Int
  /// The lowest format version that a program must support to write to the store.
  public let minimumWriter: Int
  /// Whether the store refuses saves. See ``SnapshotStore/isReadOnly``.
  public let isReadOnly: Bool
  /// The size in bytes of the store's file. For a store in the app's own database, the size of the whole database.
  public let fileSize: Int
  /// The number of unused bytes in the file, which later saves reuse.
  public let freeBytes: Int
  /// The size in bytes of the write-ahead log, or `nil` if the store is in memory or in the app's own database.
  public let journalSize: Int?
  /// The identifiers of the processes that are currently reading from the write-ahead log, possibly including this process. A
  /// process that reads from the log prevents truncation. `nil` if the store is in memory or in the app's own database, or if
  /// the system does not provide the identifiers.
  public let journalReaders: [Int]?

  /// The number of revisions, not counting deletions.
  public var revisions: Int { types.reduce(0) { $0 + $1.revisions } }
  /// The number of keys that have a value.
  public var keys: Int { types.reduce(0) { $0 + $1.heads } }
}

extension StoreStatus.TypeCount: CustomStringConvertible {
  /// One line, such as `Note 2: 12 revisions, including the last revision of 3 keys`.
  public var description: String {
    let name = typeName + (modelVersion.map { " \($0)" } ?? "")
    let keys = heads.counting("key")
    return "\(name): \(revisions.counting("revision")), including the last revision of \(keys)"
      .onOneLine
  }
}

extension StoreStatus: CustomStringConvertible {
  /// One line with the number of keys, the number of revisions, the size of the file and the last sequence. If there are failed
  /// upgrades or the store is read-only, the line includes this as well.
  public var description: String {
    "\(keys.counting("key")), \(revisions.counting("revision")), \(fileSize.counting("byte")), sequence \(sequence)"
      + (failedUpgrades > 0 ? ", \(failedUpgrades.counting("failed upgrade"))" : "") + (isReadOnly ? ", read-only" : "")
  }
}

extension SnapshotStore {
  /// Returns statistics of the store. Reads only the stored counts, not the revisions themselves.
  ///
  /// - Throws: ``StoreError`` with the code `newerStore`, `damaged` or `fileSystem`.
  /// - Complexity: linear in the number of types and of revisions that could not be upgraded.
  public func status() async throws -> StoreStatus { try await StoreWork.run { _ in try StoreStatus(of: self) } }

  /// The synchronous variant of ``status()``.
  public func status() throws -> StoreStatus { try StoreWork.runNow { _ in try StoreStatus(of: self) } }
}

extension StoreStatus {
  init(of store: SnapshotStore) throws {
    // Looks up the readers first, so that they do not include this call's own transaction.
    let size = store.journal?.size, readers = store.journal?.readers
    self = try store.read { transaction in
      let db = transaction.db
      guard let versions = try store.tables.versions(in: db) else {
        throw StoreError(.notAStore, "the store's tables no longer exist")
      }
      try store.tables.checkCounts(in: db)
      let types = try StatementRow.all(
        of: transaction.statement(
          """
          SELECT d.type, d.version, sum(c.revisions), sum(c.heads) FROM \(store.tables.counts) c
          JOIN \(store.tables.definitions) d ON d.id = c.definition
          GROUP BY d.type, d.version HAVING sum(c.revisions) > 0 ORDER BY d.type, d.version
          """)
      ) { row in
        TypeCount(
          typeName: try row.column(0), modelVersion: try row.nullable(1), revisions: try row.column(2),
          heads: try row.column(3))
      }
      func number(_ sql: String) throws -> Int { try Int.fetchOne(db, sql: sql) ?? 0 }
      let page = try number("PRAGMA page_size")
      return StoreStatus(
        types: types, failedUpgrades: try number("SELECT count(*) FROM \(store.tables.failures)"),
        sequence: try store.lastSequence(in: db), format: versions.format, minimumReader: versions.minimumReader,
        minimumWriter: versions.minimumWriter, isReadOnly: store.isReadOnly,
        fileSize: try number("PRAGMA page_count") * page, freeBytes: try number("PRAGMA freelist_count") * page,
        journalSize: size, journalReaders: readers)
    }
  }
}
