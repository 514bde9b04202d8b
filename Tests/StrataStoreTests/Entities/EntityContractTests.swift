import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Contract: models as rows (O)")
struct EntityContractTests {
  let queue: DatabaseQueue
  let entities: EntityStore

  init() throws {
    queue = try database(familyTables)
    entities = try EntityStore(queue, Parent.self)
  }

  private func family(_ number: String = "1") -> Parent {
    let ordered = (3..<6).map { Child($0) }
    let unordered = (0..<3).map { Child($0) }
    return Parent(
      date: Date(timeIntervalSince1970: 1_000_000_000.25), numberString: number, requiredString: "required",
      orderedChildren: ordered, unorderedChildren: Set(unordered))
  }

  @Test("O-10, O-11, O-13, O-17: a parent with children and cycles round-trips through rows")
  func roundTrip() async throws {
    let report = try await entities.save(family())
    #expect(report["parent"] == .init(inserted: 1))
    #expect(report["child"] == .init(inserted: 6))
    let parents = try await entities.fetchAll(Parent.all())
    let parent = try #require(parents.first)
    #expect(parents.count == 1)
    #expect(parent.date == Date(timeIntervalSince1970: 1_000_000_000.25))
    #expect(parent.numberString == "1")
    #expect(parent.requiredString == "required")
    #expect(parent.orderedChildren.map(\.childID) == [3, 4, 5])
    #expect(parent.unorderedChildren.map(\.childID).sorted() == [0, 1, 2])
    for child in parent.orderedChildren {
      #expect(child.parent2 === parent)
      #expect(child.parent1 == nil)
    }
    for child in parent.unorderedChildren { #expect(child.parent1 === parent) }
  }

  @Test("O-23: saving an unchanged graph again writes nothing")
  func savedTwice() async throws {
    try await entities.save(family())
    let again = try await entities.save(family())
    #expect(again.isEmpty)
    #expect(again["parent"] == .init(unchanged: 1))
    #expect(again["child"] == .init(unchanged: 6))
    // Saving fetched objects writes nothing, either.
    let parents = try await entities.fetchAll(Parent.all())
    #expect(try await entities.save(parents).isEmpty)
  }

  @Test("O-18: a unique key matches existing rows, including rows written in the same transaction")
  func uniquing() throws {
    try queue.write { db in
      let first = try entities.save(family(), in: db)
      let second = try entities.save(Parent(numberString: "1", requiredString: "other"), in: db)
      #expect(first.roots == second.roots)
      #expect(second["parent"] == .init(updated: 1))
    }
    #expect(try queue.lines("SELECT string FROM parent") == ["other"])
  }

  @Test("O-16, O-19: children removed from a list are detached, and the others keep their rows and order")
  func removed() async throws {
    try await entities.save(family())
    let ids = try queue.lines("SELECT id, childID FROM child WHERE childID IN (3, 5) ORDER BY id")
    let parents = try await entities.fetchAll(Parent.all())
    parents[0].orderedChildren.remove(at: 1)
    parents[0].unorderedChildren = parents[0].unorderedChildren.filter { $0.childID != 2 }
    let report = try await entities.save(parents)
    #expect(report["child"] == .init(updated: 2, unchanged: 4))
    let again = try await entities.fetchAll(Parent.all())
    #expect(again[0].orderedChildren.map(\.childID) == [3, 5])
    #expect(again[0].unorderedChildren.map(\.childID).sorted() == [0, 1])
    #expect(try queue.lines("SELECT id, childID FROM child WHERE childID IN (3, 5) ORDER BY id") == ids)
    // O-25: the removed rows still exist, but no longer refer to a parent.
    #expect(try queue.lines("SELECT parent1, parent2, place FROM child WHERE childID IN (2, 4)") == ["-|-|-", "-|-|-"])
  }

  @Test("O-15: a missing required value fails the save with an error that names entity, path and column")
  func required() throws {
    let error = entityError(.missingValue) { try entities.saveNow(Parent(numberString: "1", requiredString: nil)) }
    #expect(error?.entity == "Parent")
    #expect(error?.path == [.key("requiredString")])
    #expect(error?.columns == ["string"])
    #expect(try queue.lines("SELECT * FROM parent").isEmpty)
  }

  @Test("O-14, O-21, O-22: an error in a child leaves every row unchanged")
  func allOrNothing() throws {
    let family = family()
    try queue.write { db in _ = try entities.save(family, in: db) }
    let before = try queue.lines("SELECT * FROM parent") + queue.lines("SELECT * FROM child")
    family.requiredString = "changed"
    let bad = Parent(numberString: "no number", requiredString: "x")
    defer { withExtendedLifetime(bad) {} }
    family.orderedChildren.append(Child(7, parent2: bad))
    let error = entityError(.notStorable) { try entities.saveNow(family) }
    #expect(error?.entity == "Parent")
    #expect(error?.path == [.key("orderedChildren"), .index(3), .key("parent2"), .key("numberString")])
    #expect(error?.columns == ["number"])
    #expect(error?.underlyingError is TransformError || error?.underlyingError is ArchiveError)
    #expect(try queue.lines("SELECT * FROM parent") + queue.lines("SELECT * FROM child") == before)
    // The error does not end the transaction.
    try queue.write { db in
      entityError(.notStorable) { try entities.save(family, in: db) }
      try entities.save(Parent(numberString: "2", requiredString: "fine"), in: db)
    }
    #expect(try queue.lines("SELECT number FROM parent ORDER BY number") == ["1", "2"])
  }

  @Test("O-16: a null relation clears the foreign key, and an absent one keeps it", .tags(.long))
  func nilRelations() throws {
    final class Node: DescribedModel, Entity {
      let id: Int
      var next: Node?
      init(_ id: Int, _ next: Node?) { (self.id, self.next) = (id, next) }
      static let fields = Fields(
        Node.self, name: "LinkedNode", version: 1, Field("id", \.id), Field("next", \.next), make: { Node($0, $1) })
      static let entityMapping = EntityMapping(table: "node", relations: ["next": .toOne("nextID")])
    }
    let queue = try database { db in
      try db.execute(sql: "CREATE TABLE node (id INTEGER PRIMARY KEY, nextID INTEGER REFERENCES node(id))")
    }
    let entities = try EntityStore(queue, Node.self)
    // O-17: in a cycle, rows are inserted before their foreign keys are set.
    let (one, two) = (Node(1, nil), Node(2, nil))
    (one.next, two.next) = (two, one)
    defer { (one.next, two.next) = (nil, nil) }
    try entities.saveNow(one)
    #expect(try queue.lines("SELECT * FROM node ORDER BY id") == ["1|2", "2|1"])
    try queue.write { db in
      let back = try entities.fetchAll(Node.order(Column("id")), in: db)
      #expect(back[0].next === back[1] && back[1].next === back[0])
      defer { back.forEach { $0.next = nil } }
      #expect(try entities.save(back, in: db).isEmpty)
      try entities.apply(.json(["id": 1]), to: Node.self, in: db)
      #expect(try Int.fetchOne(db, sql: "SELECT nextID FROM node WHERE id = 1") == 2)
      try entities.apply(.json(["id": 1, "next": .null]), to: Node.self, in: db)
      #expect(try Int.fetchOne(db, sql: "SELECT nextID FROM node WHERE id = 1") == nil)
      // A long chain does not overflow the stack.
      var chain: Node?
      let end = Effort.rounds(2_000, long: 20_000)
      for id in (3..<end).reversed() { chain = Node(id, chain) }
      try entities.save(#require(chain), in: db)
      var read = try entities.fetchOne(Node.filter(Column("id") == 3), in: db)
      var count = 0
      while let node = read {
        read = node.next
        node.next = nil
        count += 1
      }
      #expect(count == end - 3)
      while let node = chain {
        chain = node.next
        node.next = nil
      }
    }
  }

  @Test("O-24: concurrent tasks can save and fetch")
  func tasks() async throws {
    try await withFolder { folder in
      let pool = try DatabasePool(path: folder.appending(path: "app").path)
      try await pool.write(familyTables)
      let entities = try EntityStore(pool, Parent.self)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<40 {
          group.addTask {
            let children = (0..<3).map { Child(number * 10 + $0) }
            try await entities.save(Parent(numberString: "\(number)", requiredString: "r", orderedChildren: children))
            let all = try await entities.fetchAll(Parent.all())
            return all.filter { $0.orderedChildren.count != 3 }.count
          }
        }
        for try await broken in group { #expect(broken == 0) }
      }
      #expect(try await entities.fetchAll(Parent.all()).count == 40)
    }
  }
}

extension EntityStore {
  /// Saves the model in a separate transaction.
  @discardableResult
  func saveNow<E: Entity>(_ model: E, matching keys: [String]? = nil) throws -> EntityReport {
    try writer.write { db in try save(model, matching: keys, in: db) }
  }

  @discardableResult
  func saveNow<E: Entity>(_ models: [E], matching keys: [String]? = nil) throws -> EntityReport {
    try writer.write { db in try save(models, matching: keys, in: db) }
  }
}
