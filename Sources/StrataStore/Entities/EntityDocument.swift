public import GRDB
public import StrataCore

/// A record without a model: JSON in a row, under an id.
///
/// Documents of one name are in a table of that name, with the columns `id` and `value`; SQL reads them as
/// `SELECT value ->> 'title' FROM task`.
///
///     try await queue.write { db in
///       try EntityDocument.makeTable("task", in: db)
///       try EntityDocument(id: "1", value: ["title": "Milk"]).save(in: "task", db)
///     }
///     let tasks = try await queue.read { db in try EntityDocument.all(in: "task").fetchAll(db) }
public struct EntityDocument: DescribedModel, Entity, Equatable, Sendable {
  /// The primary key.
  public var id: String
  /// What JSON can hold.
  public var value: ArchiveValue

  /// A document, with its id.
  public init(id: String, value: ArchiveValue) {
    self.id = id
    self.value = value
  }

  public static let fields = Fields(
    EntityDocument.self, version: 1, Field("id", \.id), Field("value", \.value, merge: .recursive),
    make: { EntityDocument(id: $0, value: $1) })

  /// The mapping of documents without a name, which no table has; `EntityStore(_:documents:)` takes names.
  public static let entityMapping = mapping(of: "document")

  static func mapping(of table: String) -> EntityMapping {
    EntityMapping(table: table, columns: ["value": .json("value")])
  }

  // MARK: Tables

  /// Makes the table of documents of a name, where it is not there.
  public static func makeTable(_ name: String, in db: Database) throws {
    try db.create(table: name, options: [.ifNotExists]) { table in
      table.primaryKey("id", .text)
      table.column("value", .jsonText).notNull()
    }
  }

  /// The documents of a name, in the order of their ids.
  public static func all(in name: String) -> QueryInterfaceRequest<EntityDocument> {
    Table<EntityDocument>(name).order(Column("id"))
  }

  /// Writes the document into the table of a name, over the one with its id.
  ///
  /// - Throws: ``EntityError`` with the code `notStorable` where JSON cannot hold the value; `DatabaseError`.
  public func save(in name: String, _ db: Database) throws {
    let stored = try ColumnCoding(ArchiveValue.self, .json, .text).stored(value)
    try db.execute(
      sql: """
        INSERT INTO \(name.quotedDatabaseIdentifier) (id, value) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET value = excluded.value
        """, arguments: [id, stored])
  }

  /// Deletes the document from the table of a name.
  ///
  /// - Returns: whether it was there.
  @discardableResult
  public func delete(from name: String, _ db: Database) throws -> Bool {
    try db.execute(sql: "DELETE FROM \(name.quotedDatabaseIdentifier) WHERE id = ?", arguments: [id])
    return db.changesCount > 0
  }
}
