import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

extension Vehicle: JSONTagged, ModelHierarchy {
  static var jsonTagging: JSONTagging { .internal("kind", names: ["car": "Car", "vehicle": "Vehicle"]) }
  static var subclasses: [any VersionedModel.Type] { [Car.self] }
}

@Suite("Entities: a class hierarchy in one table, with a JSON tag")
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

  @Test("The tag selects the class of a new row, and the columns of that class are stored")
  func insert() throws {
    try apply(#"[{"kind": "car", "id": 1, "name": "a", "doors": 4}, {"kind": "vehicle", "id": 2, "name": "b"}]"#)
    #expect(try rows == ["1|car|a|4", "2|vehicle|b|-"])
    let read = try queue.read { try entities.fetchAll(Vehicle.order(Column("id")), in: $0) }
    #expect(read.map { ($0 as? Car)?.doors } == [4, nil])
  }

  @Test("A document with a tag updates only the columns that it contains")
  func update() throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    try apply(#"{"kind": "car", "id": 1, "doors": 5}"#)
    #expect(try rows == ["1|car|a|5"])
    #expect(try apply(#"{"kind": "car", "id": 1, "doors": 5}"#).isEmpty)
  }

  @Test(
    "A tag that names no class or is not a string throws and changes nothing",
    arguments: [
      #"[{"kind": "vehicle", "id": 9, "name": "z"}, {"kind": "boat", "id": 2, "name": "b"}]"#,
      #"[{"kind": "vehicle", "id": 9, "name": "z"}, {"id": 1, "name": "b", "kind": 7}]"#,
    ])
  func refused(json: String) throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    #expect(throws: (any Error).self) { try apply(json) }
    #expect(try rows == ["1|car|a|4"])
  }

  @Test("A document with a different tag changes the row's class and keeps the other columns")
  func otherClass() throws {
    try entities.saveNow(Car(1, "a", doors: 4))
    try apply(#"{"kind": "vehicle", "id": 1, "name": "b"}"#)
    #expect(try rows == ["1|vehicle|b|4"])
  }

  @Test("A document without a tag keeps the class of an existing row and throws for a new one")
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
