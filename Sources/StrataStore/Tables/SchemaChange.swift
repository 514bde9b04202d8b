internal import Foundation
internal import GRDB
internal import StrataCore

/// Brings the tables of a store to the format that this program writes.
///
/// All steps are one transaction, so that a failure or the end of the process leaves the old format. Before it, what the file holds
/// goes to a safety copy, `NAME.before-schema-N`. After it, the file is read once more by a connection that did not write it; until
/// that is done, a row of `meta` says so, and while it is there no program saves (``StoreVersions/checkWritable()``). The next
/// opening finds the row, and where the file is then not whole, the copy is put back: nothing was saved since.
struct SchemaChange {
  let tables: StoreTables
  /// The file; `nil` for a store inside of a database of the app's own, or in memory, which gets no copy.
  let path: String?
  /// How long another process that finishes a change is waited for, in seconds.
  let busyTimeout: TimeInterval

  /// The safety copy of a file before a change to a format.
  private static func copyPath(_ path: String, format: Int) -> String { "\(path).before-schema-\(format)" }

  /// Does what is to be done, and nothing where the store has today's format.
  ///
  /// - Throws: ``StoreError`` with the code `schemaChangeFailed`, after which the store is as it was; those of the database.
  func run(in writer: any DatabaseWriter) throws {
    // One that was cut off after its commit comes first.
    try finish(in: writer)
    guard let found = try versions(writer), found.format < tables.schema.format else { return }
    do { try change(writer) } catch let error as StoreError { throw error } catch let error as DatabaseError
      where error.resultCode != .SQLITE_CONSTRAINT && error.resultCode != .SQLITE_ERROR
    {
      // Of what the system refuses the kind is what matters: it is busy, or there is no room. The store is as it was.
      throw StoreError.ofDatabase(error)
    } catch { throw Self.failed("the store is as it was", error) }
    try tables.schema.afterCommit()
    try finish(in: writer)
  }

  private func versions(_ writer: any DatabaseWriter) throws -> StoreVersions? {
    try writer.read { db in try db.telling { try tables.versions(in: db) } }
  }

  private static func failed(_ what: String, _ error: (any Error)?) -> StoreError {
    StoreError(
      .schemaChangeFailed,
      "the tables could not be brought to the format of this program; \(what); open it for reading, or with the program "
        + "before", underlying: error)
  }

  private func change(_ writer: any DatabaseWriter) throws {
    try writer.writeWithoutTransaction { db in try db.telling { try change(writer, db) } }
  }

  private func change(_ writer: any DatabaseWriter, _ db: Database) throws {
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
      if path != nil { try tables.setChanging(true, in: db) }
      if let problem = try problem(db) {
        throw Self.failed("the store is as it was", StoreError(.damaged, problem))
      }
      return .commit
    }
  }

  /// What is wrong with the tables of the store; those of an app, whose database it may be in, are not looked at.
  private func problem(_ db: Database) throws -> String? {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, ?) = ?",
      arguments: [tables.prefix.utf8.count, tables.prefix])
    // What belongs to no table, the list of free pages, is looked at where the file is the store's own.
    for name in tables.prefix.isEmpty ? ["1"] : names.map(\.quotedDatabaseIdentifier) {
      if let problem = try db.pageProblems("quick_check(\(name))").first { return problem }
    }
    for name in names {
      let broken = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check(\(name.quotedDatabaseIdentifier))")
      if broken != nil { return "a row of \(name) refers to one that is not there" }
    }
    return nil
  }

  /// Writes the store as it is to the safety copy, while nobody can save.
  private func copy(_ writer: any DatabaseWriter) throws {
    guard let path else { return }
    let url = URL(fileURLWithPath: Self.copyPath(path, format: tables.schema.format))
    do {
      try TemporaryFiles.withFolder(beside: url) { folder in
        let copy = folder.appending(path: "copy")
        let target = try DatabaseFile.open(copy.path)
        // A connection of its own, which sees what is committed.
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

  /// Looks at a store whose format was changed, and puts the safety copy back where it is not whole.
  private func finish(in writer: any DatabaseWriter) throws {
    // The change may be that of another program, to another format.
    guard let path, let versions = try versions(writer), versions.isChanging else { return }
    let copyPath = Self.copyPath(path, format: versions.format)
    // Whoever finishes has the copy locked: what one process found and has ended, another one must not undo.
    try withLock(onFile: copyPath) { isThere in
      guard try self.versions(writer)?.isChanging == true else { return }
      guard let problem = try problem(ofFile: path) else {
        return try writer.write { try tables.setChanging(false, in: $0) }
      }
      let cause = StoreError(.damaged, problem)
      guard isThere else { throw Self.failed("there is no safety copy any more, so that it stays as it is", cause) }
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
        // It only read; what keeps it from closing now closes it when nothing refers to it.
        try? reader.close()
      }
      return try reader.read { db in try db.telling { try problem(db) } }
    } catch  where StoreError.isDamage(error) { return "SQLite cannot read it" }
  }

  /// Runs something while no other process does so with the same file, a database of SQLite, which others may read meanwhile.
  private func withLock(onFile path: String, _ body: (_ isThere: Bool) throws -> Void) throws {
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
