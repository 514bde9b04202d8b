import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@Suite("Entities: mappings are validated against models and tables")
struct EntityMappingTests {
  struct Note: DescribedModel, Entity, Equatable {
    let id: Int
    var title: String
    var text: String?

    static let fields = Fields(
      Note.self, version: 1, Field("id", \.id), Field("title", \.title), Field("text", \.text),
      make: { Note(id: $0, title: $1, text: $2) })
    static let entityMapping = EntityMapping(table: "note")
  }

  /// The same model, with a separate mapping for each `P`.
  struct Mapped<P: MappingSource>: VersionedModel, Entity {
    var note: Note
    static var schema: ModelSchema {
      .cached(Mapped<P>.self) {
        ModelSchema(
          Mapped<P>.self, name: "Mapped", version: 1,
          fields: [FieldInfo("id", Int.self), FieldInfo("title", String.self), FieldInfo("text", String?.self)])
      }
    }
    init(_ note: Note) { self.note = note }
    init(fields reader: inout ArchiveReader) throws { note = try Note(fields: &reader) }
    func encodeFields(to writer: inout ArchiveWriter) throws { try note.encodeFields(to: &writer) }
    static var entityMapping: EntityMapping { P.mapping }
  }

  protocol MappingSource: Sendable { static var mapping: EntityMapping { get } }
  enum Without: MappingSource { static let mapping = EntityMapping(table: "note") }
  enum Empty: MappingSource { static let mapping = EntityMapping(table: "note", columns: [:]) }
  enum Partial: MappingSource { static let mapping = EntityMapping(table: "note", columns: ["title": "title"]) }
  enum Full: MappingSource {
    static let mapping = EntityMapping(table: "note", columns: ["id": "id", "title": "title", "text": "text"])
  }

  static func tables(_ db: GRDB.Database) throws {
    try db.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT)")
  }

  @Test("O-2: mappings with no columns, an empty list, some columns or all columns are equivalent")
  func alike() throws {
    func check<P: MappingSource>(_ source: P.Type) throws -> [String] {
      let queue = try database(Self.tables)
      let entities = try EntityStore(queue, Mapped<P>.self)
      try entities.saveNow(Mapped<P>(Note(id: 7, title: "a", text: nil)))
      try queue.read { db in
        let found = try entities.fetchAll(Mapped<P>.all(), in: db)
        #expect(found.map(\.note) == [Note(id: 7, title: "a", text: nil)])
      }
      return try queue.lines("SELECT * FROM note")
    }
    let lines = try [check(Without.self), check(Empty.self), check(Partial.self), check(Full.self)]
    #expect(Set(lines) == [["7|a|-"]])
  }

  enum NoProperty: MappingSource { static let mapping = EntityMapping(table: "note", columns: ["titel": "title"]) }
  enum NoColumn: MappingSource { static let mapping = EntityMapping(table: "note", columns: ["text": "body"]) }
  enum NoTable: MappingSource { static let mapping = EntityMapping(table: "notes") }
  enum NoDefault: MappingSource { static let mapping = EntityMapping(table: "note", columns: ["title": .none]) }
  enum NoIndex: MappingSource { static let mapping = EntityMapping(table: "note", keys: ["title": ["title"]]) }
  enum NoKey: MappingSource { static let mapping = EntityMapping(table: "note", keys: ["x": ["nothing"]]) }
  enum NoFields: MappingSource { static let mapping = EntityMapping(table: "note", keys: ["x": []]) }
  enum NoEntity: MappingSource {
    static let mapping = EntityMapping(table: "note", relations: ["title": .toOne("text")])
  }
  enum BothWays: MappingSource {
    static let mapping = EntityMapping(table: "note", columns: ["text": "text"], relations: ["text": .toOne("text")])
  }
  enum OtherType: MappingSource {
    static let mapping = EntityMapping(
      table: "note",
      columns: ["text": .column("text", by: ReversibleTransformer<String, Int>({ $0.count }, reverse: { String($0) }))])
  }
  enum DateForm: MappingSource {
    static let mapping = EntityMapping(table: "note", columns: ["text": .date("text", .iso8601)])
  }

  @Test("O-1, O-6, O-7, O-8, K-7: creating a store reports every mapping mistake by name")
  func mistakes() throws {
    let queue = try database(Self.tables)
    func check<P: MappingSource>(_ source: P.Type, _ text: String, _ line: Int = #line) {
      let error = entityError(.invalidMapping) { try EntityStore(queue, Mapped<P>.self) }
      #expect(error?.description.contains(text) ?? false, "\(String(describing: error)) in line \(line)")
    }
    check(NoProperty.self, "no such property (Mapped, at titel)")
    check(NoColumn.self, "no column “body”; its columns are id, text, title (Mapped, at text, column note.body)")
    check(NoTable.self, "the table does not exist")
    check(NoDefault.self, "needs a default")
    check(NoIndex.self, "no unique index")
    check(NoKey.self, "contains “nothing”")
    check(NoFields.self, "has no properties")
    check(NoEntity.self, "is not an entity")
    check(BothWays.self, "both a column and a relation")
    check(OtherType.self, "the transformer returns the type Int")
    check(DateForm.self, "a property of the type Date")
    // One error reports the mistakes of all mappings.
    let all = entityError(.invalidMapping) { try EntityStore(queue, Mapped<NoProperty>.self, Mapped<NoColumn>.self) }
    #expect(all?.reason.hasPrefix("the mappings have 2 mistakes") ?? false)
  }

  @Test("A required column without a property throws invalidMapping")
  func missingColumn() throws {
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, text TEXT, owner TEXT NOT NULL)")
    }
    let error = entityError(.invalidMapping) { try EntityStore(queue, Note.self) }
    #expect(error?.columns == ["owner"])
  }

  @Test("Saving an entity that the store does not know throws invalidMapping")
  func unknownEntity() throws {
    let queue = try database { db in
      try Self.tables(db)
      try familyTables(db)
    }
    let entities = try EntityStore(queue, Note.self)
    let error = entityError(.invalidMapping) { try entities.saveNow(Child(1)) }
    #expect(error?.entity == "Child")
  }

  @Test("O-9: GRDB fetches an entity without relations and throws for an entity with relations")
  func besideGRDB() throws {
    let queue = try database { db in
      try Self.tables(db)
      try familyTables(db)
    }
    let entities = try EntityStore(queue, Note.self, Parent.self)
    try queue.write { db in
      try entities.save([Note(id: 1, title: "a", text: "x"), Note(id: 2, title: "b", text: nil)], in: db)
      #expect(try Note.filter(Column("title") == "b").fetchAll(db) == [Note(id: 2, title: "b", text: nil)])
      #expect(try Note.fetchCount(db) == 2)
      #expect(try Note.fetchOne(db, key: 1)?.text == "x")
      try entities.save(Parent(numberString: "1", requiredString: "r"), in: db)
      #expect(throws: EntityError.self) { try Parent.fetchAll(db) }
      // O-9: a transaction sees its own changes.
      try db.execute(sql: "UPDATE note SET title = 'c' WHERE id = 1")
      #expect(try entities.fetchOne(Note.filter(Column("id") == 1), in: db)?.title == "c")
      #expect(try Note.deleteOne(db, key: 1))
    }
  }
}
