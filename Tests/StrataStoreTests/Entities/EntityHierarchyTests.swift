import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

extension Vehicle: JSONTagged, ModelHierarchy {
  static var jsonTagging: JSONTagging { .internal("kind", names: ["car": "Car", "vehicle": "Vehicle"]) }
  static var subclasses: [any VersionedModel.Type] { [Car.self] }
}

@Suite("Entities: a table of several classes, and JSON that tells them by a tag")
struct EntityHierarchyTests {
  let queue: DatabaseQueue
  let entities: EntityStore

  init() throws {
    queue = try database { db in
      try db.execute(
        sql:
          "CREATE TABLE vehicle (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL DEFAULT '-', doors INTEGER)"
      )
    }
    entities = try EntityStore(queue, Vehicle.self, Car.self)
  }

  @discardableResult
  private func apply(_ json: String, to type: (some Vehicle).Type = Vehicle.self) throws -> EntityReport {
    try queue.write { try entities.apply(.json(Data(json.utf8)), to: type, in: $0) }
  }

  private var rows: [String] {
    get throws { try queue.lines("SELECT id, kind, name, ifnull(doors, '-') FROM vehicle ORDER BY id") }
  }

  @Test("The tag names the class of a new row, and what it alone has is stored")
  func insert() throws {
    try apply(#"[{"kind": "car", "id": 1, "name": "a", "doors": 4}, {"kind": "vehicle", "id": 2, "name": "b"}]"#)
    #expect(try rows == ["1|car|a|4", "2|vehicle|b|-"])
    let read = try queue.read { try entities.fetchAll(Vehicle.order(Column("id")), in: $0) }
    #expect(read.map { ($0 as? Car)?.doors } == [4, nil])
  }

  @Test("A document with a tag sets what it says of a row, and nothing else")
  func update() throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    try apply(#"{"kind": "car", "id": 1, "doors": 5}"#)
    #expect(try rows == ["1|car|a|5"])
    #expect(try apply(#"{"kind": "car", "id": 1, "doors": 5}"#).isEmpty)
  }

  @Test(
    "A tag that no class has, and a row of another class than the tag says, are errors that change nothing",
    arguments: [
      #"[{"kind": "vehicle", "id": 9, "name": "z"}, {"kind": "boat", "id": 2, "name": "b"}]"#,
      #"[{"kind": "vehicle", "id": 9, "name": "z"}, {"id": 1, "name": "b", "kind": 7}]"#,
    ])
  func refused(json: String) throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    #expect(throws: (any Error).self) { try apply(json) }
    #expect(try rows == ["1|car|a|4"])
  }

  @Test("A document that names another class makes the row one of that class, and leaves other columns as they are")
  func otherClass() throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    try apply(#"{"kind": "vehicle", "id": 1, "name": "b"}"#)
    #expect(try rows == ["1|vehicle|b|4"])
  }

  @Test("A document without a tag is of the class that it is applied to")
  func untagged() throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    try apply(#"{"id": 1, "name": "b"}"#)
    #expect(try rows == ["1|car|b|4"])
    try apply(#"{"id": 1, "doors": 3}"#, to: Car.self)
    #expect(try rows == ["1|car|b|3"])
    #expect(throws: (any Error).self) { try apply(#"{"id": 2, "name": "b"}"#) }
    #expect(try rows == ["1|car|b|3"])
  }
}
