import StrataCore
import StrataTestSupport

extension SeededRandom {
  /// Returns a random graph of a team: people who share their bosses, some in cycles, and pets.
  mutating func graph() -> GraphMap {
    var map = GraphMap()
    let ids = (1...4).filter { _ in below(4) > 0 }
    map.objects["root"] = [
      "name": .text("t"), "lead": .reference(nil), "guest": .reference(nil), "members": .references([]),
    ]
    for id in ids { add("P\(id)", "\(id)", to: &map) }
    let people = ids.map { "P\($0)" }
    map.objects["root"]?["members"] = .references(people.filter { _ in below(4) > 0 }.shuffled(using: &self))
    for key in people { map.objects[key]?["boss"] = .reference(isOnce(in: 2) ? nil : oneOf(people)) }
    for _ in 0..<3 { edit(&map) }
    return map.trimmed()
  }

  private mutating func add(_ key: String, _ id: String?, to map: inout GraphMap) {
    map.objects[key] = [
      "id": .text(id), "name": .text(oneOf(["a", "b", "c"])), "email": .text(isOnce(in: 2) ? nil : "e"),
      "boss": .reference(nil), "friend": .reference(nil), "pets": .references([]),
    ]
  }

  /// Returns the key of a person with a random identity. Adds the person if the graph has none with this identity.
  private mutating func person(_ map: inout GraphMap) -> String {
    let id = 1 + below(6)
    if map.objects["P\(id)"] == nil { add("P\(id)", "\(id)", to: &map) }
    return "P\(id)"
  }

  /// Makes one random change to the graph.
  mutating func edit(_ map: inout GraphMap) {
    let people = map.objects.filter { $0.value["pets"] != nil }.keys.sorted()
    guard case .references(var members)? = map.objects["root"]?["members"] else { return }
    switch below(12) {
    case 0: map.objects["root"]?["name"] = .text(oneOf(["t", "u", "v"]))
    case 1:
      let lead = isOnce(in: 3) ? nil : person(&map)
      map.objects["root"]?["lead"] = .reference(lead)
    case 2:
      if isOnce(in: 3) {
        map.objects["root"]?["guest"] = .reference(nil)
      } else {
        if map.objects["root.guest"] == nil { add("root.guest", nil, to: &map) }
        map.objects["root"]?["guest"] = .reference("root.guest")
      }
    case 3 where !members.isEmpty:
      members.remove(at: below(members.count))
      map.objects["root"]?["members"] = .references(members)
    case 4:
      let new = person(&map)
      members.removeAll { $0 == new }
      members.insert(new, at: below(members.count + 1))
      map.objects["root"]?["members"] = .references(members)
    case 5, 6:
      let key = people.isEmpty ? person(&map) : oneOf(people)
      map.objects[key]?["name"] = .text(oneOf(["a", "b", "c", "d"]))
    case 7:
      guard !people.isEmpty else { return }
      map.objects[oneOf(people)]?["email"] = .text(isOnce(in: 3) ? nil : oneOf(["e", "f"]))
    case 8, 9:
      guard !people.isEmpty else { return }
      let owner = oneOf(people)
      let boss = isOnce(in: 3) ? nil : person(&map)
      map.objects[owner]?["boss"] = .reference(boss)
    case 10:
      guard !people.isEmpty, !members.isEmpty else { return }
      map.objects[oneOf(people)]?["friend"] = .reference(isOnce(in: 4) ? nil : oneOf(members))
    default:
      guard !people.isEmpty else { return }
      let owner = oneOf(people)
      guard case .references(var pets)? = map.objects[owner]?["pets"] else { return }
      if let last = pets.last, isOnce(in: 3) {
        pets.removeLast()
        map.objects[last] = nil
      } else if pets.count < 2, isOnce(in: 2) {
        let place = "\(owner).pets[\(pets.count)]"
        let keeper = isOnce(in: 2) ? person(&map) : nil
        map.objects[place] = ["name": .text(oneOf(["p", "q"])), "keeper": .reference(keeper)]
        pets.append(place)
      } else if !pets.isEmpty {
        map.objects[oneOf(pets)]?["name"] = .text(oneOf(["p", "q", "r"]))
      }
      map.objects[owner]?["pets"] = .references(pets)
    }
  }
}

/// The JSON document that a server sends for a graph.
struct GraphDocument {
  let json: Tree
  /// The part of the graph that the document contains. Objects may lack fields.
  let map: GraphMap

  /// - Parameters:
  ///   - whole: the complete graph.
  ///   - local: the local graph. If an object is missing from it, the document has all fields of the object.
  /// - Returns: `nil` if references form a cycle, which JSON cannot express.
  init?(_ whole: GraphMap, knownHere local: GraphMap, _ random: inout SeededRandom) {
    var map = whole
    let isPart = random.isOnce(in: 2)
    for (key, fields) in whole.objects.sorted(by: { $0.key < $1.key }) where isPart && local.objects[key] != nil {
      for field in fields.keys.sorted() where field != "id" && random.isOnce(in: 4) { map.objects[key]?[field] = nil }
    }
    guard !map.hasCircles else { return nil }
    map.objects = map.objects.filter { map.reachable(throughWeak: true).contains($0.key) }
    var seen = Set<String>()
    json = map.json("root", &seen, &random)
    self.map = map
  }
}

extension GraphMap {
  fileprivate var hasCircles: Bool {
    var open = Set<String>()
    var done = Set<String>()
    func leadsBack(_ key: String) -> Bool {
      if open.contains(key) { return true }
      guard done.insert(key).inserted else { return false }
      open.insert(key)
      defer { open.remove(key) }
      return (objects[key] ?? [:]).values.contains { content in
        switch content {
        case .text: false
        case .reference(let key): key.map { leadsBack($0) } ?? false
        case .references(let keys): keys.contains { leadsBack($0) }
        }
      }
    }
    return leadsBack("root")
  }

  /// - Parameter seen: the objects that are already in the document. They may be repeated with only their identifier.
  fileprivate func json(_ key: String, _ seen: inout Set<String>, _ random: inout SeededRandom) -> Tree {
    var object = ArchiveObject()
    let fields = objects[key] ?? [:]
    let id: Tree? =
      if case .text(let text)? = fields["id"] { text.flatMap { Int64($0) }.map { .int($0) } ?? .null } else { nil }
    object["id"] = id
    if !seen.insert(key).inserted, id?.isNull == false, random.isOnce(in: 2) { return .object(object) }
    for (field, content) in fields.sorted(by: { $0.key < $1.key }) where field != "id" {
      switch content {
      case .text(let text): object[field] = text.map { .string($0) } ?? .null
      case .reference(let key): object[field] = key.map { json($0, &seen, &random) } ?? .null
      case .references(let keys): object[field] = .array(keys.map { json($0, &seen, &random) })
      }
    }
    return .object(object)
  }
}
