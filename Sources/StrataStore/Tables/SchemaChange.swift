internal import Foundation
internal import GRDB
internal import StrataCore

/// Changes the tables of a store to the format that this program writes.
///
/// All steps run in one transaction, so that a failure or a crash leaves the old format. Before the steps, the file is copied to a
/// safety copy, `NAME.before-schema-N`. After the commit, another connection checks the file. Until that is done, a row of `meta`
/// marks the change as unfinished, and no program saves (``StoreVersions/checkWritable()``). If the process ends before, the next
/// opening finds the row and checks the file. If the check fails, the copy is restored: nothing was saved since.
struct SchemaChange {
  let tables: StoreTables
  /// The file; `nil` for a store in the app's own database or in memory, which gets no copy.
  let path: String?
  /// The time in seconds to wait for another process that finishes a change.
  let busyTimeout: TimeInterval

  /// The safety copy of a file before a change to a format.
  private static func copyPath(_ path: String, format: Int) -> String { "\(path).before-schema-\(format)" }

  /// Finishes an interrupted change, and changes the tables of an older format.
  ///
  /// - Throws: ``StoreError`` with the code `schemaChangeFailed`, after which the store has its old state, unless the safety
  ///   copy was lost; errors of the database.
  func run(in writer: any DatabaseWriter) throws {
    // A change that was interrupted after its commit is finished first.
    try finish(in: writer)
    guard let found = try versions(writer), found.format < tables.schema.format else { return }
    do { try change(writer) } catch let error as StoreError { throw error } catch let error as DatabaseError
      where error.resultCode != .SQLITE_CONSTRAINT && error.resultCode != .SQLITE_ERROR
    {
      // Errors of the system keep their code, such as `busy` or `full`. The store is unchanged.
      throw StoreError.ofDatabase(error)
    } catch { throw Self.failed("the store is as it was", error) }
    try tables.schema.afterCommit()
    try finish(in: writer)
  }

  private func versions(_ writer: any DatabaseWriter) throws -> StoreVersions? {
    try writer.read { db in try db.withStoreErrors { try tables.versions(in: db) } }
  }

  private static func failed(_ what: String, _ error: (any Error)?) -> StoreError {
    StoreError(
      .schemaChangeFailed,
      "the tables could not be converted to this program's format; \(what); open the store read-only, or with the previous "
        + "program", underlying: error)
  }

  private func change(_ writer: any DatabaseWriter) throws {
    try writer.writeWithoutTransaction { db in try db.withStoreErrors { try change(writer, db) } }
  }

  private func change(_ writer: any DatabaseWriter, _ db: Database) throws {
    // Steps may create tables anew under their names, and references must survive that. The setting cannot change within a transaction.
    let hadKeys = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? true
    try db.execute(sql: "PRAGMA foreign_keys = OFF")
    defer {
      // It only sets a number, and fails if the connection is closed.
      try? db.execute(sql: "PRAGMA foreign_keys = \(hadKeys ? "ON" : "OFF")")
    }
    try db.inTransaction(.immediate) {
      // Another process may have been faster. From now on no other process saves.
      guard let found = try tables.versions(in: db), found.format < tables.schema.format else { return .commit }
      try copy(writer)
      try tables.apply(from: found.format, in: db)
      if path != nil { try tables.setChanging(true, in: db) }
      if let problem = try problem(db) {
        throw Self.failed("the store is as it was", StoreError(.damaged, problem))
      }
      return .commit
    }
  }

  /// The first problem of the store's tables; `nil` if there is none. Other tables of the app's database are not checked.
  private func problem(_ db: Database) throws -> String? {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ?",
      arguments: [tables.prefix.utf8.count, tables.prefix])
    // In the store's own file, the free list, which belongs to no table, is checked too.
    for name in tables.prefix.isEmpty ? ["1"] : names.map(\.quotedDatabaseIdentifier) {
      if let problem = try db.pageProblems("quick_check(\(name))").first { return problem }
    }
    for name in names {
      let broken = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check(\(name.quotedDatabaseIdentifier))")
      if broken != nil { return "a row of \(name) refers to one that is not there" }
    }
    return nil
  }

  /// Writes the safety copy, while no other connection can save.
  private func copy(_ writer: any DatabaseWriter) throws {
    guard let path else { return }
    let url = URL(fileURLWithPath: Self.copyPath(path, format: tables.schema.format))
    do {
      try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let target = try DatabaseFile.open(copy.path)
        // A separate connection sees only committed data.
        let source = try DatabaseFile.open(path)
        try source.backup(to: target)
        try source.close()
        if let problem = try DatabaseFile.close(copy: target) {
          throw StoreError(
            .damaged, "the store is damaged, and its tables stay as they are: \(problem); check it, then salvage it")
        }
        try AtomicFile.place(copy, at: url)
      }
    } catch { throw StoreError.ofFile(error, "the safety copy could not be written; the store is as it was") }
  }

  /// Checks a store whose format was changed, and restores the safety copy if it is damaged.
  private func finish(in writer: any DatabaseWriter) throws {
    // The change may have been made by another program, to another format.
    guard let path, let versions = try versions(writer), versions.isChanging else { return }
    let copyPath = Self.copyPath(path, format: versions.format)
    // The copy is locked meanwhile, so that no other process undoes the result.
    try withLock(onFile: copyPath) { exists in
      guard try self.versions(writer)?.isChanging == true else { return }
      guard let problem = try problem(ofFile: path) else {
        return try writer.write { try tables.setChanging(false, in: $0) }
      }
      let cause = StoreError(.damaged, problem)
      guard exists else { throw Self.failed("there is no safety copy any more, so that it stays as it is", cause) }
      let copy = try DatabaseFile.open(copyPath, readOnly)
      try copy.backup(to: writer)
      try copy.close()
      throw Self.failed("the safety copy was put back", cause)
    }
  }

  private func problem(ofFile path: String) throws -> String? {
    do {
      let reader = try DatabaseFile.open(path)
      defer {
        // The connection only read. If closing fails, it closes when it is deallocated.
        try? reader.close()
      }
      return try reader.read { db in try db.withStoreErrors { try problem(db) } }
    } catch  where StoreError.isDamage(error) { return "SQLite cannot read it" }
  }

  /// Runs `body` with a write lock on a SQLite database, which others may read meanwhile. Without a file, there is no lock.
  private func withLock(onFile path: String, _ body: (_ exists: Bool) throws -> Void) throws {
    guard try FileStatus(ofPath: path) != nil else { return try body(false) }
    var configuration = Configuration()
    configuration.busyMode = .timeout(busyTimeout)
    let queue = try DatabaseFile.open(path, configuration)
    try queue.writeWithoutTransaction { db in
      try db.inTransaction(.immediate) {
        try body(true)
        return .rollback
      }
    }
    try queue.close()
  }

  private var readOnly: Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    return configuration
  }
}
