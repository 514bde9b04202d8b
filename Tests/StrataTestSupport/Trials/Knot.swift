import Foundation
package import StrataCore
import StrataLegacy

/// A class whose objects may refer to each other in any way.
package final class Knot: DescribedModel, LegacyModel {
  package var name: String
  package var next: Knot?
  package var others: [Knot]
  package weak var parent: Knot?
  package var any: ArchiveValue
  package var byName: [String: Knot]
  package var leaf: Leaf?

  package init(
    _ name: String, _ next: Knot?, _ others: [Knot], _ parent: Knot?, _ any: ArchiveValue, _ byName: [String: Knot],
    _ leaf: Leaf?
  ) {
    (self.name, self.next, self.others, self.parent) = (name, next, others, parent)
    (self.any, self.byName, self.leaf) = (any, byName, leaf)
  }

  package static var legacyNames: [String] { ["App.Knot"] }
  package static let fields = Fields(
    Knot.self, version: 1, Field("name", \.name, default: ""), Field("next", \.next),
    Field("others", \.others, default: []), Field("parent", \.parent, archive: .conditional),
    Field("any", \.any, default: .null), Field("byName", \.byName, default: [:]), Field("leaf", \.leaf),
    make: { Knot($0, $1, $2, $3, $4, $5, $6) })
}

/// A value with validation rules and a migration step from an older version.
package struct Leaf: DescribedModel, LegacyModel, Migratable, Equatable {
  package var name: String
  package var count: Int
  package var tags: Set<String>

  package init(name: String, count: Int, tags: Set<String>) {
    (self.name, self.count, self.tags) = (name, count, tags)
  }

  package static var legacyNames: [String] { ["App.Leaf"] }
  package static let fields = Fields(
    Leaf.self, version: 2, Field("name", \.name, json: "x.n", default: ""), Field("b", \.count, default: 0),
    Field("t", \.tags, default: []), make: { Leaf(name: $0, count: $1, tags: $2) })
  package static let migration = MigrationPlan(
    .step(from: 0, to: 1, .rename("n", to: "name")),
    .step(from: 1, to: 2, "count") { record in if record["b"] == nil { record["b"] = 1 } })
}
