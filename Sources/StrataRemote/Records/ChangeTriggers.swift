internal import Foundation
internal import GRDB
internal import StrataStore

/// Records all changes that the app makes to the tables of the entities, whether it uses models, GRDB records or SQL.
///
/// The changes are recorded by temporary SQLite triggers on the only writing connection. Temporary triggers do not modify the app's
/// schema and disappear when the database is closed. They ignore writes that merge a server response.
enum ChangeTriggers {
  /// Creates the triggers. `db` must be the writing connection.
  static func create(_ entities: [MappedEntity], account: String, _ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TEMP TABLE IF NOT EXISTS strata_remote_session (account TEXT NOT NULL, applying INTEGER NOT NULL);
        DELETE FROM temp.strata_remote_session;
        -- The server's ids of rows that an insert takes the place of.
        CREATE TEMP TABLE IF NOT EXISTS strata_remote_replaced (entity TEXT PRIMARY KEY, record, id);
        """)
    try db.execute(sql: "INSERT INTO temp.strata_remote_session VALUES (?, 0)", arguments: [account])
    for entity in entities {
      for statement in ChangeTriggers.Statements(entity).all { try db.execute(sql: statement) }
    }
  }

  /// Calls `body` while the triggers are switched off, for writes that are not changes by the app.
  static func withoutRecording<T>(_ db: Database, _ body: () throws -> T) throws -> T {
    try db.execute(sql: "UPDATE temp.strata_remote_session SET applying = applying + 1")
    // If `body` throws, the caller rolls back the transaction, including this update.
    let result = try body()
    try db.execute(sql: "UPDATE temp.strata_remote_session SET applying = applying - 1")
    return result
  }

  /// Returns the account for which changes are recorded on this connection.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if a trigger is missing. The triggers of a table are missing if the app has
  ///   dropped and recreated the table, because SQLite drops them together with the table. Without a trigger, edits would not be
  ///   recorded, and the next response would overwrite them.
  static func account(_ entities: [MappedEntity], _ db: Database) throws -> String? {
    let names = entities.flatMap { entity in Self.kinds.map { name($0, entity) } }
    let places = names.map { _ in "?" }.joined(separator: ", ")
    let count = try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT count(*) FROM temp.sqlite_master WHERE type = 'trigger' AND name IN (\(places))"),
      arguments: StatementArguments(names))
    guard count == names.count else {
      throw RemoteError(
        .store,
        "a table was recreated, so its changes are no longer recorded; create the RemoteStore after all migrations"
      )
    }
    return try String.fetchOne(db.cachedStatement(sql: "SELECT account FROM temp.strata_remote_session"))
  }

  private static let kinds = ["insert_before", "insert", "update", "delete"]

  private static func name(_ kind: String, _ entity: MappedEntity) -> String {
    "strata_remote_\(kind)_\(entity.table.name)"
  }

  private struct Statements {
    private let entity: MappedEntity
    private let name: String
    private let key: String
    private let table: String

    init(_ entity: MappedEntity) {
      self.entity = entity
      name = entity.name.sqlText
      key = entity.keyColumn.quotedDatabaseIdentifier
      table = entity.quotedTable
    }

    var all: [String] {
      [
        trigger("insert_before", "BEFORE INSERT", beforeInsert), trigger("insert", "AFTER INSERT", afterInsert),
        trigger("update", "AFTER UPDATE", afterUpdate), trigger("delete", "AFTER DELETE", afterDelete),
      ].flatMap(\.self)
    }

    private func trigger(_ kind: String, _ event: String, _ body: String) -> [String] {
      let trigger = ChangeTriggers.name(kind, entity).quotedDatabaseIdentifier
      return [
        "DROP TRIGGER IF EXISTS temp.\(trigger)",
        """
        CREATE TEMP TRIGGER \(trigger) \(event) ON main.\(table)
        WHEN (SELECT applying FROM strata_remote_session) = 0 BEGIN
        \(body)
        END
        """,
      ]
    }

    private var account: String { "(SELECT account FROM strata_remote_session)" }

    private func change(_ row: String) -> String { "entity = \(name) AND record = \(row).\(key)" }

    /// Returns an SQL condition that is true if the record of a row has unsent changes.
    ///
    /// The triggers check this condition instead of using a conflict clause such as `INSERT OR IGNORE`. SQLite replaces
    /// a conflict clause in a trigger with the clause of the statement that fired the trigger (see the documentation of
    /// `CREATE TRIGGER`).
    private func isKnown(_ row: String, kind: String? = nil) -> String {
      let extra = kind.map { " AND kind = '\($0)'" } ?? ""
      return "EXISTS (SELECT 1 FROM strata_remote_changes WHERE \(change(row))\(extra))"
    }

    /// Returns SQL that deletes leftover edits of a record that has no unsent changes. Edits are recorded before an `INSERT` and are
    /// left over if the `INSERT` then has no effect.
    private func forget(_ row: String) -> String {
      "DELETE FROM strata_remote_edits WHERE \(change(row)) AND NOT \(isKnown(row));"
    }

    /// Returns SQL that aborts a change to a record that has unsent changes made under another account. Without this check, changes
    /// made under one account would be sent with the other account's token.
    private func checkAccount(_ row: String) -> String {
      """
      SELECT RAISE(ABORT, 'strata: the record has unsent changes of another account; send or discard them first')
      WHERE EXISTS (SELECT 1 FROM strata_remote_changes WHERE \(change(row)) AND account <> \(account));
      """
    }

    /// Returns an SQL condition that is true if the value of a column has changed. Any change to the stored bytes or their type is
    /// detected. A plain SQL comparison would use the column's collation and treat 1 and 1.0 as equal.
    private func isChanged(_ column: String) -> String {
      let quoted = column.quotedDatabaseIdentifier
      return "(NEW.\(quoted) IS NOT OLD.\(quoted) COLLATE BINARY OR typeof(NEW.\(quoted)) <> typeof(OLD.\(quoted)))"
    }

    /// Returns SQL that saves the previous values of columns as the merge bases of edits. A record that the server does
    /// not have yet needs no bases.
    private func keep(_ row: String, where condition: String? = nil) -> String {
      entity.fields.filter(\.isSent).map { field in
        let column = field.column.quotedDatabaseIdentifier
        let extra = condition == nil ? "" : " AND \(isChanged(field.column))"
        return """
          INSERT INTO strata_remote_edits SELECT \(name), \(row).\(key), \(field.column.sqlText), \(row).\(column)
          WHERE NOT \(isKnown(row, kind: "insert")) AND NOT \(isKept(field, row))\(extra);
          """
      }.joined(separator: "\n")
    }

    private func isKept(_ field: MappedEntity.Field, _ row: String) -> String {
      "EXISTS (SELECT 1 FROM strata_remote_edits WHERE \(change(row)) AND field = \(field.column.sqlText))"
    }

    private let retried = "state = 'waiting', not_before = NULL, code = NULL, reason = NULL, status = NULL"

    private var beforeInsert: String {
      // The old values are saved before the row is inserted, because `INSERT OR REPLACE` deletes a conflicting row
      // without firing a trigger.
      let kept = entity.fields.filter(\.isSent).map { field in
        let column = field.column.quotedDatabaseIdentifier
        return """
          INSERT INTO strata_remote_edits
          SELECT \(name), old.\(key), \(field.column.sqlText), old.\(column) FROM \(table) AS old
          WHERE old.\(key) = NEW.\(key) AND NOT \(isKnown("NEW", kind: "insert")) AND NOT \(isKept(field, "NEW"));
          """
      }
      return ([forget("NEW")] + kept + (entity.idIsKey ? [] : [replacedID])).joined(separator: "\n")
    }

    private var id: String { entity.idColumn.quotedDatabaseIdentifier }

    private var replacedID: String {
      """
      DELETE FROM strata_remote_replaced WHERE entity = \(name);
      INSERT INTO strata_remote_replaced
      SELECT \(name), old.\(key), old.\(id) FROM \(table) AS old WHERE old.\(key) = NEW.\(key) AND old.\(id) IS NOT NULL;
      """
    }

    /// SQL that keeps the server's id of a record if the app replaces the row with an older copy of the record that has no id yet.
    private var keptID: String {
      guard !entity.idIsKey else { return "" }
      let known = """
        coalesce((SELECT id FROM strata_remote_replaced WHERE \(change("NEW"))),
          (SELECT id FROM strata_remote_changes WHERE \(change("NEW")) AND kind = 'update'))
        """
      return """
        UPDATE \(table) SET \(id) = \(known) WHERE \(key) = NEW.\(key) AND \(id) IS NULL AND \(known) IS NOT NULL;
        UPDATE strata_remote_changes SET id = \(known) WHERE \(change("NEW")) AND kind = 'update' AND id IS NULL;
        DELETE FROM strata_remote_replaced WHERE entity = \(name);
        """
    }

    /// SQL that refuses a nonnegative number as the primary key of a new record. Used if the key is also the server's id, because the
    /// server may assign the same number to a different record.
    private var checkKey: String {
      guard entity.idIsKey, entity.mapper.ids == .server else { return "" }
      return """
        SELECT RAISE(ABORT, 'strata: the server may assign this id to a different record; \
        use RemoteStore.newKey() for the id of a new record')
        WHERE typeof(NEW.\(key)) = 'integer' AND NEW.\(key) >= 0 AND NOT \(isKnown("NEW"))
          AND NOT EXISTS (SELECT 1 FROM strata_remote_edits WHERE \(change("NEW")))
          AND NOT EXISTS (SELECT 1 FROM strata_remote_records WHERE \(change("NEW")));
        """
    }

    private var afterInsert: String {
      """
      \(checkAccount("NEW"))
      \(checkKey)
      UPDATE strata_remote_records SET etag = NULL, modified = NULL
      WHERE \(change("NEW")) AND \(isKnown("NEW", kind: "delete"));
      UPDATE strata_remote_changes SET kind = CASE WHEN verb = 'POST' THEN 'insert' ELSE 'update' END, \(retried)
      WHERE \(change("NEW")) AND kind = 'delete';
      INSERT INTO strata_remote_changes (account, entity, record, id, kind)
      SELECT \(account), \(name), NEW.\(key), NEW.\(id), 'update'
      WHERE EXISTS (SELECT 1 FROM strata_remote_edits WHERE \(change("NEW"))) AND NOT \(isKnown("NEW"));
      INSERT INTO strata_remote_changes (account, entity, record, id, kind)
      SELECT \(account), \(name), NEW.\(key), NULL, 'insert' WHERE NOT \(isKnown("NEW"));
      \(keptID)
      """
    }

    private var checkID: String {
      """
      SELECT RAISE(ABORT, 'strata: the id that the server assigned to the record cannot change; \
      delete the record and create a new one')
      WHERE OLD.\(id) IS NOT NULL AND NEW.\(id) IS NOT NULL AND NEW.\(id) IS NOT OLD.\(id) COLLATE BINARY;
      UPDATE \(table) SET \(id) = OLD.\(id) WHERE \(key) = OLD.\(key) AND NEW.\(id) IS NULL AND OLD.\(id) IS NOT NULL;
      """
    }

    private var afterUpdate: String {
      let sent = entity.fields.filter(\.isSent)
      let id = "OLD.\(id)"
      let any = sent.isEmpty ? "0" : "(" + sent.map { isChanged($0.column) }.joined(separator: " OR ") + ")"
      return """
        SELECT RAISE(ABORT, 'strata: the primary key of a record on the server cannot change; \
        delete the record and create a new one')
        WHERE NEW.\(key) IS NOT OLD.\(key) COLLATE BINARY;
        \(entity.idIsKey ? "" : checkID)
        \(checkAccount("OLD"))
        \(forget("OLD"))
        \(keep("OLD", where: any))
        UPDATE strata_remote_changes SET \(retried) WHERE \(change("OLD")) AND state = 'refused' AND \(any);
        INSERT INTO strata_remote_changes (account, entity, record, id, kind)
        SELECT \(account), \(name), OLD.\(key), \(id), CASE WHEN \(id) IS NULL THEN 'insert' ELSE 'update' END
        WHERE \(any) AND NOT \(isKnown("OLD"));
        """
    }

    private var afterDelete: String {
      let id = "OLD.\(id)"
      return """
        \(checkAccount("OLD"))
        \(forget("OLD"))
        \(keep("OLD"))
        UPDATE strata_remote_changes SET kind = 'delete', \(retried) WHERE \(change("OLD"));
        INSERT INTO strata_remote_changes (account, entity, record, id, kind)
        SELECT \(account), \(name), OLD.\(key), \(id), 'delete' WHERE \(id) IS NOT NULL AND NOT \(isKnown("OLD"));
        DELETE FROM strata_remote_edits WHERE \(change("OLD"))
          AND EXISTS (SELECT 1 FROM strata_remote_changes WHERE \(change("OLD")) AND id IS NULL AND idempotency_key IS NULL);
        DELETE FROM strata_remote_changes WHERE \(change("OLD")) AND id IS NULL AND idempotency_key IS NULL;
        DELETE FROM strata_remote_conflicts WHERE \(change("OLD"));
        """
    }
  }
}

extension String {
  /// The text as an SQL string literal, in quotes and with quotes inside it doubled.
  fileprivate var sqlText: String { "'" + replacingOccurrences(of: "'", with: "''") + "'" }
}
