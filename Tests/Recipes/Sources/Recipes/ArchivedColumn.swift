import Foundation
import GRDB
import Strata

// Recipes:begin ArchivedColumn
/// What a note holds. Version 1 called the text `body`.
@Model(version: 2)
struct NoteContent: Equatable {
  var text: String
  var tags: [String] = []
}

extension NoteContent: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("body", to: "text")))
}

/// A row of the app's own table. Values that queries use have columns; all others are in the archive.
struct Note: Equatable, Identifiable {
  var id: Int64?
  var title: String
  var content: NoteContent
}

extension Note: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "note"

  /// - Throws: ``ArchivedColumnError`` where the content cannot be read, and `RowDecodingError` for the other columns.
  init(row: Row) throws {
    let id = try row.decode(Int64.self, forColumn: "id")
    self.id = id
    title = try row.decode(forColumn: "title")
    content = try row.decodeArchive(forColumn: "content", of: id)
  }

  func encode(to container: inout PersistenceContainer) throws {
    container["id"] = id
    container["title"] = title
    container["content"] = try ArchiveEncoder().encode(content)
  }

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

extension Row {
  /// The value of an archive in a column, upgraded where an older version wrote it.
  ///
  /// - Throws: ``ArchivedColumnError`` where there is no archive, or one that cannot be read.
  func decodeArchive<T: Archivable>(_ type: T.Type = T.self, forColumn column: String, of id: Int64) throws -> T {
    // SQLite lends the bytes for the time of the call, and the decoder keeps none of them: nothing is copied.
    try withUnsafeData(named: column) { archive in
      guard let archive else { throw ArchivedColumnError(column: column, id: id, reason: nil) }
      do { return try ArchiveDecoder().decode(type, from: archive) } catch let error as ArchiveError {
        throw ArchivedColumnError(column: column, id: id, reason: error)
      }
    }
  }
}

/// The archive in a column of a row cannot be read.
struct ArchivedColumnError: Error, CustomStringConvertible {
  let column: String
  /// The id of the row.
  let id: Int64
  /// The error of reading the archive; `nil` if the column is NULL or was not selected.
  let reason: ArchiveError?

  var description: String {
    "column \(column) of row \(id): \(reason.map(\.description) ?? "there is no archive; the column is NULL or was not selected")"
  }
}
// Recipes:end

// Recipes:begin ArchivedColumn.care
extension Note {
  /// All notes that can be read, and what is wrong with the others: one damaged row does not hide the rest.
  static func fetchReadable(_ db: Database) throws -> (notes: [Note], errors: [ArchivedColumnError]) {
    var (notes, errors): ([Note], [ArchivedColumnError]) = ([], [])
    let rows = try Row.fetchCursor(db, Note.order(Column("id")))
    while let row = try rows.next() {
      do { notes.append(try Note(row: row)) } catch let error as ArchivedColumnError { errors.append(error) }
    }
    return (notes, errors)
  }

  /// Rewrites the archives that an older version wrote, a part of them at a time, so that no write lasts long.
  ///
  /// - Parameter id: only rows after this one; 0 at first.
  /// - Returns: where to go on; `nil` when there are no more rows.
  static func upgrade(_ db: Database, after id: Int64, limit: Int = 500) throws -> Int64? {
    let upgrader = ArchiveUpgrader(NoteContent.self)
    let request = select(Column("id"), Column("content")).filter(Column("id") > id && Column("content") != nil)
    let rows = try Row.fetchAll(db, request.order(Column("id")).limit(limit))
    for row in rows {
      let (id, archive): (Int64, Data) = (try row.decode(forColumn: "id"), try row.decode(forColumn: "content"))
      do {
        let upgraded = try upgrader.upgrade(archive)
        guard upgraded != archive else { continue }
        try db.execute(sql: "UPDATE note SET content = ? WHERE id = ?", arguments: [upgraded, id])
      } catch is ArchiveError {
        // An unreadable archive stays as it is; fetchReadable reports it.
      }
    }
    return try rows.last?.decode(forColumn: "id")
  }
}
// Recipes:end
