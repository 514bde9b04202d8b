import Foundation
import GRDB
import StrataCore
import StrataStore
import SwiftProtobuf

/// A handwritten alternative to a store. It has the same columns, indexes and settings, and stores models as blobs.
struct PlainTable {
  enum Coding { case protobuf, strata }

  let pool: DatabasePool
  let url: URL
  let coding: Coding

  init(_ url: URL, _ coding: Coding) throws {
    (self.url, self.coding) = (url, coding)
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
    }
    pool = try DatabasePool(path: url.path, configuration: configuration)
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    try pool.write { db in
      try db.execute(
        sql: """
          CREATE TABLE keys (name TEXT PRIMARY KEY NOT NULL, id INTEGER NOT NULL UNIQUE, head INTEGER NOT NULL) WITHOUT ROWID;
          CREATE TABLE definitions (id INTEGER PRIMARY KEY, type TEXT NOT NULL, version INTEGER);
          INSERT INTO definitions VALUES (1, 'Small', 1);
          CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
          CREATE TABLE revisions (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key INTEGER NOT NULL REFERENCES keys (id) ON DELETE RESTRICT,
            seq INTEGER NOT NULL, time INTEGER NOT NULL,
            definition INTEGER REFERENCES definitions (id) ON DELETE RESTRICT,
            kind INTEGER NOT NULL, crc INTEGER NOT NULL, content BLOB,
            base INTEGER REFERENCES revisions (id) ON DELETE RESTRICT,
            blob INTEGER REFERENCES blobs (id) ON DELETE RESTRICT,
            origin INTEGER, author TEXT, note TEXT, UNIQUE (key, seq));
          CREATE INDEX revisions_base ON revisions (base) WHERE base IS NOT NULL;
          CREATE INDEX revisions_blob ON revisions (blob) WHERE blob IS NOT NULL;
          """)
    }
  }

  /// Saves models under new keys in one transaction.
  func save(_ models: [Small], prefix: String) throws {
    let encoder = ArchiveEncoder()
    try pool.write { db in
      let find = try db.cachedStatement(sql: "SELECT id, head FROM keys WHERE name = ?")
      let addKey = try db.cachedStatement(sql: "INSERT INTO keys (name, id, head) VALUES (?, ?, ?)")
      let add = try db.cachedStatement(
        sql: """
          INSERT INTO revisions (id, key, seq, time, definition, kind, crc, content, base, blob, origin, author, note)
          VALUES (?, ?, 1, ?, 1, 0, ?, ?, NULL, NULL, NULL, ?, NULL)
          """)
      var id = try Int64.fetchOne(db, sql: "SELECT max(id) FROM revisions") ?? 0
      for model in models {
        let name = "\(prefix)\(model.id)"
        guard try GRDB.Row.fetchOne(find, arguments: [name]) == nil else { throw Failure("the key is there already") }
        id += 1
        let content: Data
        switch coding {
        case .protobuf: content = try ProtobufSmall(model).serializedBytes()
        case .strata: content = try encoder.encodeBody(model)
        }
        try addKey.execute(arguments: [name, id, id])
        let time = Int64(Date().timeIntervalSince1970 * 1000)
        try add.execute(arguments: [id, id, time, Int64(Gzip.checksum(content)), content, "ann"])
      }
    }
  }

  func model(for key: String, _ db: Database) throws -> Small {
    let statement = try db.cachedStatement(
      sql: "SELECT r.content FROM keys k JOIN revisions r ON r.id = k.head WHERE k.name = ?")
    guard let content = try Data.fetchOne(statement, arguments: [key]) else { throw Failure("no \(key)") }
    switch coding {
    case .protobuf: return Small(try ProtobufSmall(serializedBytes: content))
    case .strata: return try ArchiveDecoder().decodeBody(Small.self, from: content)
    }
  }
}

extension Small {
  init(_ message: ProtobufSmall) {
    self.init(
      id: Int(message.id), name: message.name, score: message.score, isFlagged: message.isFlagged,
      createdAt: Date(timeIntervalSinceReferenceDate: message.createdAt))
  }
}

extension SnapshotStore {
  /// Saves each model under its own key, all in one transaction.
  func save(_ models: [Small], prefix: String) throws {
    try write { transaction in
      for model in models { try transaction.save(model, as: "\(prefix)\(model.id)", author: "ann") }
    }
  }
}
