import Strata
import Testing

@Suite("Merging objects")
struct ObjectMergeTests {
  private func project(_ names: [String]) -> TeamProject {
    let project = TeamProject(id: 1, name: "p")
    project.members = names.enumerated().map { Teammate(id: $0, name: $1) }
    for member in project.members { member.project = project }
    project.lead = project.members.first
    return project
  }

  @Test("MG-7, U-16: instances keep their identity, and new ones refer to the local graph")
  func identity() throws {
    let local = project(["a", "b", "c"])
    let (first, second) = (local.members[0], local.members[1])
    let server = project(["A", "b", "c", "d"])
    server.members.remove(at: 2)
    let report = try local.mergeValues(from: server)
    #expect(local.members.map(\.name) == ["A", "b", "d"])
    #expect(local.members[0] === first && local.members[1] === second && local.lead === first)
    #expect(first.name == "A" && local.members[2] !== server.members[2])
    #expect(local.members.allSatisfy { $0.project === local })
    #expect(server.members.allSatisfy { $0.project === server } && server.members[2].name == "d")
    #expect(report.changedKeys == ["members"])
    #expect(try local.mergeValues(from: server).isEmpty)
  }

  @Test("With a base, edits on both sides are merged into the existing instances")
  func threeWays() throws {
    let base = project(["a", "b"])
    let local = project(["a", "b"])
    let member = local.members[1]
    member.name = "mine"
    let server = project(["A", "b"])
    let report = try local.merge(.model(server), base: base)
    #expect(local.members.map(\.name) == ["A", "mine"] && local.members[1] === member && report.conflicts.isEmpty)
  }

  @Test("A failed merge leaves every instance unchanged")
  func atomic() throws {
    let local = project(["a", "b"])
    let members = local.members
    let server = project(["A", ""])
    server.name = "other"
    let error = try #require(throws: ArchiveError.self) { try local.mergeValues(from: server) }
    #expect(error.code == .invalid)
    #expect(local.name == "p" && members.map(\.name) == ["a", "b"] && local.members[0] === members[0])
  }
}
