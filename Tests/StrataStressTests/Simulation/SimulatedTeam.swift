import StrataCore

/// The root of an object graph. The root and the guest have no identity and are identified by their fields.
final class SimulatedTeam: DescribedModel {
  var name: String
  var lead: SimulatedPerson?
  var guest: SimulatedPerson?
  var members: [SimulatedPerson]

  init(name: String, lead: SimulatedPerson?, guest: SimulatedPerson?, members: [SimulatedPerson]) {
    (self.name, self.lead, self.guest, self.members) = (name, lead, guest, members)
  }

  static let fields = Fields(
    SimulatedTeam.self, name: "Team", version: 1, Field("name", \.name), Field("lead", \.lead),
    Field("guest", \.guest), Field("members", \.members, default: []),
    make: { SimulatedTeam(name: $0, lead: $1, guest: $2, members: $3) })
}

/// An object with identity that others share, also in cycles.
final class SimulatedPerson: DescribedModel {
  let id: Int?
  var name: String
  var email: String?
  var boss: SimulatedPerson?
  weak var friend: SimulatedPerson?
  var pets: [SimulatedPet]

  init(
    id: Int?, name: String, email: String?, boss: SimulatedPerson? = nil, friend: SimulatedPerson? = nil,
    pets: [SimulatedPet] = []
  ) {
    (self.id, self.name, self.email, self.boss, self.friend, self.pets) = (id, name, email, boss, friend, pets)
  }

  static let fields = Fields(
    SimulatedPerson.self, name: "TeamPerson", version: 1, Field("id", \.id), Field("name", \.name),
    Field("email", \.email), Field("boss", \.boss), Field("friend", \.friend, archive: .conditional),
    Field("pets", \.pets, default: []),
    make: { SimulatedPerson(id: $0, name: $1, email: $2, boss: $3, friend: $4, pets: $5) })
}

final class SimulatedPet: DescribedModel {
  var name: String
  var keeper: SimulatedPerson?

  init(name: String, keeper: SimulatedPerson?) { (self.name, self.keeper) = (name, keeper) }

  static let fields = Fields(
    SimulatedPet.self, name: "TeamPet", version: 1, Field("name", \.name), Field("keeper", \.keeper),
    make: { SimulatedPet(name: $0, keeper: $1) })
}

/// An object graph as a map from identities or positions to the fields of each object.
struct GraphMap {
  enum Content: Equatable {
    case text(String?)
    case reference(String?)
    case references([String])
  }

  /// The fields of each object. `root` is the team.
  var objects: [String: [String: Content]] = [:]

  /// The objects that are reachable from the start object, including the start object itself.
  func reachable(from start: String = "root", throughWeak: Bool) -> Set<String> {
    var found: Set<String> = [start]
    var open = [start]
    while let key = open.popLast() {
      for (field, content) in objects[key] ?? [:] where throughWeak || field != "friend" {
        let next: [String] =
          switch content {
          case .text: []
          case .reference(let key): [key].compactMap(\.self)
          case .references(let keys): keys
          }
        for key in next where found.insert(key).inserted { open.append(key) }
      }
    }
    return found
  }

  /// The objects that an object retains.
  private func held(by key: String) -> [String] {
    (objects[key] ?? [:]).flatMap { field, content -> [String] in
      switch content {
      case .text: []
      case .reference(let key): field == "friend" ? [] : [key].compactMap(\.self)
      case .references(let keys): keys
      }
    }
  }

  /// The map without unreachable objects. A weak reference retains nothing, but objects in a cycle retain each other.
  func trimmed(holding held: Set<String> = []) -> GraphMap {
    var result = self
    var strong = reachable(throughWeak: false)
    for key in reachable(throughWeak: true) where !strong.contains(key) {
      let next = self.held(by: key).map { reachable(from: $0, throughWeak: false) }
      if next.contains(where: { $0.contains(key) }) { strong.formUnion(next.reduce(Set([key])) { $0.union($1) }) }
    }
    for (key, fields) in result.objects {
      if case .reference(let friend?)? = fields["friend"], !strong.contains(friend), !held.contains(friend) {
        result.objects[key]?["friend"] = .reference(nil)
      }
    }
    let all = result.reachable(throughWeak: true)
    result.objects = result.objects.filter { all.contains($0.key) }
    return result
  }

  static func text(of content: Content?) -> String {
    switch content {
    case .text(let text)?: text.map { "'\($0)'" } ?? "null"
    case .reference(let key)?: "→ \(key ?? "nil")"
    case .references(let keys)?: "→ \(keys.joined(separator: ", "))"
    case nil: "–"
    }
  }

  var description: String {
    objects.sorted { $0.key < $1.key }.map { key, fields in
      "\(key){"
        + fields.sorted { $0.key < $1.key }.map { "\($0.key): \(Self.text(of: $0.value))" }.joined(separator: "; ")
        + "}"
    }.joined(separator: " ")
  }
}

/// The instances of a graph, indexed by the keys in its map.
struct GraphInstances {
  private(set) var map = GraphMap()
  private(set) var instances: [String: AnyObject] = [:]
  /// Objects that have a second instance, which can happen only on the server.
  private(set) var duplicated = Set<String>()
  private(set) var duplicates: [AnyObject] = []

  init(_ team: SimulatedTeam) {
    instances["root"] = team
    // Objects with an identity are visited first, so that the keys of objects without one are positions inside them.
    map.objects["root"] = [
      "name": .text(team.name), "lead": reference(team.lead, "root.lead"),
      "guest": reference(team.guest, "root.guest"),
      "members": .references(
        team.members.enumerated().map { place, person in visit(person, "root.members[\(place)]") }),
    ]
  }

  private mutating func reference(_ person: SimulatedPerson?, _ place: String) -> GraphMap.Content {
    .reference(person.map { visit($0, place) })
  }

  private mutating func visit(_ person: SimulatedPerson, _ place: String) -> String {
    let key = person.id.map { "P\($0)" } ?? place
    if let known = instances[key] {
      if known !== person {
        duplicated.insert(key)
        duplicates.append(person)
      }
      return key
    }
    instances[key] = person
    map.objects[key] = [:]
    var fields: [String: GraphMap.Content] = [
      "id": .text(person.id.map { "\($0)" }), "name": .text(person.name), "email": .text(person.email),
    ]
    fields["boss"] = reference(person.boss, "\(key).boss")
    fields["friend"] = reference(person.friend, "\(key).friend")
    fields["pets"] = .references(
      person.pets.enumerated().map { number, pet in
        let place = "\(key).pets[\(number)]"
        instances[place] = pet
        map.objects[place] = ["name": .text(pet.name), "keeper": reference(pet.keeper, "\(place).keeper")]
        return place
      })
    map.objects[key] = fields
    return key
  }

  /// Breaks reference cycles, so that the objects are freed.
  func release() {
    for object in Array(instances.values) + duplicates {
      (object as? SimulatedPerson)?.boss = nil
      (object as? SimulatedPerson)?.pets = []
      (object as? SimulatedPet)?.keeper = nil
    }
  }
}

extension GraphMap {
  /// Creates the objects of the map.
  ///
  /// - Parameter twice: an object and a field. References from this field get a second instance with the same content.
  func instantiated(twice: (key: String, field: String)? = nil) -> SimulatedTeam {
    func text(_ key: String, _ field: String) -> String? {
      if case .text(let text)? = objects[key]?[field] { text } else { nil }
    }
    func keys(_ key: String, _ field: String) -> [String] {
      switch objects[key]?[field] {
      case .reference(let key)?: [key].compactMap(\.self)
      case .references(let keys)?: keys
      default: []
      }
    }
    func made(_ key: String) -> SimulatedPerson {
      SimulatedPerson(id: text(key, "id").flatMap { Int($0) }, name: text(key, "name") ?? "", email: text(key, "email"))
    }
    var people: [String: SimulatedPerson] = [:]
    for (key, fields) in objects where fields["pets"] != nil { people[key] = made(key) }
    let second = twice.map { made($0.key) }
    func person(_ owner: String, _ field: String) -> SimulatedPerson? {
      guard let key = keys(owner, field).first else { return nil }
      if let twice, twice.key == key, twice.field == field { return second }
      return people[key]
    }
    func fill(_ object: SimulatedPerson, _ key: String) {
      object.boss = person(key, "boss")
      object.friend = keys(key, "friend").first.flatMap { people[$0] }
      object.pets = keys(key, "pets").map { pet in
        SimulatedPet(name: text(pet, "name") ?? "", keeper: person(pet, "keeper"))
      }
    }
    for (key, object) in people { fill(object, key) }
    if let second, let twice { fill(second, twice.key) }
    return SimulatedTeam(
      name: text("root", "name") ?? "", lead: person("root", "lead"), guest: person("root", "guest"),
      members: keys("root", "members").compactMap { people[$0] })
  }
}
