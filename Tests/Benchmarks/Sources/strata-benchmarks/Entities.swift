import Foundation
import GRDB
import StrataCore
import StrataStore

// The entities are a thousand blogs by a hundred authors. Each blog has ten posts.

final class BlogAuthor: DescribedModel, Entity {
  let id: Int
  var name: String

  init(_ id: Int, _ name: String) { (self.id, self.name) = (id, name) }

  static let fields = Fields(
    BlogAuthor.self, version: 1, Field("id", \.id), Field("name", \.name), make: { BlogAuthor($0, $1) })
  static let entityMapping = EntityMapping(table: "author")
}

struct BlogPost: DescribedModel, Entity, Equatable {
  let id: Int
  var title: String
  var score: Double
  var isOpen: Bool
  var created: Date

  static let fields = Fields(
    BlogPost.self, version: 1, Field("id", \.id), Field("title", \.title), Field("score", \.score),
    Field("isOpen", \.isOpen), Field("created", \.created),
    make: { BlogPost(id: $0, title: $1, score: $2, isOpen: $3, created: $4) })
  static let entityMapping = EntityMapping(table: "post")
}

struct BlogPage: DescribedModel, Entity {
  let id: Int
  var title: String
  var author: BlogAuthor
  var posts: [BlogPost]

  static let fields = Fields(
    BlogPage.self, version: 1, Field("id", \.id), Field("title", \.title), Field("author", \.author),
    Field("posts", \.posts), make: { BlogPage(id: $0, title: $1, author: $2, posts: $3) })
  static let entityMapping = EntityMapping(
    table: "blog",
    relations: [
      "author": .toOne("authorID"),
      "posts": .toMany(foreignKey: "blogID", order: .column("position"), removed: .delete),
    ])

  /// Creates the blogs. One post in ten has a different title in each round.
  static func make(round: Int) -> [BlogPage] {
    let authors = (0..<100).map { BlogAuthor($0, "author \($0)") }
    return (0..<1000).map { blog in
      let posts = (0..<10).map { place in
        let id = blog * 10 + place
        return BlogPost(
          id: id, title: place == blog % 10 ? "post \(id) of round \(round)" : "post \(id)", score: Double(id) / 7,
          isOpen: id.isMultiple(of: 3), created: Date(timeIntervalSince1970: 1_700_000_000 + Double(id)))
      }
      return BlogPage(id: blog, title: "blog \(blog)", author: authors[blog % 100], posts: posts)
    }
  }
}

// The handwritten side stores the same blogs with these types.

private struct AuthorRow: PersistableRecord {
  static let databaseTableName = "author"
  let author: BlogAuthor
  func encode(to container: inout PersistenceContainer) {
    container["id"] = author.id
    container["name"] = author.name
  }
}

private struct BlogRow: PersistableRecord {
  static let databaseTableName = "blog"
  let blog: BlogPage
  func encode(to container: inout PersistenceContainer) {
    container["id"] = blog.id
    container["title"] = blog.title
    container["authorID"] = blog.author.id
  }
}

private struct PostRow: PersistableRecord {
  static let databaseTableName = "post"
  let post: BlogPost
  let blog: Int
  let position: Int
  func encode(to container: inout PersistenceContainer) {
    container["id"] = post.id
    container["title"] = post.title
    container["score"] = post.score
    container["isOpen"] = post.isOpen
    container["created"] = post.created
    container["blogID"] = blog
    container["position"] = position
  }
}

extension Runner {
  /// Compares saving graphs of entities with handwritten upserts. One post in ten has changed.
  func compareEntities() throws {
    let names = ["upsert/grdb", "upsert/grdb-new", "upsert/fetch"]
    guard names.contains(where: wants) else { return }
    let folder = try Folder()
    defer { folder.remove() }
    let ours = try Self.blogs(folder.file("entities"))
    let theirs = try Self.blogs(folder.file("plain"))
    let entities = try EntityStore(ours, BlogPage.self)
    let rounds = (0..<2).map { BlogPage.make(round: $0) }
    var ourRound = 0, theirRound = 0
    func save() throws {
      let changed = try ours.write { db in try entities.save(rounds[ourRound % 2], in: db) }
      guard ourRound == 0 || changed.total.updated == 1000 else { throw Failure("not one in ten changed") }
      ourRound += 1
    }
    func upsert(_ blogs: [BlogPage], _ db: Database) throws {
      for author in Dictionary(blogs.map { ($0.author.id, $0.author) }, uniquingKeysWith: { first, _ in first }).values
      {
        try AuthorRow(author: author).upsert(db)
      }
      for blog in blogs {
        try BlogRow(blog: blog).upsert(db)
        for (position, post) in blog.posts.enumerated() {
          try PostRow(post: post, blog: blog.id, position: position).upsert(db)
        }
      }
    }
    func upsertNext() throws {
      try theirs.write { try upsert(rounds[theirRound % 2], $0) }
      theirRound += 1
    }
    try time("upsert/grdb", inverted: true, ours: save, theirs: upsertNext)
    if ourRound == 0 { try save() }
    if theirRound == 0 { try upsertNext() }
    if ourRound % 2 != theirRound % 2 { try save() }
    let dump = "SELECT * FROM post JOIN blog ON blog.id = blogID JOIN author ON author.id = authorID ORDER BY post.id"
    guard
      try ours.read({ try GRDB.Row.fetchAll($0, sql: dump) }) == theirs.read({ try GRDB.Row.fetchAll($0, sql: dump) })
    else { throw Failure("the two sides do not have the same rows") }
    try time("upsert/grdb-new", inverted: true) {
      try ours.write { db in
        try db.execute(sql: "DELETE FROM post; DELETE FROM blog; DELETE FROM author")
        _ = try entities.save(rounds[0], in: db)
      }
    } theirs: {
      try theirs.write { db in
        try db.execute(sql: "DELETE FROM post; DELETE FROM blog; DELETE FROM author")
        try upsert(rounds[0], db)
      }
    }
    try time("upsert/fetch", inverted: true) {
      consume(try ours.read { db in try entities.fetchAll(BlogPage.order(Column("id")), in: db) })
    } theirs: {
      consume(try theirs.read(Self.fetch))
    }
    try ours.close()
    try theirs.close()
  }

  /// Compares two ways to store JSON: applying it with Strata, and JSONDecoder with handwritten upserts. The JSON contains 10,000
  /// entities without relations, a tenth of which have changed.
  func compareApplying() throws {
    guard wants("upsert/json") else { return }
    let folder = try Folder()
    defer { folder.remove() }
    let texts = try (0..<2).map { try ServedPost.list(round: $0) }
    let ours = try Self.posts(folder.file("entities"))
    let theirs = try Self.posts(folder.file("plain"))
    let entities = try EntityStore(ours, ServedPost.self)
    var ourRound = 0, theirRound = 0
    func apply() throws {
      let report = try ours.write { db in try entities.apply(.json(texts[ourRound % 2]), to: ServedPost.self, in: db) }
      guard ourRound == 0 || report.total.updated == 1000 else { throw Failure("not one in ten changed") }
      ourRound += 1
    }
    func upsert() throws {
      let posts = try JSONDecoder().decode([ServedPost].self, from: texts[theirRound % 2])
      try theirs.write { db in for post in posts { try post.upsert(db) } }
      theirRound += 1
    }
    try time("upsert/json", inverted: true, ours: apply, theirs: upsert)
    if ourRound % 2 != theirRound % 2 { try apply() }
    let dump = "SELECT * FROM post ORDER BY id"
    guard
      try ours.read({ try GRDB.Row.fetchAll($0, sql: dump) }) == theirs.read({ try GRDB.Row.fetchAll($0, sql: dump) })
    else { throw Failure("the two sides do not have the same rows") }
    try ours.close()
    try theirs.close()
  }

  /// Compares saving 1,000 changed entities one at a time with handwritten upserts, first in a single transaction and then each in its
  /// own transaction.
  func compareSavingOne() throws {
    let names = ["upsert/one", "upsert/one-commit"]
    guard names.contains(where: wants) else { return }
    let folder = try Folder()
    defer { folder.remove() }
    let rounds = (0..<2).map { round in
      (0..<1000).map { id in
        ServedPost(
          id: id, title: "post \(id)", score: Double(id + round) / 8, isOpen: id % 3 == 0, author: "author \(id)")
      }
    }
    let ours = try Self.posts(folder.file("entities"))
    let theirs = try Self.posts(folder.file("plain"))
    let entities = try EntityStore(ours, ServedPost.self)
    var ourRound = 0, theirRound = 0
    func next(_ round: inout Int) -> [ServedPost] {
      round += 1
      return rounds[round % 2]
    }
    try time(names[0], inverted: true, oursPer: 1000, theirsPer: 1000) {
      try ours.write { db in for post in next(&ourRound) { _ = try entities.save(post, in: db) } }
    } theirs: {
      try theirs.write { db in for post in next(&theirRound) { try post.upsert(db) } }
    }
    try time(names[1], inverted: true, oursPer: 1000, theirsPer: 1000) {
      for post in next(&ourRound) { _ = try ours.write { db in try entities.save(post, in: db) } }
    } theirs: {
      for post in next(&theirRound) { try theirs.write { db in try post.upsert(db) } }
    }
    try ours.close()
    try theirs.close()
  }

  private static func blogs(_ url: URL) throws -> DatabasePool {
    let pool = try DatabasePool(path: url.path)
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
          CREATE TABLE blog (id INTEGER PRIMARY KEY, title TEXT NOT NULL, authorID INTEGER NOT NULL REFERENCES author(id));
          CREATE TABLE post (
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, score REAL NOT NULL, isOpen BOOLEAN NOT NULL,
            created DATETIME NOT NULL, blogID INTEGER REFERENCES blog(id), position INTEGER);
          CREATE INDEX posts ON post (blogID);
          """)
    }
    return pool
  }

  /// Fetches the blogs with three queries and connects them to their authors and posts through dictionaries.
  private static func fetch(_ db: Database) throws -> [BlogPage] {
    var authors: [Int: BlogAuthor] = [:]
    for row in try GRDB.Row.fetchAll(db, sql: "SELECT id, name FROM author") {
      authors[row[0]] = BlogAuthor(row[0], row[1])
    }
    var posts: [Int: [BlogPost]] = [:]
    let cursor = try GRDB.Row.fetchCursor(
      db, sql: "SELECT id, title, score, isOpen, created, blogID FROM post ORDER BY blogID, position")
    while let row = try cursor.next() {
      posts[row[5], default: []].append(
        BlogPost(id: row[0], title: row[1], score: row[2], isOpen: row[3], created: row[4]))
    }
    return try GRDB.Row.fetchAll(db, sql: "SELECT id, title, authorID FROM blog ORDER BY id").map { row in
      guard let author = authors[row[2]] else { throw Failure("no author") }
      return BlogPage(id: row[0], title: row[1], author: author, posts: posts[row[0]] ?? [])
    }
  }
}
