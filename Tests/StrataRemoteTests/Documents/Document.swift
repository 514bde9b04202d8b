import GRDB
import StrataCore
import StrataStore

/// A record with a JSON value of any shape.
struct Document: DescribedModel, Entity, Equatable {
  var id: String
  var value: ArchiveValue

  static let fields = Fields(
    Document.self, version: 1, Field("id", \.id), Field("value", \.value, merge: .recursive),
    make: { Document(id: $0, value: $1) })
  static let entityMapping = EntityMapping(table: "document", columns: ["value": .json("value")])

  static func makeTable(in db: Database) throws {
    try db.create(table: "document") { table in
      table.primaryKey("id", .text)
      table.column("value", .jsonText).notNull()
    }
  }
}
