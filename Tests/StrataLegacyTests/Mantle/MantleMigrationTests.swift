import Foundation
import Strata
import StrataTestSupport
import Testing

// The worked example of Docs/Migrating.md. A test compares the two, and runs it.

// Migrating:begin
@Model(version: 3)
struct Incident: Equatable {
  let number: Int
  var title: String
  @Field(json: "user.login") var reporter: String?
  var state: IncidentState = .open
  var labels: [IncidentLabel] = []
  @Field(archive: .excluded) var isSelected = false
}

enum IncidentState: String, Archivable { case open, closed }

@Model(version: 0)
struct IncidentLabel: Equatable {
  var name: String
}

extension Incident: LegacyModel {
  static var legacyNames: [String] { ["GHIncident", "Incidents.Incident"] }
}

extension IncidentLabel: LegacyModel {
  static var legacyNames: [String] { ["GHLabel"] }
}

extension Incident: Migratable {
  static let migration = MigrationPlan(
    .step(from: 0, to: 1, .rename("mtl_title", to: "summary")),
    .step(
      from: 1, to: 2,
      .rename("summary", to: "title"),
      .setDefault("reporter", "unknown")),
    .step(
      from: 2, to: 3,
      .convert("state", .toInteger),
      .convert("state", .mapping([0: "open", 1: "closed"]))))
}

/// Returns the incidents of a file,
/// and replaces a keyed archive with a Strata archive.
func openIncidents(at url: URL) throws -> [Incident] {
  let data = try Data(contentsOf: url)
  do {
    return try ArchiveDecoder().decode([Incident].self, from: data)
  } catch let error as ArchiveError where error.code == .notAnArchive {
    let incidents = try ArchiveDecoder().decode(
      [Incident].self, fromKeyed: KeyedArchive(data))
    try ArchiveEncoder().encode(incidents, to: url)
    return incidents
  }
}

/// Returns an archive that version 2 of the old app can open.
func exportIncidents(_ incidents: [Incident]) throws -> Data {
  var options = KeyedWriting()
  options.baseClasses = ["MTLModel", "NSObject"]
  let encoder = ArchiveEncoder()
  return try encoder.encodeKeyed(incidents, options: options) { record in
    guard record.typeName == "Incident" else { return }
    record["state"] = record["state"] == "closed" ? 1 : 0
    record.modelVersion = 2
  }
}
// Migrating:end

@Suite("Docs/Migrating.md")
struct MantleMigrationTests {
  /// Returns the archive that the old app wrote at the given version; `nil` is the form before Mantle 0.4.
  private static func file(_ version: Int64?) -> Data {
    var archive = MantleArchive()
    let type = archive.type("GHIncident")
    let label = archive.model(archive.type("GHLabel"), version: 0, [("name", archive.string("bug"))])
    let labels = archive.array([label])
    let number = archive.int(7), title = archive.string("Crash"), ada = archive.string("ada"), closed = archive.int(1)
    let incident: MantleArchive.Node
    switch version {
    case nil:
      let plain = archive.array([archive.dictionary([("name", archive.string("bug"))])])
      let representation = archive.dictionary([
        ("number", number), ("title", title), ("user", archive.dictionary([("login", ada)])),
        ("state", archive.string("closed")), ("labels", plain),
      ])
      incident = archive.model(type, version: nil, [("externalRepresentation", representation)])
    case 0?:
      incident = archive.model(
        type, version: nil,
        [("number", number), ("mtl_title", title), ("reporter", ada), ("state", closed), ("labels", labels)])
    case 1?:
      incident = archive.model(
        type, version: 1, [("number", number), ("summary", title), ("state", closed), ("labels", labels)])
    case let version?:
      // Equal numbers share one object, and here that object is a boolean.
      let flag = archive.object(.bool(true))
      incident = archive.model(
        type, version: version,
        [
          ("number", number), ("title", title), ("reporter", ada), ("isSelected", flag), ("state", flag),
          ("labels", labels),
        ])
    }
    return archive.data(archive.array([incident]))
  }

  @Test(
    "A-19: archives of every version of a Mantle app open and become Strata archives", arguments: [nil, 0, 1, 2])
  func example(_ version: Int64?) throws {
    try withFolder { folder in
      let url = folder.appending(path: "incidents")
      try Self.file(version).write(to: url)
      var expected = Incident(number: 7, title: "Crash", reporter: version == 1 ? "unknown" : "ada", state: .closed)
      expected.labels = [IncidentLabel(name: "bug")]
      expected.isSelected = version == 2
      #expect(try openIncidents(at: url) == [expected])
      #expect(try Stamp(of: Data(contentsOf: url)).modelVersion == 3)
      expected.isSelected = false
      #expect(try openIncidents(at: url) == [expected])
    }
  }

  @Test("A-1, A-19: an exported archive matches the old app's format and opens again")
  func handedBack() throws {
    let incident = Incident(
      number: 7, title: "Crash", state: .closed, labels: [IncidentLabel(name: "bug")], isSelected: true)
    let archive = try KeyedArchive(exportIncidents([incident]))
    #expect(archive.classChain(of: "GHIncident") == ["GHIncident", "MTLModel", "NSObject"])
    let record = try #require(archive.graph.objects.first?.recordValue)
    #expect(record.modelVersion == 2 && record.keys == ["number", "title", "state", "labels"] && record["state"] == 1)
    var again = incident
    again.isSelected = false
    #expect(try ArchiveDecoder().decode([Incident].self, fromKeyed: archive) == [again])
  }

  @Test("The code of Docs/Migrating.md matches the example")
  func text() throws {
    let page = try Repository.text("Docs/Migrating.md")
    let program = try #require(Repository.examples("Migrating").first)
    // The page has text between the parts of the program, so each part is compared separately.
    let blocks = page.components(separatedBy: "```swift\n").map { $0.components(separatedBy: "\n```")[0] }
    let parts = program.components(separatedBy: "\n\n").filter { !$0.isEmpty }
    for part in parts {
      let text = part.trimmingCharacters(in: .newlines)
      #expect(blocks.contains { $0.contains(text) }, "\(text)")
    }
  }
}
