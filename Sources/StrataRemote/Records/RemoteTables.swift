internal import Foundation
internal import GRDB

/// The tables that the library adds to the app's database. They contain the unsent changes and what is known about the records on the
/// server.
///
/// For a record without unsent changes, the only additional row is in `strata_remote_records`. The server's values are
/// not stored again, because the record's row in the app's table has the same values and serves as the merge base.
enum RemoteTables {
  /// The version of the table layout. A database with a newer version is refused.
  static let format = 2

  /// Creates the tables if they do not exist.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if a newer version of the library created them.
  static func create(_ db: Database) throws {
    try db.execute(sql: sql)
    let found = try Int.fetchOne(db, sql: "SELECT value FROM strata_remote_meta WHERE name = 'format'")
    guard let found else {
      try db.execute(sql: "INSERT INTO strata_remote_meta VALUES ('format', ?)", arguments: [format])
      return
    }
    guard found <= format else {
      throw RemoteError(
        .store,
        "the RemoteStore's tables have format \(found), but this program supports only formats up to \(format); update "
          + "the program")
    }
    guard found < format else { return }
    for column in ["owner TEXT", "until REAL"] {
      try db.execute(sql: "ALTER TABLE strata_remote_changes ADD COLUMN \(column)")
    }
    try db.execute(sql: "UPDATE strata_remote_meta SET value = ? WHERE name = 'format'", arguments: [format])
  }

  /// Deletes the rows of `strata_remote_deleted` that are more than a day older than `time`. Such a row only prevents a late response
  /// from restoring a deleted record, and no response arrives that late.
  static func forgetDeletions(before time: Date, _ db: Database) throws {
    let limit = Int64(clamping: Int(max(0, min(4e18, (time.timeIntervalSince1970 - 86_400) * 1_000_000))))
    try db.execute(sql: "DELETE FROM strata_remote_deleted WHERE applied < ?", arguments: [limit])
  }

  /// Stores the number of a reset, which removes all rows. Resets and requests share one sequence of numbers. Responses to requests
  /// with smaller numbers are dropped, so that they do not restore the rows.
  static func noteReset(_ number: Int64, _ db: Database) throws {
    try db.execute(sql: "INSERT OR REPLACE INTO strata_remote_meta VALUES ('reset', ?)", arguments: [number])
  }

  /// Whether the request with the given number was sent before the latest reset.
  static func isBeforeReset(_ number: Int64, _ db: Database) throws -> Bool {
    let reset = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM strata_remote_meta WHERE name = 'reset'"))
    return reset.map { number < $0 } ?? false
  }

  /// Records that the response to the request with this number was merged for an entity. If no response to a later request has been
  /// merged, the records of a response need not be checked one by one for newer values.
  static func noteApplied(_ entity: MappedEntity, _ number: Int64, _ db: Database) throws {
    try db.execute(
      cached: """
        INSERT INTO strata_remote_meta VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
        """, ["applied/" + entity.name, number])
  }

  /// The `record` columns have no declared type, because a primary key can have any type.
  private static let sql = """
    CREATE TABLE IF NOT EXISTS strata_remote_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    -- What a server has sent: the number of the last request whose answer counts, and its validators.
    CREATE TABLE IF NOT EXISTS strata_remote_records (
      entity TEXT NOT NULL, record NOT NULL, applied INTEGER NOT NULL, etag TEXT, modified TEXT,
      PRIMARY KEY (entity, record)) WITHOUT ROWID;
    -- Records that the server no longer has, so that an answer from before does not bring them back.
    CREATE TABLE IF NOT EXISTS strata_remote_deleted (
      entity TEXT NOT NULL, id NOT NULL, applied INTEGER NOT NULL, PRIMARY KEY (entity, id)) WITHOUT ROWID;
    -- One row for each record with changes that have not been sent; and, where it is on its way, what was sent.
    CREATE TABLE IF NOT EXISTS strata_remote_changes (
      number INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, entity TEXT NOT NULL, record NOT NULL, id,
      kind TEXT NOT NULL CHECK (kind IN ('insert', 'update', 'delete')),
      state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'refused')),
      attempts INTEGER NOT NULL DEFAULT 0, not_before REAL, code TEXT, reason TEXT, status INTEGER,
      verb TEXT, url TEXT, body BLOB, headers TEXT, idempotency_key TEXT UNIQUE, request INTEGER,
      owner TEXT, until REAL, UNIQUE (entity, record));
    -- The values of columns that were sent.
    CREATE TABLE IF NOT EXISTS strata_remote_sent (
      number INTEGER NOT NULL, field TEXT NOT NULL, value, PRIMARY KEY (number, field)) WITHOUT ROWID;
    -- What columns had before they were changed here.
    CREATE TABLE IF NOT EXISTS strata_remote_edits (
      entity TEXT NOT NULL, record NOT NULL, field TEXT NOT NULL, base, PRIMARY KEY (entity, record, field)) WITHOUT ROWID;
    -- What both sides changed and no rule decided. The row has the value from here.
    CREATE TABLE IF NOT EXISTS strata_remote_conflicts (
      number INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, entity TEXT NOT NULL, record NOT NULL,
      field TEXT NOT NULL, part TEXT NOT NULL, path TEXT NOT NULL, base, server, UNIQUE (entity, record, field, part));
    -- The ids that records had here before the server gave them theirs.
    CREATE TABLE IF NOT EXISTS strata_remote_ids (
      entity TEXT NOT NULL, old NOT NULL, new NOT NULL, PRIMARY KEY (entity, old)) WITHOUT ROWID;
    -- References to records that have not come yet.
    CREATE TABLE IF NOT EXISTS strata_remote_awaited (
      entity TEXT NOT NULL, record NOT NULL, field TEXT NOT NULL, target TEXT NOT NULL, id NOT NULL,
      PRIMARY KEY (entity, record, field)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS strata_remote_awaited_target ON strata_remote_awaited (target, id);
    -- What is kept of answers, for conditional requests.
    CREATE TABLE IF NOT EXISTS strata_remote_copies (
      account TEXT NOT NULL, url TEXT NOT NULL, entity TEXT NOT NULL, copy BLOB NOT NULL, applied INTEGER NOT NULL,
      PRIMARY KEY (account, url)) WITHOUT ROWID;
    """
}
