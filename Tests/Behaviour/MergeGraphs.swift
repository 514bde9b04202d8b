import Foundation
import StrataCore

// The simulated merges use the following classes, whose instances can refer to each other in cycles.

/// Collects closures that clear the references between a case's objects. They run after the case, because reference cycles would never be
/// released.
enum Links {
  nonisolated(unsafe) private static var cuts: [() -> Void] = []

  static func add(_ cut: @escaping () -> Void) { cuts.append(cut) }

  static func cutAll() {
    for cut in cuts { cut() }
    cuts.removeAll(keepingCapacity: true)
  }
}

final class Team: DescribedModel, ShownObject {
  var name: String
  var note: String
  var lead: Person?
  var members: [Person]
  weak var guest: Person?
  var roles: [String: Person]
  var merging: MergeState

  init(
    name: String, note: String, lead: Person? = nil, members: [Person] = [], guest: Person? = nil,
    roles: [String: Person] = [:], merging: MergeState = MergeState()
  ) {
    (self.name, self.note, self.lead, self.members, self.guest) = (name, note, lead, members, guest)
    (self.roles, self.merging) = (roles, merging)
    Links.add { (self.lead, self.members, self.roles) = (nil, [], [:]) }
  }

  static let fields = Fields(
    Team.self, version: 1, Field("name", \.name, default: ""), Field("note", \.note, merge: .localWins, default: ""),
    Field("lead", \.lead), Field("members", \.members, default: []),
    Field("guest", \.guest, archive: .conditional), Field("roles", \.roles, default: [:]),
    Field("merging", \.merging, default: MergeState()),
    make: { Team(name: $0, note: $1, lead: $2, members: $3, guest: $4, roles: $5, merging: $6) })

  func showFields(to text: inout CaseText) {
    text.field("name", name)
    text.field("note", note)
    text.field("lead", lead)
    text.field("members", members)
    text.field("guest", guest)
    text.field("roles", roles)
    text.field("merging", merging)
  }
}

class Person: ModelHierarchy, ShownObject {
  var id: Int?
  var name: String
  var mail: String?
  var boss: Person?
  weak var team: Team?
  var pets: [Pet]

  init(id: Int?, name: String, mail: String?) {
    (self.id, self.name, self.mail, pets) = (id, name, mail, [])
    addLinks()
  }

  private func addLinks() { Links.add { (self.boss, self.pets) = (nil, []) } }

  private static let personSchema = ModelSchema(
    Person.self, name: "Person", version: 1,
    fields: [
      FieldInfo("id", Int?.self), FieldInfo("name", String.self, default: { "" }),
      FieldInfo("mail", String?.self, merge: .serverWins.ifPresent), FieldInfo("boss", Person?.self),
      FieldInfo("team", Team?.self, archive: .conditional), FieldInfo("pets", [Pet].self, default: { [] }),
    ])
  class var schema: ModelSchema { personSchema }
  static var subclasses: [any VersionedModel.Type] { [Manager.self] }

  required init(fields reader: inout ArchiveReader) throws {
    id = try reader.field(0)
    name = try reader.field(1, default: "")
    mail = try reader.field(2)
    boss = try reader.field(3)
    team = try reader.field(4)
    pets = try reader.field(5, default: [])
    addLinks()
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, id)
    try writer.field(1, name)
    try writer.field(2, mail)
    try writer.field(3, boss)
    try writer.conditionalField(4, team)
    try writer.field(5, pets)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 0: id = try reader.field(0)
    case 1: name = try reader.field(1, default: "")
    case 2: mail = try reader.field(2)
    case 3: boss = try reader.field(3)
    case 4: team = try reader.field(4)
    case 5: pets = try reader.field(5, default: [])
    default: throw reader.constantInCycle(place)
    }
  }

  func adoptFields(of other: Person) { adopt(other) }

  func adopt(_ other: Person) {
    (id, name, mail, boss, team, pets) = (other.id, other.name, other.mail, other.boss, other.team, other.pets)
  }

  func showFields(to text: inout CaseText) {
    text.field("id", id)
    text.field("name", name)
    text.field("mail", mail)
    text.field("boss", boss)
    text.field("team", team)
    text.field("pets", pets)
  }
}

final class Manager: Person {
  var level: Int
  var reports: [Person]

  init(id: Int?, name: String, mail: String?, level: Int) {
    (self.level, reports) = (level, [])
    super.init(id: id, name: name, mail: mail)
    addReports()
  }

  private func addReports() { Links.add { self.reports = [] } }

  private static let managerSchema = ModelSchema(
    Manager.self, name: "Manager", version: 2, superclass: Person.self,
    fields: [
      FieldInfo("level", Int.self, merge: .max, default: { 1 }), FieldInfo("reports", [Person].self, default: { [] }),
    ])
  override class var schema: ModelSchema { managerSchema }

  required init(fields reader: inout ArchiveReader) throws {
    level = try reader.field(0, default: 1)
    reports = try reader.field(1, default: [])
    reader.beginSuperclass(after: 2)
    try super.init(fields: &reader)
    reader.endSuperclass(after: 2)
    addReports()
  }

  override func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, level)
    try writer.field(1, reports)
    writer.beginSuperclass(after: 2)
    try super.encodeFields(to: &writer)
    writer.endSuperclass(after: 2)
  }

  override func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 0: level = try reader.field(0, default: 1)
    case 1: reports = try reader.field(1, default: [])
    default:
      reader.beginSuperclass(after: 2)
      try super.readField(place - 2, from: &reader)
      reader.endSuperclass(after: 2)
    }
  }

  override func adopt(_ other: Person) {
    super.adopt(other)
    guard let other = other as? Manager else { return }
    (level, reports) = (other.level, other.reports)
  }

  override func showFields(to text: inout CaseText) {
    text.field("level", level)
    text.field("reports", reports)
    super.showFields(to: &text)
  }
}

final class Pet: DescribedModel, ShownObject {
  let id: Int
  var name: String
  weak var owner: Person?

  init(id: Int, name: String, owner: Person?) { (self.id, self.name, self.owner) = (id, name, owner) }

  static let fields = Fields(
    Pet.self, version: 1, Field("id", \.id), Field("name", \.name, default: ""),
    Field("owner", \.owner, archive: .conditional), make: { Pet(id: $0, name: $1, owner: $2) })

  func showFields(to text: inout CaseText) {
    text.field("id", id)
    text.field("name", name)
    text.field("owner", owner)
  }
}

/// A team as a plain value, which can be copied and edited before objects are created from it.
struct TeamPlan {
  struct Member {
    var name: String
    var mail: String?
    var boss: Int?
    var isInTeam: Bool
    var pets: [Int]
    var petName: String
    /// The level of a manager, or `nil` for other people.
    var level: Int?
    var reports: [Int]
  }

  var name = "t"
  var note = ""
  /// The people, keyed by number. A number below ``firstAnonymous`` is also the person's identity. People with higher numbers have no
  /// identity.
  var people: [Int: Member] = [:]
  var lead: Int?
  var members: [Int] = []
  var guest: Int?
  var roles: [String: Int] = [:]

  static let firstAnonymous = 6

  init(random: inout Random) {
    for id in 1...4 where !random.isOnce(in: 3) { people[id] = member(&random) }
    members = people.keys.sorted().filter { _ in !random.isOnce(in: 4) }
    for _ in 0..<4 { edit(&random) }
  }

  private func member(_ random: inout Random) -> Member {
    Member(
      name: random.oneOf(["a", "b", "c"]), mail: random.optional(random.oneOf(["m", "n"])), boss: nil,
      isInTeam: random.isOnce(in: 2), pets: [], petName: "p", level: random.isOnce(in: 3) ? random.below(3) : nil,
      reports: [])
  }

  /// Returns the number of a random person, who is created if necessary.
  private mutating func somebody(_ random: inout Random) -> Int {
    let id = 1 + random.below(random.isOnce(in: 6) ? 7 : 5)
    if people[id] == nil { people[id] = member(&random) }
    return id
  }

  mutating func edit(_ random: inout Random) {
    switch random.below(15) {
    case 0: name = random.oneOf(["t", "u", "v"])
    case 1: note = random.word()
    case 2: lead = random.isOnce(in: 4) ? nil : somebody(&random)
    case 3: guest = random.isOnce(in: 4) ? nil : somebody(&random)
    case 4 where !members.isEmpty: members.remove(at: random.below(members.count))
    case 5, 6:
      let new = somebody(&random)
      members.removeAll { $0 == new }
      members.insert(new, at: random.below(members.count + 1))
    case 7: roles[random.oneOf(["x", "y"])] = random.isOnce(in: 3) ? nil : somebody(&random)
    case 8:
      let id = somebody(&random)
      let boss = random.isOnce(in: 4) ? nil : somebody(&random)
      people[id]?.boss = boss
    case 9:
      let id = somebody(&random)
      let pet = random.below(3)
      if people[id]?.pets.contains(pet) == true {
        people[id]?.pets.removeAll { $0 == pet }
      } else {
        people[id]?.pets.append(pet)
      }
    case 10:
      let id = somebody(&random)
      people[id]?.petName = random.oneOf(["p", "q"])
    case 11:
      let id = somebody(&random)
      if people[id]?.level != nil {
        people[id]?.level = random.below(4)
        people[id]?.reports = random.array(upTo: 2) { $0.oneOf([1, 2, 3]) }
      } else {
        people[id]?.mail = random.optional(random.oneOf(["m", "n"]))
      }
    default:
      let id = somebody(&random)
      people[id]?.name = random.oneOf(["a", "b", "c", "d"])
    }
  }

  func build() -> Team {
    let team = Team(name: name, note: note)
    var made: [Int: Person] = [:]
    for (id, plan) in people.sorted(by: { $0.key < $1.key }) {
      let identity = id < Self.firstAnonymous ? id : nil
      made[id] =
        plan.level.map { Manager(id: identity, name: plan.name, mail: plan.mail, level: $0) }
        ?? Person(id: identity, name: plan.name, mail: plan.mail)
    }
    for (id, plan) in people.sorted(by: { $0.key < $1.key }) {
      guard let person = made[id] else { continue }
      person.boss = plan.boss.flatMap { made[$0] }
      person.team = plan.isInTeam ? team : nil
      person.pets = plan.pets.map { Pet(id: $0, name: plan.petName, owner: person) }
      (person as? Manager)?.reports = plan.reports.compactMap { made[$0] }
    }
    (team.lead, team.guest) = (lead.flatMap { made[$0] }, guest.flatMap { made[$0] })
    team.members = members.compactMap { made[$0] }
    team.roles = roles.compactMapValues { made[$0] }
    return team
  }

  /// Returns the team as the JSON that a server would send. People are nested where the team refers to them, up to a limited depth.
  func json(_ random: inout Random) -> ArchiveValue {
    var object = ArchiveObject()
    object["name"] = .string(name)
    object["note"] = .string(note)
    object["lead"] = lead.map { person($0, 2, &random) } ?? .null
    object["members"] = .array(members.map { person($0, 1, &random) })
    object["guest"] = guest.map { person($0, 1, &random) } ?? .null
    object["roles"] = .object(
      ArchiveObject(roles.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: person($0.value, 0, &random)) }))
    return .object(object)
  }

  private func person(_ id: Int, _ depth: Int, _ random: inout Random) -> ArchiveValue {
    guard let plan = people[id] else { return .null }
    var object = ArchiveObject()
    if id < Self.firstAnonymous { object["id"] = .integer(id) }
    guard depth >= 0, !random.isOnce(in: 8) else { return .object(object) }
    object["name"] = .string(plan.name)
    object["mail"] = plan.mail.map { .string($0) } ?? .null
    object["boss"] = plan.boss.map { person($0, depth - 1, &random) } ?? .null
    object["pets"] = .array(plan.pets.map { ["id": .integer($0), "name": .string(plan.petName)] })
    return .object(object)
  }
}
