import Foundation
import GRDB
import StrataCore
import StrataStore

// Each blog has ten posts, as in the `upsert/` rows of Docs/Benchmarks.md.

final class Author: DescribedModel, Entity {
  let id: Int
  var name: String

  init(_ id: Int, _ name: String) { (self.id, self.name) = (id, name) }

  static let fields = Fields(
    Author.self, version: 1, Field("id", \.id), Field("name", \.name), make: { Author($0, $1) })
  static let entityMapping = EntityMapping(table: "author")
}

struct Post: DescribedModel, Entity, Equatable {
  let id: Int
  var title: String
  var score: Double
  var isOpen: Bool
  var created: Date

  static let fields = Fields(
    Post.self, version: 1, Field("id", \.id), Field("title", \.title), Field("score", \.score),
    Field("isOpen", \.isOpen), Field("created", \.created),
    make: { Post(id: $0, title: $1, score: $2, isOpen: $3, created: $4) })
  static let entityMapping = EntityMapping(table: "post")
}

struct Blog: DescribedModel, Entity {
  let id: Int
  var title: String
  var author: Author
  var posts: [Post]

  static let fields = Fields(
    Blog.self, version: 1, Field("id", \.id), Field("title", \.title), Field("author", \.author),
    Field("posts", \.posts), make: { Blog(id: $0, title: $1, author: $2, posts: $3) })
  static let entityMapping = EntityMapping(
    table: "blog",
    relations: [
      "author": .toOne("authorID"),
      "posts": .toMany(foreignKey: "blogID", order: .column("position"), removed: .delete),
    ])

  static func make(_ count: Int) -> [Blog] {
    let authors = (0..<count / 10).map { Author($0, "author \($0)") }
    return (0..<count).map { blog in
      let posts = (0..<10).map { place in
        let id = blog * 10 + place
        return Post(
          id: id, title: "post \(id)", score: Double(id) / 7, isOpen: id.isMultiple(of: 3),
          created: Date(timeIntervalSince1970: 1_700_000_000 + Double(id)))
      }
      return Blog(id: blog, title: "blog \(blog)", author: authors[blog % authors.count], posts: posts)
    }
  }

  /// A database with tables for blogs, their authors and their posts.
  static func database() throws -> DatabaseQueue {
    let database = try DatabaseQueue()
    try database.write { db in
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
    return database
  }
}
