import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

private struct Crate: DescribedModel, Entity, Equatable {
  var id: Int
  var items: [CrateItem]
  static let fields = Fields(
    Crate.self, version: 1, Field("id", \.id),
    Field("items", \.items, json: .path("items").skippingInvalid, default: []),
    make: { Crate(id: $0, items: $1) })
  static let entityMapping = EntityMapping(
    table: "crate", relations: ["items": .toMany(foreignKey: "crateID", order: .by("id"), removed: .delete)])
}

private struct CrateItem: DescribedModel, Entity, Equatable {
  var id: Int
  var name: String
  static let fields = Fields(
    CrateItem.self, version: 1, Field("id", \.id), Field("name", \.name), make: { CrateItem(id: $0, name: $1) })
  static let entityMapping = EntityMapping(table: "crateItem")
}

private struct Box: DescribedModel, Entity, Equatable {
  var id: Int
  var labels: [BoxLabel]
  static let fields = Fields(
    Box.self, version: 1, Field("id", \.id),
    Field("labels", \.labels, json: .path("labels").skippingInvalid, default: []),
    make: { Box(id: $0, labels: $1) })
  static let entityMapping = EntityMapping(table: "box", columns: ["labels": .json("labels")])
}

private struct BoxLabel: DescribedModel, Equatable {
  var id: Int
  var name: String
  static let fields = Fields(
    BoxLabel.self, version: 1, Field("id", \.id), Field("name", \.name), make: { BoxLabel(id: $0, name: $1) })
}

@Suite("Entities: invalid elements that are skipped")
struct InvalidElementEntityTests {
  @Test("A relation keeps its rows if the document's list contains an invalid element")
  func relation() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE crate (id INTEGER PRIMARY KEY);
          CREATE TABLE crateItem (id INTEGER PRIMARY KEY, name TEXT NOT NULL, crateID INTEGER REFERENCES crate);
          INSERT INTO crate VALUES (1);
          INSERT INTO crateItem VALUES (1, 'a', 1), (2, 'b', 1);
          """)
    }
    let entities = try EntityStore(queue, Crate.self)
    func apply(_ json: String) throws -> [String] {
      try queue.write { db in _ = try entities.apply(.json(Data(json.utf8)), to: Crate.self, in: db) }
      return try queue.lines("SELECT id, name, crateID FROM crateItem ORDER BY id")
    }
    #expect(
      try apply(#"{"id":1,"items":[{"id":1,"name":7},{"id":2,"name":"B"},{"id":3,"name":"c"}]}"#)
        == ["1|a|1", "2|B|1", "3|c|1"])
    // A list without invalid elements removes rows as usual.
    #expect(try apply(#"{"id":1,"items":[{"id":2,"name":"B"}]}"#) == ["2|B|1"])
  }

  @Test("A column with a list of models keeps them, too")
  func column() throws {
    let queue = try database { db in
      try db.execute(
        sql: """
          CREATE TABLE box (id INTEGER PRIMARY KEY, labels TEXT NOT NULL);
          INSERT INTO box VALUES (1, '[{"id":1,"name":"a"},{"id":2,"name":"b"}]');
          """)
    }
    let entities = try EntityStore(queue, Box.self)
    func apply(_ json: String) throws -> [String] {
      try queue.write { db in
        _ = try entities.apply(.json(Data(json.utf8)), to: Box.self, in: db)
        return try #require(try entities.fetchAll(Box.all(), in: db).first).labels.map { "\($0.id)\($0.name)" }
      }
    }
    #expect(try apply(#"{"id":1,"labels":[{"id":1,"name":7},{"id":2,"name":"B"}]}"#) == ["1a", "2B"])
    #expect(try apply(#"{"id":1,"labels":[{"id":2,"name":"B"}]}"#) == ["2B"])
  }
}
