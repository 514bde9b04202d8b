internal import Foundation
internal import GRDB
internal import StrataCore

/// Brings the tables of a store to the format that this program writes.
///
/// All steps are one transaction, so that a failure or the end of the process leaves the old format. Before it, what the file holds
/// goes to a safety copy, `NAME.before-schema-N`. After it, the file is read once more by a connection that did not write it; until
/// that is done, a row of `meta` says so, which the next opening finds, and where the file is then not whole, the copy is put back.
struct SchemaChange {
  /// The row of `meta` that is there between the change's commit and the last look at it.
  private static let mark = "schemaChange"

  let tables: StoreTables
  /// The file; `nil` for a store inside of a database of the app's own, or in memory, which gets no copy.
  let path: String?

  private var copyPath: String? { path.map { "\($0).before-schema-\(tables.schema.format)" } }

  /// Does what is to be done, and nothing where the store has today's format.
  ///
  /// - Throws: ``StoreError`` with the code `schemaChangeFailed`, after which the store is as it was; those of the database.
  func run(in writer: any DatabaseWriter) throws {
    // One that was cut off after its commit comes first.
    try finish(in: writer)
    guard let found = try writer.read({ try tables.versions(in: $0) }), found.format < tables.schema.format else {
      return
    }
    do { try change(writer) } catch let error as StoreError { throw error } catch let error as DatabaseError
      where error.resultCode != .SQLITE_CONSTRAINT && error.resultCode != .SQLITE_ERROR
    {
      // Of what the system refuses the kind is what matters: it is busy, or there is no room. The store is as it was.
      throw StoreError.ofDatabase(error)
    } catch { throw Self.failed("the store is as it was", error) }
    try tables.schema.afterCommit()
    try finish(in: writer)
  }

  private static func failed(_ what: String, _ error: (any Error)?) -> StoreError {
    StoreError(
      .schemaChangeFailed,
      "the tables could not be brought to the format of this program; \(what); open it for reading, or with the program "
        + "before", underlying: error)
  }

  private func change(_ writer: any DatabaseWriter) throws {
    try writer.writeWithoutTransaction { db in
      // Tables are made anew under their names, which references must outlive. It is no setting of a transaction.
      let hadKeys = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? true
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      defer {
        // It only sets a number, and fails where the connection is closed.
        try? db.execute(sql: "PRAGMA foreign_keys = \(hadKeys ? "ON" : "OFF")")
      }
      try db.inTransaction(.immediate) {
        // Another process may have been faster; from here on none saves.
        guard let found = try tables.versions(in: db), found.format < tables.schema.format else { return .commit }
        try copy(writer)
        try tables.apply(from: found.format, in: db)
        try db.execute(
          sql: "INSERT OR REPLACE INTO \(tables.meta) (name, value) VALUES (?, ?)",
          arguments: [Self.mark, found.format])
        if let problem = try Self.problem(db) {
          throw Self.failed("the store is as it was", StoreError(.damaged, problem))
        }
        return .commit
      }
    }
  }

  private static func problem(_ db: Database) throws -> String? {
    let lines = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
    if lines != ["ok"] { return lines.first ?? "quick_check says nothing" }
    let broken = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check")
    return broken.map { "a row of \($0[0] as String? ?? "a table") refers to one that is not there" }
  }

  /// Writes the store as it is to the safety copy, while nobody can save.
  private func copy(_ writer: any DatabaseWriter) throws {
    guard let path, let copyPath else { return }
    let temporary = copyPath + ".tmp"
    // One that a killed process left is of no use, and where it cannot be removed, it cannot be written either.
    for suffix in ["", "-journal", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: temporary + suffix) }
    let target = try DatabaseQueue(path: temporary)
    // A connection of its own, which sees what is committed.
    let source = try DatabaseQueue(path: path)
    try source.backup(to: target)
    let lines = try target.writeWithoutTransaction { db in
      guard try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE") == "delete" else { return ["no single file"] }
      return try String.fetchAll(db, sql: "PRAGMA quick_check")
    }
    try target.close()
    try source.close()
    guard lines == ["ok"] else {
      throw StoreError(
        .damaged,
        "the store is damaged, and its tables stay as they are: \(lines.first ?? ""); check it, then salvage it")
    }
    do { try AtomicFile.place(URL(fileURLWithPath: temporary), at: URL(fileURLWithPath: copyPath)) } catch {
      throw StoreError(.fileSystem, "the safety copy could not be written; the store is as it was", underlying: error)
    }
  }

  /// Looks at a store whose format was changed, and puts the safety copy back where it is not whole.
  private func finish(in writer: any DatabaseWriter) throws {
    guard let path, let copyPath else {
      return try writer.write { try $0.execute(sql: "DELETE FROM \(tables.meta) WHERE name = '\(Self.mark)'") }
    }
    func hasMark(_ db: Database) throws -> Bool {
      try Int.fetchOne(db, sql: "SELECT value FROM \(tables.meta) WHERE name = '\(Self.mark)'") != nil
    }
    guard try writer.read(hasMark) else { return }
    var problem: String?
    do {
      let reader = try DatabaseQueue(path: path)
      problem = try reader.read { try Self.problem($0) }
      try reader.close()
    } catch  where StoreError.isDamage(error) { problem = "SQLite cannot read it" }
    guard let problem else {
      return try writer.write { try $0.execute(sql: "DELETE FROM \(tables.meta) WHERE name = '\(Self.mark)'") }
    }
    let copy = try DatabaseQueue(path: copyPath, configuration: readOnly)
    // Nobody has saved since: every program comes by here before it opens the store.
    try copy.backup(to: writer)
    try copy.close()
    throw Self.failed("the safety copy was put back", StoreError(.damaged, problem))
  }

  private var readOnly: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    return configuration
  }
}
