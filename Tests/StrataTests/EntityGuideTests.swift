import Foundation
import GRDB
import Strata
import StrataStore
import StrataTestSupport
import Testing

// The programs of Docs/Entities.md. A test compares and runs them.

// Entities:begin
@Model(version: 1)
struct Blog {
  let title: String
  @Field(json: "description") let body: String
  @Field(json: .path("pubDate", .date(format: "yyyy-MM-dd HH:mm:ss")))
  let pubDate: Date
  @Field(json: "dc:creator") let creator: String
  @Field(json: "link") let webURL: URL
  @Field(json: "media:content.url") let blogImageURL: URL?
}

extension Blog: Entity {
  static let entityMapping = EntityMapping(
    table: "blog",
    columns: ["creator": "userID"],
    keys: ["link": ["webURL"]])
}
// Entities:end

private func migrate(_ queue: DatabaseQueue) throws {
  // Entities:begin
  var migrator = DatabaseMigrator()
  migrator.registerMigration("blogs") { db in
    try db.create(table: "blog") { table in
      table.autoIncrementedPrimaryKey("id")
      table.column("title", .text).notNull()
      table.column("body", .text).notNull()
      table.column("pubDate", .datetime).notNull()
      table.column("userID", .text).notNull()
      table.column("webURL", .text).notNull().unique()
      table.column("blogImageURL", .text)
    }
  }
  try migrator.migrate(queue)
  // Entities:end
  try queue.write { db in
    try db.execute(
      sql: """
        CREATE TABLE album (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE track (
          id INTEGER PRIMARY KEY, title TEXT NOT NULL, albumID INTEGER REFERENCES album(id), position INTEGER);
        CREATE TABLE genre (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE albumGenre (
          albumID INTEGER NOT NULL REFERENCES album(id), genreID INTEGER NOT NULL REFERENCES genre(id),
          PRIMARY KEY (albumID, genreID));
        CREATE TABLE bookmark (
          identifier INTEGER PRIMARY KEY, title TEXT NOT NULL, authorName TEXT, imageURL TEXT, createdDate DATETIME)
        """)
  }
}

private func first(_ queue: DatabaseQueue) async throws {
  let feed = Data(
    """
    [{"title": "One", "description": "…", "pubDate": "2014-03-01 10:00:00", "dc:creator": "ann",
      "link": "https://example.com/1", "media:content": {"url": "https://example.com/1.png"}},
     {"title": "Two", "description": "…", "pubDate": "2014-03-02 10:00:00", "dc:creator": "ann",
      "link": "https://example.com/2", "media:content": {"url": null}}]
    """.utf8)
  // Entities:begin
  // The initializer compares the mapping with the tables.
  // Its error lists every mistake.
  let entities = try EntityStore(queue, Blog.self)

  let report = try await entities.apply(.json(feed), to: Blog.self)
  print(report)  // blog: 2 inserted

  let blogs = try await entities.fetchAll(
    Blog.filter(Column("userID") == "ann").order(Column("pubDate")))
  let json = try blogs[0].jsonData()  // {"title":…,"description":…,"dc:creator":"ann",…}
  // Entities:end
  #expect(report.description == "blog: 2 inserted")
  #expect(blogs.map(\.title) == ["One", "Two"])
  // The whole chain: JSON to row to model and back.
  let (sent, back) = try (JSONReader().read(feed).arrayValue?[0], JSONReader().read(json))
  #expect(back == sent)
  #expect(try await entities.apply(.json(feed), to: Blog.self).isEmpty)
  // Entities:begin
  print(report["blog"].updated)  // other counts: inserted, unchanged, deleted
  for change in report.changes {
    print(change.table, change.primaryKey, change.kind, change.columns)
  }
  // Entities:end
  #expect(report.changes.count == 2)
  let body = Data(#"{"rss": {"items": [{"link": "https://example.com/2", "title": "Two and a half"}]}}"#.utf8)
  let archive = try ArchiveEncoder().encode(blogs[0])
  let record = ModelRecord(
    typeName: "Blog", modelVersion: 1, fields: [("webURL", .url(blogs[0].webURL)), ("title", "First")])
  // Entities:begin
  // The argument `at:` is the path of the objects.
  try await entities.apply(.json(body), to: Blog.self, at: "rss.items")
  // The archive can have any version.
  try await entities.apply(.archive(archive), to: Blog.self)
  try await entities.apply(.record(record), to: Blog.self)
  // Entities:end
  #expect(try await entities.fetchAll(Blog.order(Column("pubDate"))).map(\.title) == ["First", "Two and a half"])
  try await inTransaction(queue, EntityStore(queue, Blog.self, Album.self), body)
}

// Entities:begin
@Model(version: 1)
final class Album {
  let id: Int
  var name: String
  var tracks: [Track] = []
  var genres: [Genre] = []

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}

@Model(version: 1)
final class Track {
  let id: Int
  var title: String
  weak var album: Album?

  init(id: Int, title: String) { (self.id, self.title) = (id, title) }
}

@Model(version: 1)
struct Genre {
  let name: String
}

extension Album: Entity {
  static let entityMapping = EntityMapping(
    table: "album",
    relations: [
      "tracks": .toMany(
        foreignKey: "albumID",
        order: .column("position"),
        removed: .delete),
      "genres": .through(
        "albumGenre",
        from: "albumID",
        to: "genreID",
        order: .by("name")),
    ])
}

extension Track: Entity {
  static let entityMapping = EntityMapping(
    table: "track",
    relations: ["album": .toOne("albumID")])
}

extension Genre: Entity {
  static let entityMapping = EntityMapping(
    table: "genre",
    keys: ["name": ["name"]])
}
// Entities:end

@Model(version: 1)
struct Bookmark {
  let identifier: Int
  var title: String
  var authorName: String?
  var imageURL: URL?
  var createdDate: Date?
}

extension Bookmark: Entity {
  static let entityMapping = EntityMapping(table: "bookmark")
}

private func keymap(_ queue: DatabaseQueue) async throws -> [String] {
  let entities = try EntityStore(queue, Bookmark.self)
  let document = Data(
    """
    {"id": 1122, "title": "Strata", "author": null, "image": "https://example.com/a.png",
     "created_at": "2013-01-02T03:04:05Z", "unread": true}
    """.utf8)
  // Entities:begin
  let keymap = try JSONAdapter<Bookmark>([
    "identifier": "id",
    "title": "title",
    "authorName": "author",
    "imageURL": "image",
    "createdDate": .path("created_at", .iso8601),
  ])
  try await entities.apply(.json(document), to: Bookmark.self, by: keymap)
  // Entities:end
  #expect(try await entities.fetchAll(Bookmark.all()).first?.createdDate == Date(timeIntervalSince1970: 1_357_095_845))
  // Entities:begin
  let trace = try entities.trace(.json(document), to: Bookmark.self, by: keymap)
  for field in trace { print(field) }
  // Entities:end
  return trace.map(\.description)
}

// Entities:begin
extension Track {
  static let albums = belongsTo(Album.self)
}

// Entities:end

private func besideGRDB(_ queue: DatabaseQueue) async throws {
  let entities = try EntityStore(queue, Album.self)
  let album = Album(id: 1, name: "A")
  album.genres = [Genre(name: "rock"), Genre(name: "folk")]
  album.tracks = [Track(id: 1, title: "Song"), Track(id: 2, title: "Song Reprise")]
  try await entities.save(album)
  // Entities:begin
  let long = Track.filter(Column("title").like("%Reprise"))
    .including(required: Track.albums)
  let tracks = try await entities.fetchAll(long)
  let count = try await queue.read { db in try Track.fetchCount(db) }

  // The stream yields the current albums first,
  // and then the albums after each change.
  for try await albums in entities.values(of: Album.order(Column("name"))) {
    print(albums.map(\.name))
    // Entities:end
    #expect(albums[0].genres.map(\.name) == ["folk", "rock"])
    guard albums.count < 2 else { break }
    try await entities.save(Album(id: 2, name: "B"))
    // Entities:begin
  }
  // Entities:end
  #expect(tracks.map(\.title) == ["Song Reprise"])
  #expect(count == 2)
}

// Entities:begin
@Model(version: 1)
struct Chapter {
  let id: Int
  var title: String
  var text = ""
  var fetched = RowBase()
}

// Entities:end

extension Chapter: Entity {
  static let entityMapping = EntityMapping(table: "chapter")
}

private func stale(_ queue: DatabaseQueue) async throws {
  try await queue.write { db in
    try db.execute(sql: "CREATE TABLE chapter (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL)")
  }
  let entities = try EntityStore(queue, Chapter.self)
  // Entities:begin
  // The method saved returns the object as fetched after the save.
  var chapter = try await entities.saved(Chapter(id: 1, title: "One"))
  chapter.title = "The first"
  chapter = try await entities.saved(chapter)
  // Entities:end
  var form = chapter
  try await queue.write { db in try db.execute(sql: "UPDATE chapter SET text = 'Once upon a time'") }
  form.title = "1"
  try await entities.save(form)
  let found = try #require(try await entities.fetchOne(Chapter.all()))
  #expect((found.title, found.text) == ("1", "Once upon a time"))
}

// Entities:begin
@Model(version: 3)
struct Member {
  let id: Int
  var name: String
  var joined: Date?
}

extension Member: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("fullName", to: "name")),
    .step(from: 2, to: 3, .convert("joined", .toDate)))
}

extension Member: Entity {
  static let entityMapping = EntityMapping(table: "member")
}

// Entities:end

private func members(_ queue: DatabaseQueue, _ backupURL: URL) throws {
  try queue.write { db in
    try db.execute(
      sql: """
        CREATE TABLE member (id INTEGER PRIMARY KEY, fullName TEXT, joined TEXT);
        INSERT INTO member VALUES (1, 'Ann', '2019-03-04'), (2, 'Ben', NULL);
        """)
  }
  // Entities:begin
  var migrator = DatabaseMigrator()
  migrator.registerMigration("members 3") { db in
    // The method rows.proposedSQL(db) returns this statement.
    try db.execute(sql: #"ALTER TABLE "member" ADD COLUMN "name" TEXT"#)
  }
  try migrator.migrate(queue)

  var rows = EntityMigrator()
  rows.register(Member.self, unrecorded: 1)
  let report = try rows.migrate(queue, backup: backupURL)
  print(report)  // member 1 → 3: 2 of 2 rows changed
  let entities = try EntityStore(queue, Member.self)
  // Entities:end
  #expect("\(report)" == "member 1 → 3: 2 of 2 rows changed")
  let members = try queue.read { try entities.fetchAll(Member.order(Column("id")), in: $0) }
  #expect(members.map(\.name) == ["Ann", "Ben"])
  #expect(members.map(\.joined) == [Date(timeIntervalSince1970: 1_551_657_600), nil])
  #expect(try DatabaseQueue(path: backupURL.path).read { try $0.columns(in: "member").count } == 4)
}

private func inTransaction(_ queue: DatabaseQueue, _ entities: EntityStore, _ body: Data) async throws {
  // Entities:begin
  try await queue.write { db in
    try Track.filter(Column("title") == "").deleteAll(db)
    _ = try entities.apply(.json(body), to: Blog.self, at: "rss.items", in: db)
  }
  // Entities:end
}

@Suite("The entities guide")
struct EntityGuideTests {
  @Test("The guide contains the code and the output of these programs, and they run")
  func programs() async throws {
    let queue = try DatabaseQueue()
    try migrate(queue)
    try await first(queue)
    let trace = try await keymap(queue)
    try await besideGRDB(queue)
    try await stale(queue)
    try withFolder { folder in try members(DatabaseQueue(), folder.appending(path: "backup.sqlite")) }
    let page = try Repository.text("Docs/Entities.md")
    // The page shows these lines of the output.
    #expect(page.contains(trace.joined(separator: "\n")), "\(trace.joined(separator: "\n"))")
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    let program = try Repository.examples("Entities").joined()
    func plain(_ text: some StringProtocol) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
        !$0.isEmpty && !$0.hasPrefix("//")
      }
    }
    let lines = plain(program)
    #expect(blocks.count >= 9)
    for block in blocks {
      let wanted = plain(block)
      let isThere = lines.indices.contains { lines[$0...].starts(with: wanted) }
      #expect(isThere, "\(block)")
    }
  }
}
