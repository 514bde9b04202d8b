import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore
import Testing

/// An album with a list whose elements are deleted when they are removed from it.
struct Album: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var tracks: [Track] = []

  static let fields = Fields(
    Album.self, version: 1, Field("id", \.id), Field("name", \.name), Field("tracks", \.tracks, default: []),
    make: { Album(id: $0, name: $1, tracks: $2) })
  static let entityMapping = EntityMapping(
    table: "album", relations: ["tracks": .toMany(foreignKey: "albumID", order: .by("title"), removed: .delete)])
}

struct Track: DescribedModel, Entity, Equatable {
  var id: String
  var title: String
  var albumID: String?

  static let fields = Fields(
    Track.self, version: 1, Field("id", \.id), Field("title", \.title), Field("albumID", \.albumID),
    make: { Track(id: $0, title: $1, albumID: $2) })
  static let entityMapping = EntityMapping(table: "track")
}

/// A record that refers to a track and is deleted with it.
struct Mark: DescribedModel, Entity, Equatable {
  var id: String
  var text: String
  var trackID: String

  static let fields = Fields(
    Mark.self, version: 1, Field("id", \.id), Field("text", \.text), Field("trackID", \.trackID),
    make: { Mark(id: $0, text: $1, trackID: $2) })
  static let entityMapping = EntityMapping(table: "mark")
}

@Suite("Cascading deletions")
struct CascadeTests {
  private static let lists = [
    "albums": #"[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]"#,
    "tracks": #"[{"id": "1", "title": "One", "album_id": "a"}, {"id": "2", "title": "Two", "album_id": "a"}]"#,
    "marks": #"[{"id": "m", "text": "Hm", "track_id": "1"}]"#,
  ]

  private static func shop(_ foreignKey: String = "ON DELETE CASCADE") async throws
    -> (ModelServer, DatabaseQueue, EntityStore, RemoteStore)
  {
    let (server, queue) = (ModelServer(lists), try DatabaseQueue())
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE album (id TEXT PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE track (id TEXT PRIMARY KEY, title TEXT NOT NULL, albumID TEXT REFERENCES album \(foreignKey));
          CREATE TABLE mark (id TEXT PRIMARY KEY, text TEXT NOT NULL, trackID TEXT NOT NULL REFERENCES track \(foreignKey));
          """)
    }
    let entities = try EntityStore(queue, Album.self, Track.self, Mark.self)
    var configuration = RemoteConfiguration(
      baseURL: server.base, mappers: EntityMapper(Album.self, missing: .delete),
      EntityMapper(Track.self, keys: ["albumID": "album_id"]),
      EntityMapper(Mark.self, keys: ["trackID": "track_id"]), transport: server)
    configuration.retry = .none
    let remote = try await RemoteStore(entities, configuration)
    try await remote.refresh(Album.self)
    try await remote.refresh(Track.self)
    try await remote.refresh(Mark.self)
    return (server, queue, entities, remote)
  }

  private static func rows(_ queue: DatabaseQueue) async throws -> [String] {
    try await queue.read { db in
      try String.fetchAll(
        db,
        sql: "SELECT name FROM album UNION ALL SELECT title FROM track UNION ALL SELECT text FROM mark ORDER BY 1")
    }
  }

  @Test(
    "A record missing on the server is kept if its deletion would cascade to unsent changes",
    arguments: [
      "UPDATE mark SET text = 'Mine'", "INSERT INTO mark VALUES ('n', 'Mine', '2')", "UPDATE track SET title = 'Mine'",
    ])
  func missing(_ sql: String) async throws {
    let (server, queue, _, remote) = try await Self.shop()
    try await queue.write { db in try db.execute(sql: sql) }
    let before = try await Self.rows(queue)
    server.delete("albums", "a")
    let refresh = try await remote.refresh(Album.self)
    #expect((refresh.deleted, refresh.kept) == (0, 1))
    #expect(try await Self.rows(queue) == before)
    #expect(try await remote.changes().count >= 1)
  }

  @Test("A record missing on the server is deleted if no dependent row has unsent changes")
  func goes() async throws {
    let (server, queue, _, remote) = try await Self.shop()
    server.delete("albums", "a")
    #expect(try await remote.refresh(Album.self).deleted == 1)
    #expect(try await Self.rows(queue) == ["B"])
  }

  @Test(
    "A referenced record is kept, however the table enforces it, and the rest of the list is merged",
    arguments: ["", "ON DELETE RESTRICT", "DEFERRABLE INITIALLY DEFERRED"], [false, true])
  func restricted(_ foreignKey: String, _ makesWay: Bool) async throws {
    let (server, queue, entities, remote) = try await Self.shop(foreignKey)
    if makesWay { try await entities.save(Album(id: "c", name: "Mine")) }
    server.set("albums", #"[{"id": "b", "name": "B2"}, {"id": "c", "name": "C"}]"#)
    let refresh = try await remote.refresh(Album.self)
    #expect((refresh.inserted, refresh.updated, refresh.deleted, refresh.kept) == (1, 1, 0, 1))
    #expect(try await Self.rows(queue) == ["A", "B2", "C", "Hm"] + (makesWay ? ["Mine"] : []) + ["One", "Two"])
  }

  @Test("A locally created record is not discarded while rows refer to it")
  func discarding() async throws {
    let (_, queue, entities, remote) = try await Self.shop()
    try await entities.save(Album(id: "n", name: "New"))
    try await queue.write { db in try db.execute(sql: "UPDATE track SET albumID = 'n' WHERE id = '1'") }
    let change = try #require(try await remote.changes().first { $0.kind == .insert })
    let error = await #expect(throws: RemoteError.self) { try await remote.discard(change) }
    #expect(error?.code == .store)
    #expect(try await Self.rows(queue) == ["A", "B", "Hm", "New", "One", "Two"])
    #expect(try await remote.changes().count == 2)
    try await queue.write { db in try db.execute(sql: "UPDATE track SET albumID = 'a' WHERE id = '1'") }
    try await remote.discard(change)
    #expect(try await Self.rows(queue) == ["A", "B", "Hm", "One", "Two"])
  }

  @Test(
    "A record that left its list is deleted, unless it has unsent changes",
    arguments: ["UPDATE track SET title = 'Mine' WHERE id = '1'", "UPDATE mark SET text = 'Mine'"])
  func lists(_ sql: String) async throws {
    let (server, queue, _, remote) = try await Self.shop()
    try await queue.write { db in try db.execute(sql: sql) }
    server.set("albums", #"[{"id": "a", "name": "A", "tracks": []}, {"id": "b", "name": "B"}]"#)
    try await remote.refresh(Album.self)
    #expect(try await Self.rows(queue).contains("Mine"))
    try await remote.send()
    #expect(try await remote.changes().isEmpty)
    let there = [server.json("tracks", "1")?["title"], server.json("marks", "m")?["text"]]
    #expect(there.contains { $0 == "Mine" })
  }
}
