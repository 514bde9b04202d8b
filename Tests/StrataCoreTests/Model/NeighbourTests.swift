import Foundation
import NeighbourNames
import Strata
import Testing

// Both imported modules declare `Model`. The macro with a version is Strata's.
@Model(version: 2)
struct Neighbour: Migratable, Equatable {
  var title = ""
  var row: Int?

  static let migration = MigrationPlan(.step(from: 1, to: 2, .rename("name", to: "title")))
}

private final class Post: Record, Model, Migration {}

@Suite("Use together with GRDB, Fluent and SwiftData") struct NeighbourTests {
  @Test("A file can import Strata and a module that declares the type names of these packages") func names() throws {
    let old = ModelRecord(typeName: "Neighbour", modelVersion: 1, fields: [("name", "a")])
    let new = try ArchiveDecoder().decode(Neighbour.self, from: ArchiveEncoder().encode(old))
    #expect(new == Neighbour(title: "a"))
    let post: Any = Post()
    #expect(post is any Migration && post is Record && post is any Model && !(post is any VersionedModel))
    _ = (Row(), Column(), Table<Neighbour>(), Configuration(), Database(), Schema(), Migrations())
    _ = (Object(), Value(), Check(), Conversion())
  }
}
