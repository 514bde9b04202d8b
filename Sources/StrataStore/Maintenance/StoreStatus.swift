internal import Foundation
internal import GRDB
internal import StrataCore

/// What a store holds, and in which state it is.
public struct StoreStatus: Sendable {
  /// How many revisions there are of a type in a version.
  public struct TypeCount: Sendable, Hashable {
    /// The registered name of the type.
    public let typeName: String
    /// The version of the model; `nil` for what is no model.
    public let modelVersion: Int?
    /// All revisions.
    public let revisions: Int
    /// Those that are the last ones of their keys.
    public let heads: Int
  }

  /// The types and versions, in the order of their names; deletions are not counted.
  public let types: [TypeCount]
  /// How many revisions an upgrade could not bring to today's version.
  public let failedUpgrades: Int
  /// The ``StoreRevision/sequence`` of the last save; 0 where there is none.
  public let sequence: Int64
  /// The format of the store.
  public let format: Int
  /// The least format that a program must know to read the store.
  public let minimumReader: Int
  /// The least format that a program must know to write the store.
  public let minimumWriter: Int
  /// Whether this program can only read it.
  public let isReadOnly: Bool
  /// The bytes of the file, or of the whole database of the app.
  public let fileSize: Int
  /// The bytes of it that are free, for what is saved next.
  public let freeBytes: Int
  /// The bytes of the journal (WAL) beside the file; `nil` where the store has no file of its own.
  public let journalSize: Int?
  /// The numbers of the processes that read from the journal at this moment, this one among them where it does: those that
  /// keep it from being shortened. `nil` where the store has no file of its own, or the system does not tell.
  public let journalReaders: [Int]?

  /// All revisions but deletions.
  public var revisions: Int { types.reduce(0) { $0 + $1.revisions } }
  /// All keys that have a value.
  public var keys: Int { types.reduce(0) { $0 + $1.heads } }
}

extension StoreStatus.TypeCount: CustomStringConvertible {
  /// `Note 2: 12 revisions, 3 of them the last ones of their keys`
  public var description: String {
    let version = modelVersion.map { " \($0)" } ?? ""
    return "\(typeName)\(version): \(revisions.counting("revision")), \(heads) of them the last ones of their keys"
      .onOneLine
  }
}

extension StoreStatus: CustomStringConvertible {
  /// One line: how much there is, and the size of the file.
  public var description: String {
    "\(keys.counting("key")), \(revisions.counting("revision")), \(fileSize.counting("byte")), sequence \(sequence)"
      + (failedUpgrades > 0 ? ", \(failedUpgrades.counting("failed upgrade"))" : "") + (isReadOnly ? ", read-only" : "")
  }
}

extension SnapshotStore {
  /// Tells what the store holds from its counts, without a look at the revisions.
  ///
  /// - Throws: ``StoreError`` with the code `newerStore`, `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of types and of failed upgrades.
  public func status() async throws -> StoreStatus { try await StoreWork.run { [core] _ in try StoreStatus(of: core) } }

  /// As ``status()``, where there is no concurrency.
  public func status() throws -> StoreStatus { try StoreWork.runNow { _ in try StoreStatus(of: core) } }
}

extension StoreStatus {
  init(of core: StoreCore) throws {
    // Before this reads itself.
    let size = core.journal?.size, readers = core.journal?.readers
    self = try core.read { transaction in
      let db = transaction.db
      guard let versions = try core.tables.versions(in: db) else {
        throw StoreError(.notAStore, "the tables of the store are gone")
      }
      try core.tables.checkCounts(in: db)
      let types = try StatementRow.all(
        of: transaction.statement(
          """
          SELECT d.type, d.version, sum(c.revisions), sum(c.heads) FROM \(core.tables.counts) c
          JOIN \(core.tables.definitions) d ON d.id = c.definition
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
        types: types, failedUpgrades: try number("SELECT count(*) FROM \(core.tables.failures)"),
        sequence: try core.lastSequence(in: db), format: versions.format, minimumReader: versions.minimumReader,
        minimumWriter: versions.minimumWriter, isReadOnly: core.isReadOnly,
        fileSize: try number("PRAGMA page_count") * page, freeBytes: try number("PRAGMA freelist_count") * page,
        journalSize: size, journalReaders: readers)
    }
  }
}
