import Foundation
import Strata
import StrataTestSupport
import Testing

// The enum with payloads of Docs/Migrating.md. A test compares and runs it.

// Migrating:begin
@Model(version: 2)
struct Tile: Equatable {
  var shape: TileShape
}

@Model(version: 1)
enum TileShape: Equatable {
  case circle(radius: Double)
  case named(String)
  case dot
}

extension Tile: Migratable {
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, "make shapes of radii and names") { record in
      let radius = record.removeValue(forKey: "radius")
      let name = record.removeValue(forKey: "name")
      record["shape"] =
        if let radius {
          .enumCase("circle", of: "TileShape", version: 1, ["radius": radius])
        } else if let name {
          .enumCase("named", of: "TileShape", version: 1, ["_0": name])
        } else {
          .enumCase("dot", of: "TileShape", version: 1)
        }
    })
}
// Migrating:end

@Suite("The migration guide")
struct MigratingGuideTests {
  @Test("The guide contains the code of this enum with payloads")
  func example() throws {
    let program = try #require(Repository.examples("Migrating").first)
    #expect(try Repository.text("Docs/Migrating.md").contains(program.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  @Test(
    "A migration step creates enum cases with payloads",
    arguments: [
      ([("radius", 1.5)], .circle(radius: 1.5)), ([("name", "star")], .named("star")), ([], .dot),
    ] as [([(String, ArchiveValue)], TileShape)])
  func payloads(fields: [(String, ArchiveValue)], shape: TileShape) throws {
    let old = try ArchiveEncoder().encode(ModelRecord(typeName: "Tile", modelVersion: 1, fields: fields))
    let tile = try ArchiveDecoder().decode(Tile.self, from: old)
    #expect(tile == Tile(shape: shape))
    #expect(try ArchiveUpgrader(Tile.self).upgrade(old) == ArchiveEncoder().encode(tile))
  }
}
