import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

/// Saves random graphs of entities and compares the tables with dictionaries that plain assignments update. `STRATA_ENTITY_ROUNDS` is the
/// number of rounds. A failure prints the seed of its round.
@Suite("Entities: random graphs", .tags(.long))
struct EntityRandomTests {
  static let environment = ProcessInfo.processInfo.environment
  static var rounds: Int { environment["STRATA_ENTITY_ROUNDS"].flatMap(Int.init) ?? Effort.rounds(10, long: 120) }
  static let titles = ["a", "b", "c"]

  @Test("O-11, O-17, O-19, O-23: random graphs round-trip through rows, and saving twice writes nothing")
  func graphs() throws {
    let first = Self.environment["STRATA_ENTITY_SEED"].flatMap(UInt64.init)
    let start = first ?? UInt64.random(in: 0..<1 << 40)
    for seed in start..<start + UInt64(first == nil ? Self.rounds : 1) {
      do { try Self.round(seed) } catch { Issue.record(error, "STRATA_ENTITY_SEED=\(seed)") }
    }
  }

  private static func round(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let queue = try database(worldTables)
    let entities = try EntityStore(queue, Team.self)
    var world = World()
    for step in 0..<6 {
      try queue.write { db in
        let place: Comment = "STRATA_ENTITY_SEED=\(seed), step \(step)"
        if step > 0, random.isOnce(in: 3) {
          try merge(entities, &world, db, &random)
        } else {
          var teams = try entities.fetchAll(Team.order(Column("id")), in: db)
          // Takes the persons from the fetched teams, so that each person is one object.
          var persons = known(teams)
          change(&teams, &persons, &random)
          let roots = teams.filter { _ in !random.isOnce(in: 4) }
          world.save(teams: roots, persons: [])
          try entities.save(roots, in: db)
          #expect(try entities.save(roots, in: db).isEmpty, place)
        }
        #expect(try World(db) == world, place)
        // Computes the content of the fetched objects with the same plain code, and compares it with the expected content.
        let back = try entities.fetchAll(Team.all(), in: db)
        var again = World()
        again.save(teams: back, persons: [])
        for (id, team) in world.teams { #expect(again.teams[id] == team, place) }
        for (id, person) in again.persons { #expect(world.persons[id] == person, place) }
        // Each row was fetched as a single object.
        for person in known(back) { #expect(person.team.map { team in back.contains { $0 === team } } ?? true, place) }
        #expect(Set(known(back).map(\.id)).count == known(back).count, place)
        #expect(try entities.save(back, in: db).isEmpty, place)
      }
    }
  }

  /// Returns every person that a team refers to, directly or indirectly, without duplicates.
  private static func known(_ teams: [Team]) -> [Player] {
    var seen = Set<ObjectIdentifier>()
    var found: [Player] = []
    var waiting = teams.flatMap { $0.members + [$0.captain].compactMap(\.self) }
    while let person = waiting.popLast() {
      guard seen.insert(ObjectIdentifier(person)).inserted else { continue }
      found.append(person)
      if let friend = person.friend { waiting.append(friend) }
      if let team = person.team { waiting += team.members + [team.captain].compactMap(\.self) }
    }
    return found.sorted { $0.id < $1.id }
  }

  private static func change(_ teams: inout [Team], _ persons: inout [Player], _ random: inout SeededRandom) {
    for _ in 0..<random.below(4)
    where !teams.contains(where: { [id = random.below(5)] in $0.id == id }) || teams.isEmpty {
      let id = (0..<8).first { id in !teams.contains { $0.id == id } } ?? 9
      teams.append(Team(id, random.oneOf(titles)))
    }
    guard !teams.isEmpty else { return }
    for _ in 0..<random.below(12) {
      let team = random.oneOf(teams)
      switch random.below(9) {
      case 0: team.name = random.oneOf(titles)
      case 1:
        let free = (0..<10).filter { id in !persons.contains { $0.id == id } }
        guard let id = free.first else { continue }
        let person = Player(id, random.isOnce(in: 3) ? nil : random.oneOf(titles), Double(random.below(3)))
        persons.append(person)
        move(person, to: team, teams, &random)
      case 2: if !persons.isEmpty { move(random.oneOf(persons), to: team, teams, &random) }
      case 3: team.members.shuffle(using: &random)
      case 4:
        guard !team.members.isEmpty else { continue }
        team.members.remove(at: random.below(team.members.count)).team = nil
      case 5: team.captain = random.isOnce(in: 3) || persons.isEmpty ? nil : random.oneOf(persons)
      case 6:
        let badge = Badge(code: random.oneOf(titles), title: "t")
        if team.badges.remove(badge) == nil { team.badges.insert(badge) }
      case 7:
        guard !persons.isEmpty else { continue }
        let person = random.oneOf(persons)
        person.friend = random.isOnce(in: 3) ? nil : random.oneOf(persons)
        person.name = random.isOnce(in: 3) ? nil : random.oneOf(titles)
      default:
        guard !persons.isEmpty else { continue }
        let person = random.oneOf(persons)
        // Cards may have the same text, and their order may change.
        for _ in 0..<random.below(4) { person.cards.append(Card(text: random.oneOf(titles))) }
        if random.isOnce(in: 2) { person.cards.shuffle(using: &random) }
        if random.isOnce(in: 3), !person.cards.isEmpty { person.cards.remove(at: random.below(person.cards.count)) }
      }
    }
  }

  private static func move(_ person: Player, to team: Team, _ teams: [Team], _ random: inout SeededRandom) {
    for other in teams { other.members.removeAll { $0 === person } }
    team.members.insert(person, at: random.below(team.members.count + 1))
    person.team = team
  }

  /// Merges a JSON document that has only some of the persons, with only some of their keys.
  private static func merge(
    _ entities: EntityStore, _ world: inout World, _ db: GRDB.Database, _ random: inout SeededRandom
  ) throws {
    var documents: [ArchiveValue] = []
    for id in world.persons.keys.sorted() where random.isOnce(in: 2) {
      var object: ArchiveObject = ["id": .int(Int64(id))]
      if random.isOnce(in: 2) {
        let name = random.isOnce(in: 3) ? nil : random.oneOf(titles)
        object["name"] = name.map { .string($0) } ?? .null
        world.persons[id]?.name = name
      }
      if random.isOnce(in: 2) {
        let score = Double(random.below(5)) + 0.5
        object["score"] = .double(score)
        world.persons[id]?.score = score
      }
      if random.isOnce(in: 4) {
        object["friend"] = .null
        world.persons[id]?.friend = nil
      }
      if random.isOnce(in: 4) {
        let cards = (0..<random.below(3)).map { _ in random.oneOf(titles) }
        object["cards"] = .array(cards.map { ["text": .string($0)] })
        world.persons[id]?.cards = cards
      }
      documents.append(.object(object))
    }
    try entities.apply(.json(.array(documents)), to: Player.self, in: db)
    #expect(try entities.apply(.json(.array(documents)), to: Player.self, in: db).isEmpty)
  }
}
