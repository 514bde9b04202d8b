import Foundation
import GRDB
import Strata

// Recipes:begin ArchivedColumn
/// The content of a note. In version 1, the property `text` was called `body`.
@Model(version: 2)
struct NoteContent: Equatable {
  var text: String
  var tags: [String] = []
}

extension NoteContent: Migratable {
  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("body", to: "text")))
}

/// A row of the app's own table. Values that queries use have their own columns. All other values are in the archive.
struct Note: Equatable, Identifiable {
  var id: Int64?
  var title: String
  var content: NoteContent
}

extension Note: FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "note"

  /// - Throws: ``ArchivedColumnError`` if the content cannot be read; `RowDecodingError` if another column cannot be read.
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
  /// Decodes the archive in a column. If an older version of the model wrote the archive, the value is upgraded.
  ///
  /// - Throws: ``ArchivedColumnError`` if the column contains no archive, or if the archive cannot be read.
  func decodeArchive<T: Archivable>(_ type: T.Type = T.self, forColumn column: String, of id: Int64) throws -> T {
    // The bytes belong to SQLite and are valid only during the call. They are not copied, because the decoder does not keep them.
    try withUnsafeData(named: column) { archive in
      guard let archive else { throw ArchivedColumnError(column: column, id: id, reason: nil) }
      do { return try ArchiveDecoder().decode(type, from: archive) } catch let error as ArchiveError {
        throw ArchivedColumnError(column: column, id: id, reason: error)
      }
    }
  }
}

/// An error that is thrown if the archive in a column of a row cannot be read.
struct ArchivedColumnError: Error, CustomStringConvertible {
  let column: String
  /// The id of the row.
  let id: Int64
  /// The error that the decoder threw; `nil` if the column is NULL or was not selected.
  let reason: ArchiveError?

  var description: String {
    "column \(column) of row \(id): \(reason.map(\.description) ?? "there is no archive; the column is NULL or was not selected")"
  }
}
// Recipes:end

// Recipes:begin ArchivedColumn.care
extension Note {
  /// Returns all notes that can be read, and the errors of the others. The other rows are read even if one row is damaged.
  static func fetchReadable(_ db: Database) throws -> (notes: [Note], errors: [ArchivedColumnError]) {
    var (notes, errors): ([Note], [ArchivedColumnError]) = ([], [])
    let rows = try Row.fetchCursor(db, Note.order(Column("id")))
    while let row = try rows.next() {
      do { notes.append(try Note(row: row)) } catch let error as ArchivedColumnError { errors.append(error) }
    }
    return (notes, errors)
  }

  /// Rewrites the archives of older versions. Each call reads at most `limit` rows, so that no write takes long.
  ///
  /// - Parameter id: only rows with a greater id are upgraded. Pass 0 in the first call.
  /// - Returns: the id to pass to the next call; `nil` if there are no more rows.
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
        // An unreadable archive stays unchanged. fetchReadable returns its error.
      }
    }
    return try rows.last?.decode(forColumn: "id")
  }
}
// Recipes:end
