import Foundation
import GRDB
import StrataCore
import StrataRemote
import StrataStore

struct Member: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var teamID: String?

  static let fields = Fields(
    Member.self, version: 1, Field("id", \.id), Field("name", \.name), Field("teamID", \.teamID),
    make: { Member(id: $0, name: $1, teamID: $2) })
  static let entityMapping = EntityMapping(table: "member")
}

/// A team with a to-one relation, a list and a date.
struct Team: DescribedModel, Entity, Equatable {
  var id: String
  var name: String
  var founded: Date?
  var lead: Member?
  var members: [Member] = []

  static let fields = Fields(
    Team.self, version: 1, Field("id", \.id), Field("name", \.name), Field("founded", \.founded), Field("lead", \.lead),
    Field("members", \.members, default: []),
    make: { Team(id: $0, name: $1, founded: $2, lead: $3, members: $4) })
  static let entityMapping = EntityMapping(
    table: "team",
    relations: ["lead": .toOne("leadID"), "members": .toMany(foreignKey: "teamID", order: .by("name"))])
}

/// A store with teams and members, and its server.
struct Club {
  let server: ModelServer
  let queue: DatabaseQueue
  let entities: EntityStore
  let remote: RemoteStore

  /// - Parameter byID: whether the JSON refers to related records by id.
  init(_ lists: [String: String], byID: Bool = false, _ configure: (inout RemoteConfiguration) -> Void = { _ in })
    async throws
  {
    server = ModelServer(lists)
    queue = try DatabaseQueue()
    try await queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE team (id TEXT PRIMARY KEY, name TEXT NOT NULL, founded DATETIME, leadID TEXT REFERENCES member(id));
          CREATE TABLE member (id TEXT PRIMARY KEY, name TEXT NOT NULL, teamID TEXT REFERENCES team(id));
          """)
    }
    entities = try EntityStore(queue, Team.self, Member.self)
    var configuration = RemoteConfiguration(baseURL: server.base, transport: server)
    configuration.mappers = [
      EntityMapper(Team.self, references: byID ? ["lead": "lead_id", "members": "member_ids"] : [:]),
      EntityMapper(Member.self, keys: ["teamID": "team_id"]),
    ]
    configuration.retry = .none
    configure(&configuration)
    remote = try await RemoteStore(entities, configuration)
  }

  func team(_ id: String = "t") async throws -> Team? {
    try await entities.fetchOne(Team.filter(Column("id") == id))
  }
}
