import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

// Entities with every kind of relation: ordered and unordered lists, join tables, cycles, and elements without a key.

final class Team: DescribedModel, Entity {
  let id: Int
  var name: String
  var members: [Player]
  var badges: Set<Badge>
  var captain: Player?

  init(_ id: Int, _ name: String, _ members: [Player] = [], _ badges: Set<Badge> = [], _ captain: Player? = nil) {
    (self.id, self.name, self.members, self.badges, self.captain) = (id, name, members, badges, captain)
  }

  static let fields = Fields(
    Team.self, version: 1, Field("id", \.id), Field("name", \.name), Field("members", \.members, default: []),
    Field("badges", \.badges, default: []), Field("captain", \.captain), make: { Team($0, $1, $2, $3, $4) })
  static let entityMapping = EntityMapping(
    table: "team",
    relations: [
      "members": .toMany(foreignKey: "teamID", order: .column("place")),
      "badges": .through("teamBadge", from: "teamID", to: "badgeID"), "captain": .toOne("captainID"),
    ])
}

final class Player: DescribedModel, Entity {
  let id: Int
  var name: String?
  var score: Double
  var friend: Player?
  weak var team: Team?
  var cards: [Card]

  init(
    _ id: Int, _ name: String?, _ score: Double = 0, _ friend: Player? = nil, _ team: Team? = nil, _ cards: [Card] = []
  ) {
    (self.id, self.name, self.score, self.friend, self.team, self.cards) = (id, name, score, friend, team, cards)
  }

  static let fields = Fields(
    Player.self, version: 1, Field("id", \.id), Field("name", \.name), Field("score", \.score, default: 1),
    Field("friend", \.friend), Field("team", \.team, archive: .conditional), Field("cards", \.cards, default: []),
    make: { Player($0, $1, $2, $3, $4, $5) })
  static let entityMapping = EntityMapping(
    table: "person",
    relations: [
      "friend": .toOne("friendID"), "team": .toOne("teamID"),
      "cards": .toMany(foreignKey: "personID", order: .column("place"), removed: .delete),
    ])
}

/// An entity without a key. Its row is found by its content.
struct Card: DescribedModel, Entity, Equatable {
  var text: String

  static let fields = Fields(Card.self, version: 1, Field("text", \.text), make: { Card(text: $0) })
  static let entityMapping = EntityMapping(table: "card")
}

struct Badge: DescribedModel, Entity, Hashable {
  let code: String
  var title: String?

  static let fields = Fields(
    Badge.self, version: 1, Field("code", \.code), Field("title", \.title), make: { Badge(code: $0, title: $1) })
  static let entityMapping = EntityMapping(table: "badge", keys: ["code": ["code"]])
}

func worldTables(_ db: GRDB.Database) throws {
  try db.execute(
    sql: """
      CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT NOT NULL, captainID INTEGER REFERENCES person(id));
      CREATE TABLE person (
        id INTEGER PRIMARY KEY, name TEXT, score REAL NOT NULL, friendID INTEGER REFERENCES person(id),
        teamID INTEGER REFERENCES team(id), place INTEGER, UNIQUE (teamID, place));
      CREATE TABLE card (
        id INTEGER PRIMARY KEY, text TEXT NOT NULL, personID INTEGER NOT NULL REFERENCES person(id), place INTEGER NOT NULL);
      CREATE INDEX cards ON card (personID);
      CREATE TABLE badge (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, title TEXT);
      CREATE TABLE teamBadge (
        teamID INTEGER NOT NULL REFERENCES team(id), badgeID INTEGER NOT NULL REFERENCES badge(id),
        PRIMARY KEY (teamID, badgeID)) WITHOUT ROWID;
      """)
}

/// The expected content of the tables. It is kept in dictionaries that plain assignments update.
struct World: Equatable {
  struct OneTeam: Equatable {
    var name = ""
    var members: [Int] = []
    var badges: Set<String> = []
    var captain: Int?
  }
  struct OnePlayer: Equatable {
    var name: String?
    var score = 1.0
    var friend: Int?
    var cards: [String] = []
  }
  var teams: [Int: OneTeam] = [:]
  var persons: [Int: OnePlayer] = [:]
  var badges: [String: String?] = [:]

  init() {}

  /// Reads the actual content of the tables with plain SQL.
  init(_ db: GRDB.Database) throws {
    for row in try Row.fetchAll(db, sql: "SELECT * FROM team") {
      teams[row["id"]] = OneTeam(name: row["name"], captain: row["captainID"])
    }
    for row in try Row.fetchAll(db, sql: "SELECT * FROM person ORDER BY place") {
      persons[row["id"]] = OnePlayer(name: row["name"], score: row["score"], friend: row["friendID"])
      if let team = row["teamID"] as Int? { teams[team]?.members.append(row["id"]) }
    }
    for row in try Row.fetchAll(db, sql: "SELECT * FROM card ORDER BY personID, place") {
      persons[row["personID"]]?.cards.append(row["text"])
    }
    var codes: [Int: String] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM badge") {
      codes[row["id"]] = row["code"]
      badges[row["code"]] = .some(row["title"] as String?)
    }
    for row in try Row.fetchAll(db, sql: "SELECT * FROM teamBadge") {
      if let code = codes[row["badgeID"]] { teams[row["teamID"]]?.badges.insert(code) }
    }
  }

  /// Updates the expected content for saved objects.
  mutating func save(teams roots: [Team], persons others: [Player]) {
    var seenTeams = Set<ObjectIdentifier>()
    var seenPersons = Set<ObjectIdentifier>()
    var reached: [Team] = []
    func visit(_ team: Team, _ world: inout World) {
      guard seenTeams.insert(ObjectIdentifier(team)).inserted else { return }
      reached.append(team)
      team.members.forEach { visit($0, &world) }
      if let captain = team.captain { visit(captain, &world) }
      for badge in team.badges { world.badges[badge.code] = .some(badge.title) }
    }
    func visit(_ person: Player, _ world: inout World) {
      guard seenPersons.insert(ObjectIdentifier(person)).inserted else { return }
      world.persons[person.id] = OnePlayer(
        name: person.name, score: person.score, friend: person.friend?.id, cards: person.cards.map(\.text))
      if let friend = person.friend { visit(friend, &world) }
      if let team = person.team { visit(team, &world) }
    }
    roots.forEach { visit($0, &self) }
    others.forEach { visit($0, &self) }
    for team in reached {
      let members = team.members.map(\.id)
      for other in teams.keys { teams[other]?.members.removeAll { members.contains($0) } }
      teams[team.id] = OneTeam(
        name: team.name, members: members, badges: Set(team.badges.map(\.code)), captain: team.captain?.id)
    }
  }
}
