import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

@Suite("Encoding models as keyed archives")
struct KeyedModelWritingTests {
  /// The records of an archive by class.
  private static func records(_ data: Data) throws -> [String: [ModelRecord]] {
    Dictionary(grouping: try KeyedArchive(data).graph.objects.compactMap(\.recordValue), by: \.typeName)
  }

  @Test("A-1, A-2, A-4: a model is encoded as its legacy class without nil and excluded fields")
  func plain() throws {
    let data = try ArchiveEncoder().encodeKeyed(LegacyUser(name: nil, count: 5, nestedName: "n", isAdmin: true))
    let record = try #require(try Self.records(data)["MTLTestModel"]?.first)
    #expect(
      record
        == ModelRecord(
          typeName: "MTLTestModel", modelVersion: 1, fields: [("count", 5), ("isAdmin", true), ("score", 0.0)]))
    #expect(try KeyedArchive(data).classChain(of: "MTLTestModel") == ["MTLTestModel", "NSObject"])
    // As in Mantle, nil is decoded as the default.
    #expect(try ArchiveDecoder().decode(fromKeyed: KeyedArchive(data)) == LegacyUser(count: 5, isAdmin: true))
  }

  @Test("A-20: models, shared objects and cycles round-trip")
  func roundTrip() throws {
    let team = LegacyTeam(lead: LegacyUser(name: "a"), members: [LegacyUser(count: 1), LegacyUser(count: 2)])
    #expect(try ArchiveDecoder().decode(fromKeyed: KeyedArchive(ArchiveEncoder().encodeKeyed(team))) == team)
    let leaf = LegacyNode("leaf", nodes: [], parent: nil)
    let root = LegacyNode("root", nodes: [leaf, leaf], parent: nil)
    leaf.parent = root
    let data = try ArchiveEncoder().encodeKeyed([root, leaf])
    #expect(try Self.records(data)["App.Node"]?.count == 2)
    let again = try ArchiveDecoder().decode([LegacyNode].self, fromKeyed: KeyedArchive(data))
    #expect(again[0].nodes[0] === again[1] && again[0].nodes[1] === again[1] && again[1].parent === again[0])
  }

  @Test("Equal values are encoded as equal bytes")
  func deterministic() throws {
    let values: Set<String> = ["a", "b", "c", "d", "e"]
    let dictionary = Dictionary(uniqueKeysWithValues: values.map { ($0, $0) })
    let data = try ArchiveEncoder().encodeKeyed([dictionary])
    for _ in 0..<10 {
      let other = Dictionary(uniqueKeysWithValues: values.shuffled().map { ($0, $0) })
      #expect(try ArchiveEncoder().encodeKeyed([other]) == data)
    }
    #expect(try ArchiveEncoder().encodeKeyed(Set(values.shuffled())) == ArchiveEncoder().encodeKeyed(values))
  }

  @Test("Records are adjusted for an older program, nested records first")
  func adjusted() throws {
    let team = LegacyTeam(lead: LegacyUser(name: "Ada"), members: [])
    var seen: [String] = []
    let data = try ArchiveEncoder().encodeKeyed(team) { record in
      seen.append(record.typeName)
      guard record.typeName == "LegacyUser" else { return }
      record.rename("name", to: "mtl_name")
      record.modelVersion = 0
    }
    #expect(seen == ["LegacyUser", "Team"])
    let user = try #require(try Self.records(data)["MTLTestModel"]?.first)
    #expect(user.modelVersion == 0 && user["mtl_name"] == "Ada" && user["name"] == nil)
    #expect(try ArchiveDecoder().decode(LegacyTeam.self, fromKeyed: KeyedArchive(data)).lead?.name == "M: Ada")
  }

  /// Without the error, the record would be read without its migration step, and the field would get its default.
  @Test("A record with keys of an older version and the current version number throws")
  func adjustedWithoutVersion() throws {
    let team = LegacyTeam(members: [LegacyUser(), LegacyUser(name: "b")])
    let error = archiveError { _ = try ArchiveEncoder().encodeKeyed(team) { $0.rename("name", to: "mtl_name") } }
    #expect(error?.code == .migrationFailed && error?.pathDescription == "members[0]")
    #expect(
      error?.description.contains(
        "the model LegacyUser@1 has no field that reads the key mtl_name of the adjusted record; set record.modelVersion"
      )
        == true)
    // An adjustment may set a field or remove it.
    let data = try ArchiveEncoder().encodeKeyed(team) {
      guard $0.typeName == "LegacyUser" else { return }
      $0["name"] = "c"
      $0.removeValue(forKey: "count")
    }
    #expect(
      try ArchiveDecoder().decode(LegacyTeam.self, fromKeyed: KeyedArchive(data)).members.map(\.name) == ["c", "c"])
  }

  @Test("An error thrown by an adjustment is wrapped with the path of the record")
  func failedAdjustment() {
    struct Failure: Error {}
    let team = LegacyTeam(members: [LegacyUser(), LegacyUser(name: "b")])
    let error = archiveError {
      _ = try ArchiveEncoder().encodeKeyed(team) { if $0["name"] == "b" { throw Failure() } }
    }
    #expect(error?.code == .migrationFailed)
    #expect(error?.underlyingError is Failure)
    #expect(error?.pathDescription == "members[1]")
  }

  @Test("Options name classes and their superclasses")
  func names() throws {
    var options = KeyedWriting()
    options.classes["LegacyUser"] = ["GHUser", "GHObject", "MTLModel", "NSObject"]
    options.baseClasses = ["MTLModel", "NSObject"]
    let archive = try KeyedArchive(ArchiveEncoder().encodeKeyed(LegacyTeam(lead: LegacyUser()), options: options))
    #expect(archive.classChain(of: "GHUser") == ["GHUser", "GHObject", "MTLModel", "NSObject"])
    #expect(archive.classChain(of: "Team") == ["Team", "MTLModel", "NSObject"])
  }

  @Test("A-15: a value that a keyed archive cannot represent throws an error with its path")
  func notEncodable() throws {
    struct Box: DescribedModel {
      var content: ArchiveValue
      static let fields = Fields(Box.self, version: 0, Field("content", \.content), make: { Box(content: $0) })
    }
    let number = try JSONReader().read(Data("[1e999]".utf8))
    let error = archiveError { _ = try ArchiveEncoder().encodeKeyed(Box(content: number)) }
    #expect(error?.code == .notEncodable)
    #expect(error?.pathDescription == "root.content[0]")
  }
}
