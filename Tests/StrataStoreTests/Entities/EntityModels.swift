import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

// The models from the specs of MTLManagedObjectAdapter, mapped to tables.

final class Parent: DescribedModel, Entity {
  var date: Date?
  var numberString: String
  var requiredString: String?
  var orderedChildren: [Child]
  var unorderedChildren: Set<Child>

  init(
    date: Date? = nil, numberString: String, requiredString: String?, orderedChildren: [Child] = [],
    unorderedChildren: Set<Child> = []
  ) {
    (self.date, self.numberString, self.requiredString) = (date, numberString, requiredString)
    (self.orderedChildren, self.unorderedChildren) = (orderedChildren, unorderedChildren)
  }

  static let fields = Fields(
    Parent.self, version: 1, Field("date", \.date), Field("numberString", \.numberString),
    Field("requiredString", \.requiredString), Field("orderedChildren", \.orderedChildren, default: []),
    Field("unorderedChildren", \.unorderedChildren, default: []),
    make: {
      Parent(date: $0, numberString: $1, requiredString: $2, orderedChildren: $3, unorderedChildren: $4)
    })

  static let number = ReversibleTransformer<Int, String>(
    { String($0) },
    reverse: { text in
      guard let number = Int(text) else { throw NotANumber() }
      return number
    })
  struct NotANumber: Error {}

  static let entityMapping = EntityMapping(
    table: "parent", columns: ["numberString": .column("number", by: number), "requiredString": "string"],
    keys: ["number": ["numberString"]],
    relations: [
      "orderedChildren": .toMany(foreignKey: "parent2", order: .column("place")),
      "unorderedChildren": .toMany(foreignKey: "parent1"),
    ])
}

final class Child: DescribedModel, Entity, Hashable {
  let childID: Int
  weak var parent1: Parent?
  weak var parent2: Parent?

  init(_ childID: Int, parent1: Parent? = nil, parent2: Parent? = nil) {
    (self.childID, self.parent1, self.parent2) = (childID, parent1, parent2)
  }

  static let fields = Fields(
    Child.self, version: 1, Field("childID", \.childID), Field("parent1", \.parent1, archive: .conditional),
    Field("parent2", \.parent2, archive: .conditional), make: { Child($0, parent1: $1, parent2: $2) })

  static let entityMapping = EntityMapping(
    table: "child", keys: ["childID": ["childID"]],
    relations: ["parent1": .toOne("parent1"), "parent2": .toOne("parent2")])

  static func == (left: Child, right: Child) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Creates a database in memory, with the tables that `make` creates.
func database(_ make: (GRDB.Database) throws -> Void) throws -> DatabaseQueue {
  var configuration = Configuration()
  configuration.foreignKeysEnabled = true
  let queue = try DatabaseQueue(configuration: configuration)
  try queue.write(make)
  return queue
}

func familyTables(_ db: GRDB.Database) throws {
  try db.execute(
    sql: """
      CREATE TABLE parent (
        id INTEGER PRIMARY KEY, date DATETIME, number INTEGER NOT NULL DEFAULT 0 UNIQUE, string TEXT NOT NULL);
      CREATE TABLE child (
        id INTEGER PRIMARY KEY, childID INTEGER NOT NULL DEFAULT 0 UNIQUE,
        parent1 INTEGER REFERENCES parent(id), parent2 INTEGER REFERENCES parent(id), place INTEGER);
      """)
}

/// Returns the entity error that `body` throws. Records a failure if `body` throws no entity error with the given code.
@discardableResult
func entityError<R>(
  _ code: EntityError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> EntityError? {
  do {
    _ = try body()
    Issue.record("no error", sourceLocation: sourceLocation)
  } catch let error as EntityError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch { Issue.record(error, sourceLocation: sourceLocation) }
  return nil
}

extension DatabaseQueue {
  /// Returns the rows of a query as text: values with `|` between them, NULL as `-`.
  func lines(_ sql: String) throws -> [String] {
    try read { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map { $0.isNull ? "-" : "\($0.storage.value ?? "")" }.joined(separator: "|")
      }
    }
  }
}
