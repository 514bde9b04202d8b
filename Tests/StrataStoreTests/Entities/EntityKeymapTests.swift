import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@Suite("Contract: applying JSON and other sources to rows (K)")
struct EntityKeymapTests {
  /// The sample model from the blog post about ISKeymapManagedObject.
  struct Bookmark: DescribedModel, Entity, Equatable {
    let identifier: Int
    var title: String
    var authorName: String?
    var imageURL: URL?
    var createdDate: Date?
    var stars: Int

    static let fields = Fields(
      Bookmark.self, version: 1, Field("identifier", \.identifier), Field("title", \.title),
      Field("authorName", \.authorName), Field("imageURL", \.imageURL), Field("createdDate", \.createdDate),
      Field("stars", \.stars, default: 3),
      make: {
        Bookmark(identifier: $0, title: $1, authorName: $2, imageURL: $3, createdDate: $4, stars: $5)
      })
    static let entityMapping = EntityMapping(table: "bookmark")
    static let keymap: JSONMapping<Bookmark> = [
      "identifier": "id", "title": "title", "authorName": "author.name", "imageURL": "media:image.url",
      "createdDate": .path("created_at", .iso8601), "stars": "stars",
    ]
  }

  let queue: DatabaseQueue
  let entities: EntityStore
  let keymap: JSONAdapter<Bookmark>

  init() throws {
    queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE bookmark (
            identifier INTEGER PRIMARY KEY, title TEXT NOT NULL DEFAULT 'untitled', authorName TEXT DEFAULT 'nobody', imageURL TEXT,
            createdDate DATETIME, stars INTEGER NOT NULL)
          """)
    }
    entities = try EntityStore(queue, Bookmark.self)
    keymap = try JSONAdapter(Bookmark.keymap)
  }

  @discardableResult
  private func apply(_ json: String, at path: ValuePath? = nil) throws -> EntityReport {
    try queue.write { db in
      try entities.apply(.json(Data(json.utf8)), to: Bookmark.self, at: path, by: keymap, in: db)
    }
  }

  private var rows: [String] { get throws { try queue.lines("SELECT * FROM bookmark ORDER BY identifier") } }

  static let whole = """
    {"id": 7, "title": "A", "author": {"name": "ann"}, "media:image": {"url": "https://a.b/c.png"},
     "created_at": "2013-01-02T03:04:05Z", "stars": 5, "other": [1]}
    """

  @Test("K-1, K-2, K-3, K-4, K-9, U-24: a keymap maps JSON paths to columns and converts values")
  func sample() throws {
    let report = try apply(Self.whole)
    #expect(report["bookmark"] == .init(inserted: 1))
    #expect(try rows == ["7|A|ann|https://a.b/c.png|2013-01-02 03:04:05.000|5"])
    #expect(try apply(Self.whole).isEmpty)
    let back = try queue.read { db in try #require(try entities.fetchOne(Bookmark.all(), in: db)) }
    #expect(back.createdDate == ISO8601DateFormatter().date(from: "2013-01-02T03:04:05Z"))
    // Encoding the object as JSON again keeps numbers as numbers.
    #expect(try JSONReader().read(keymap.encode(back)).objectValue?["stars"] == 5)
  }

  @Test("K-5: an absent key takes the default in a new row and keeps the value of an existing row")
  func absent() throws {
    try apply(#"{"id": 1}"#)
    #expect(try rows == ["1|untitled|nobody|-|-|3"])
    try apply(#"{"id": 1, "author": {}, "stars": 4}"#)
    #expect(try rows == ["1|untitled|nobody|-|-|4"])
    let report = try apply(#"{"id": 1, "title": "B"}"#)
    #expect(report.changes.map(\.columns) == [["title"]])
  }

  @Test("K-6: null clears an optional value and throws for a required one")
  func null() throws {
    try apply(Self.whole)
    try apply(#"{"id": 7, "author": {"name": null}, "media:image": {"url": null}, "created_at": null}"#)
    #expect(try rows == ["7|A|-|-|-|5"])
    let error = entityError(.invalidSource) { try apply(#"[{"id": 7, "stars": 1}, {"id": 7, "title": null}]"#) }
    #expect(error?.path == [.index(1), .key("title")])
    #expect(error?.entity == "Bookmark")
    #expect(try rows == ["7|A|-|-|-|5"])
  }

  @Test("K-7, K-8: a value that cannot be converted throws an error with path and cause, and writes nothing")
  func invalid() throws {
    try apply(Self.whole)
    for (json, key) in [
      (#"{"id": 7, "stars": 9, "created_at": "yesterday"}"#, "createdDate"), (#"{"id": 7, "stars": "many"}"#, "stars"),
      (#"{"id": "x"}"#, "identifier"), (#"{"id": 7, "media:image": {"url": 5}}"#, "imageURL"),
    ] {
      let error = entityError(.invalidSource) { try apply(json) }
      #expect(error?.path.last == .key(key), "\(String(describing: error))")
    }
    entityError(.invalidSource) { try apply("{") }
    entityError(.invalidSource) { try apply(#"{"id": 1, "id": 2}"#) }
    entityError(.invalidSource) { try apply("5") }
    entityError(.invalidSource) { try apply(Self.whole, at: "not.there") }
    #expect(try rows == ["7|A|ann|https://a.b/c.png|2013-01-02 03:04:05.000|5"])
    // K-7: a mapping of a field that does not exist is rejected.
    #expect(throws: ArchiveError.self) { try JSONAdapter<Bookmark>(["nothing": "x"]) }
  }

  @Test("A nested list is found by its path, and repeated objects are applied in order")
  func body() throws {
    let report = try apply(
      #"{"task": {"list": [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}, {"id": 1, "stars": 9}]}}"#, at: "task.list"
    )
    #expect(report["bookmark"] == .init(inserted: 2))
    #expect(report.roots.count == 3 && report.roots[0] == report.roots[2])
    #expect(try rows == ["1|a|nobody|-|-|9", "2|b|nobody|-|-|3"])
  }

  @Test("Archives, records and values are applied like JSON")
  func otherSources() throws {
    let bookmark = Bookmark(
      identifier: 3, title: "C", authorName: nil, imageURL: URL(string: "x:y"),
      createdDate: Date(timeIntervalSince1970: 1),
      stars: 1)
    try queue.write { db in
      try entities.apply(.archive(ArchiveEncoder().encode(bookmark)), to: Bookmark.self, in: db)
      #expect(try entities.fetchAll(Bookmark.all(), in: db) == [bookmark])
      let record = ModelRecord(typeName: "Bookmark", modelVersion: 1, fields: [("identifier", 3), ("stars", 2)])
      let report = try entities.apply(.record(record), to: Bookmark.self, in: db)
      #expect(report.changes.map(\.columns) == [["stars"]])
      let value: ArchiveValue = [["id": 4, "title": "D"], ["id": 3, "title": "E"]]
      try entities.apply(.json(value), to: Bookmark.self, by: keymap, in: db)
      try entities.apply(.model(bookmark), to: Bookmark.self, in: db)
      // Values from a property list have types like these.
      let typed: ArchiveValue = [
        "identifier": 4, "createdDate": .date(Date(timeIntervalSince1970: 2)), "imageURL": "x:z",
      ]
      try entities.apply(.json(typed), to: Bookmark.self, in: db)
      try entities.apply(.archive(ArchiveEncoder().encode([bookmark])), to: Bookmark.self, in: db)
      let patch = entityError(.invalidSource) {
        try entities.apply(.mergePatch(Data("{}".utf8)), to: Bookmark.self, in: db)
      }
      #expect(patch?.description.contains("patch") ?? false)
    }
    #expect(try rows == ["3|C|-|x:y|1970-01-01 00:00:01.000|1", "4|D|nobody|x:z|1970-01-01 00:00:02.000|3"])
  }

  @Test("K-10: a trace lists the key and the raw, converted and stored value of each field, and writes nothing")
  func trace() throws {
    let trace = try entities.trace(.json(Data(Self.whole.utf8)), to: Bookmark.self, by: keymap)
    #expect(trace.map(\.key) == Bookmark.schema.fields.map(\.key))
    #expect(trace.map(\.source) == ["id", "title", "author.name", "media:image.url", "created_at", "stars"])
    let date = try #require(trace.first { $0.key == "createdDate" })
    #expect(date.raw == "2013-01-02T03:04:05Z")
    #expect(date.value == .date(Date(timeIntervalSince1970: 1_357_095_845)))
    #expect(date.stored == "2013-01-02 03:04:05.000".databaseValue)
    #expect(date.column == "createdDate")
    #expect(date.description.hasPrefix("Bookmark createdDate ← created_at"))
    let part = try entities.trace(.json(["id": 1, "author": ["name": .null]]), to: Bookmark.self, by: keymap)
    #expect(part[1].raw == nil && part[1].value == nil && part[1].stored == nil)
    #expect(part[2].raw == .null && part[2].stored == .null)
    #expect(try rows.isEmpty)
  }
}
