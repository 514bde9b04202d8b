import Foundation
import Strata
import StrataTestSupport
import Testing

/// ``ByMacro`` and ``ByHand`` declare the same models. Their archives must be identical.
enum ByMacro {
  @Model(version: 4, name: "Repository")
  struct Repository {
    let id: Int
    var name: String
    @Field(formerly: "stars") var stargazers = 0
    @Field(archive: .excluded) var retrievedAt = Date.distantPast
    var labels: [String] = []
    var owner: String?
    var state = State.open
  }
}

enum ByHand {
  struct Repository: DescribedModel {
    let id: Int
    var name: String
    var stargazers = 0
    var retrievedAt = Date.distantPast
    var labels: [String] = []
    var owner: String?
    var state = State.open

    static let fields = Fields(
      Repository.self, name: "Repository", version: 4,
      Field("id", \.id),
      Field("name", \.name),
      Field("stargazers", \.stargazers, formerly: ["stars"], default: 0),
      Field("retrievedAt", \.retrievedAt, archive: .excluded, default: Date.distantPast),
      Field("labels", \.labels, default: []),
      Field("owner", \.owner),
      Field("state", \.state, default: State.open),
      make: {
        Repository(id: $0, name: $1, stargazers: $2, retrievedAt: $3, labels: $4, owner: $5, state: $6)
      })
  }
}

@Suite struct HandWrittenTests {
  @Test("M-14, U-27: handwritten and macro models with the same name write equal archives in one process")
  func sameBytes() throws {
    let made = ByMacro.Repository(id: 1, name: "n", stargazers: 3, labels: ["a"], owner: nil, state: .closed)
    let written = ByHand.Repository(
      id: 1, name: "n", stargazers: 3, labels: ["a"], owner: nil, state: .closed)
    let data = try ArchiveEncoder().encode(made)
    #expect(try data == ArchiveEncoder().encode(written))
    #expect(try ArchiveEncoder().encode([made, made]) == ArchiveEncoder().encode([written, written]))
    #expect(try ArchiveDecoder().decode(ByHand.Repository.self, from: data).stargazers == 3)
    #expect(ByMacro.Repository.schema.fingerprint == ByHand.Repository.schema.fingerprint)
  }
}
