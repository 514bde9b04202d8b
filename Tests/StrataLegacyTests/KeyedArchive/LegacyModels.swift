import Foundation
import StrataCore
import StrataLegacy

/// The model of Mantle's own specs. Version 0 wrote the name under a different key.
struct LegacyUser: DescribedModel, LegacyModel, KeyMigrating, Hashable {
  var name: String? = "nobody"
  var count = 0
  var nestedName: String?
  var isAdmin = false
  var score = 0.0

  static var legacyNames: [String] { ["MTLTestModel", "App.User"] }
  static let fields = Fields(
    LegacyUser.self, version: 1,
    Field("name", \.name, json: "username", default: "nobody"),
    Field("count", \.count, json: .automatic.lenient(.numericString), default: 0),
    Field("nestedName", \.nestedName, archive: .excluded, json: "nested.name"),
    Field("isAdmin", \.isAdmin, default: false), Field("score", \.score, default: 0),
    make: { LegacyUser(name: $0, count: $1, nestedName: $2, isAdmin: $3, score: $4) })

  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
    guard key == "name", modelVersion == 0, let old = record["mtl_name"]?.stringValue else { return record[key] }
    return .string("M: " + old)
  }
}

struct LegacyTeam: DescribedModel, Equatable {
  var lead: LegacyUser?
  var members: [LegacyUser] = []
  static let fields = Fields(
    LegacyTeam.self, name: "Team", version: 3, Field("lead", \.lead), Field("members", \.members, default: []),
    make: { LegacyTeam(lead: $0, members: $1) })
}

/// A class whose objects refer back to their owner.
final class LegacyNode: DescribedModel, LegacyModel {
  var name: String
  var nodes: [LegacyNode]
  weak var parent: LegacyNode?

  init(_ name: String, nodes: [LegacyNode], parent: LegacyNode?) {
    (self.name, self.nodes, self.parent) = (name, nodes, parent)
  }

  static var legacyNames: [String] { ["App.Node"] }
  static let fields = Fields(
    LegacyNode.self, name: "Node", version: 1, Field("name", \.name), Field("nodes", \.nodes, default: []),
    Field("parent", \.parent), make: { LegacyNode($0, nodes: $1, parent: $2) })
}

/// A model whose custom code decodes the old form as a record of an older version.
struct LegacyNote: DescribedModel, LegacyModel, Migratable, Equatable {
  var text: String
  static var legacyNames: [String] { ["Note"] }
  static let fields = Fields(
    LegacyNote.self, name: "LegacyNote", version: 3, Field("text", \.text), make: { LegacyNote(text: $0) })
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("title", to: "text")),
    .step(from: 2, to: 3, "shout") { record in
      if let text = record["text"]?.stringValue { record["text"] = .string(text.uppercased()) }
    })

  static func record(fromExternalRepresentation object: ArchiveObject, version: Int) throws -> ModelRecord {
    ModelRecord(
      typeName: "LegacyNote", modelVersion: max(version, 1),
      fields: [("title", object["t"] ?? object["author"]?["name"] ?? "none")])
  }
}

/// A model whose version 0 had one of its current fields in a nested model.
struct LegacyCrew: DescribedModel, Migratable, Equatable {
  var leadName: String
  var members: [LegacyUser] = []
  static let fields = Fields(
    LegacyCrew.self, name: "Crew", version: 1, Field("leadName", \.leadName, default: "nobody"),
    Field("members", \.members, default: []), make: { LegacyCrew(leadName: $0, members: $1) })
  static let migration = MigrationPlan(.step(from: 0, to: 1, .move("lead.name", to: "leadName")))
}

/// The same model with a hook instead of a migration step.
struct LegacyGang: DescribedModel, KeyMigrating, Equatable {
  var leadName: String
  var members: Set<LegacyUser> = []
  static let fields = Fields(
    LegacyGang.self, name: "Gang", version: 1, Field("leadName", \.leadName, default: "nobody"),
    Field("members", \.members, default: []), make: { LegacyGang(leadName: $0, members: $1) })

  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue? {
    key == "leadName" && modelVersion == 0 ? record["lead"]?["name"] : record[key]
  }
}

/// A model that other models contain many times.
struct LegacyTable: DescribedModel, Equatable {
  var numbers: [Int]
  static let fields = Fields(
    LegacyTable.self, name: "Table", version: 1, Field("numbers", \.numbers), make: { LegacyTable(numbers: $0) })
}

struct LegacyTables: DescribedModel, Equatable {
  var tables: [LegacyTable]
  static let fields = Fields(
    LegacyTables.self, name: "Tables", version: 1, Field("tables", \.tables), make: { LegacyTables(tables: $0) })
}
