import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// The expected result of merging graphs. Each object is a map of fields and is merged once. References are merged like plain values.
private struct GraphOracle {
  let base: GraphMap?
  let local: GraphMap
  let server: GraphMap
  /// Whether a null clears a weak reference when there is no base. If not, the local reference is kept.
  let nullsClear: Bool
  private(set) var result = GraphMap()
  /// Whether the merge rules leave the result for a member undefined.
  private(set) var isOpen = false

  init(base: GraphMap?, local: GraphMap, server: GraphMap, nullsClear: Bool) {
    (self.base, self.local, self.server, self.nullsClear) = (base, local, server, nullsClear)
    isOpen =
      Self.areMoved(local, server)
      || base.map { Self.areMoved($0, local) || Self.areMoved($0, server) } ?? false
    for key in Set(local.objects.keys).union(server.objects.keys) {
      guard let own = local.objects[key] else {
        result.objects[key] = server.objects[key]
        continue
      }
      result.objects[key] = own
      guard let other = server.objects[key] else { continue }
      for (field, theirs) in other {
        let value = merged(key, field, own[field], theirs)
        result.objects[key]?[field] = value
      }
      // A pet has no identity. If the base has no pet at this position, the document's pet is new, and absent keys get their defaults.
      guard key.contains(".pets["), base?.objects[key] == nil else { continue }
      if other["name"] == nil { isOpen = true }
      if other["keeper"] == nil { result.objects[key]?["keeper"] = .reference(nil) }
    }
    result = result.trimmed(holding: Set(local.objects.keys))
  }

  private mutating func merged(
    _ key: String, _ field: String, _ own: GraphMap.Content?, _ theirs: GraphMap.Content
  ) -> GraphMap.Content? {
    guard let base else {
      // A document may list only some of the members.
      if field == "members", nullsClear, case .references(let mine)? = own, case .references(let others) = theirs {
        return .references(others + mine.filter { !others.contains($0) })
      }
      // In a whole graph, a null weak reference does not change the local reference.
      if field == "friend", !nullsClear, theirs == .reference(nil) { return own }
      return theirs
    }
    let old = base.objects[key]?[field]
    if field == "members", case .references(let mine)? = own, case .references(let others) = theirs {
      return members(mine, others, old)
    }
    return own == old ? theirs : own
  }

  /// Merges members without regard to their order, which is checked separately.
  private mutating func members(_ own: [String], _ other: [String], _ old: GraphMap.Content?) -> GraphMap.Content {
    var before: [String] = []
    if case .references(let keys)? = old { before = keys }
    let kept = own.filter { key in
      guard !other.contains(key), before.contains(key) else { return true }
      // A member that the server removed is kept if it was edited locally.
      if isEdited(key) { return true }
      if isEditedInside(key) { isOpen = true }
      return false
    }
    return .references(kept + other.filter { !own.contains($0) && !before.contains($0) })
  }

  /// Whether an object that is identified only by its position has moved: it differs from the object at this position in the other graph
  /// but equals one at another position. The library pairs equal objects first, whereas the keys here follow positions.
  private static func areMoved(_ one: GraphMap, _ other: GraphMap) -> Bool {
    other.objects.contains { key, fields in
      guard let bracket = key.lastIndex(of: "["), let own = one.objects[key], own != fields else { return false }
      return one.objects.contains { $0.key != key && $0.key.hasPrefix(key[...bracket]) && $0.value == fields }
    }
  }

  private func isEdited(_ key: String) -> Bool { local.objects[key] != base?.objects[key] }

  /// Whether an object reachable from a member was edited. The rules don't define whether that is an edit of the member.
  private func isEditedInside(_ key: String) -> Bool {
    local.reachable(from: key, throughWeak: true).contains { local.objects[$0] != base?.objects[$0] }
  }
}

/// One merge of graphs.
private struct GraphRound {
  let seed: UInt64
  /// The number of edits on each side.
  var edits: (local: Int, server: Int)
  let isBaseKnown: Bool

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    self.seed = seed
    edits = (random.below(5), random.below(5))
    isBaseKnown = !random.isOnce(in: 3)
  }

  private struct Sides {
    let base: GraphMap
    let local: GraphMap
    let server: GraphMap
    /// An object with two instances on the server, and the field that refers to the second one.
    let twice: (key: String, field: String)?
    /// The server's document, or `nil` if the instances themselves are merged.
    let document: GraphDocument?
  }

  private var sides: Sides {
    var random = SeededRandom(seed: seed ^ 0xF00D)
    let base = random.graph()
    func edited(_ count: Int, _ seed: UInt64) -> GraphMap {
      var random = SeededRandom(seed: seed)
      var map = base
      for _ in 0..<count { random.edit(&map) }
      return map.trimmed()
    }
    let server = edited(edits.server, seed ^ 0xA)
    let people = server.objects.keys.filter { $0.hasPrefix("P") && !$0.contains(".") }.sorted()
    let twice =
      people.isEmpty || !random.isOnce(in: 3) ? nil : (random.oneOf(people), random.oneOf(["boss", "lead", "keeper"]))
    let local = edited(edits.local, seed ^ 0xB)
    let document = random.isOnce(in: 2) ? GraphDocument(server, knownHere: local, &random) : nil
    return Sides(base: base, local: local, server: server, twice: twice, document: document)
  }

  func failure(log: (String) -> Void = { _ in }) -> SimulationFailure? {
    let sides = sides
    let (base, local, server) = (
      sides.base.instantiated(), sides.local.instantiated(), sides.server.instantiated(twice: sides.twice)
    )
    let (bases, locals, servers) = (GraphInstances(base), GraphInstances(local), GraphInstances(server))
    defer {
      for graph in [bases, locals, servers, GraphInstances(local)] { graph.release() }
    }
    log("base    \(isBaseKnown ? bases.map.description : "unknown")")
    log("local   \(locals.map.description)")
    log("server  \(servers.map.description)\(sides.twice.map { ", \($0.key) twice, by \($0.field)" } ?? "")")
    if let document = sides.document { log("sent    \(document.json.story)") }
    let oracle = GraphOracle(
      base: isBaseKnown ? bases.map : nil, local: locals.map, server: sides.document?.map ?? servers.map,
      nullsClear: sides.document != nil)
    guard !oracle.isOpen else { return nil }
    do {
      let report: MergeReport
      if let document = sides.document {
        report = try local.merge(.json(document.json), base: isBaseKnown ? base : nil, options: MergeOptions())
      } else if isBaseKnown {
        report = try local.merge(.model(server), base: base)
      } else {
        report = try local.mergeValues(from: server)
      }
      try check(GraphInstances(local), oracle, bases, locals, servers, report)
      guard GraphInstances(base).map.objects == bases.map.objects else { throw SimulationFailure("base that changed") }
      guard GraphInstances(server).map.objects == servers.map.objects else {
        throw SimulationFailure("server that changed")
      }
      return nil
    } catch let failure as SimulationFailure { return failure } catch {
      return SimulationFailure("error", [], "\(error)")
    }
  }

  private func check(
    _ found: GraphInstances, _ oracle: GraphOracle, _ bases: GraphInstances, _ locals: GraphInstances,
    _ servers: GraphInstances, _ report: MergeReport
  ) throws {
    let strangers = Set(
      (Array(bases.instances.values) + Array(servers.instances.values) + servers.duplicates).map(ObjectIdentifier.init))
    for (key, object) in found.instances.sorted(by: { $0.key < $1.key }) {
      if strangers.contains(ObjectIdentifier(object)) {
        throw SimulationFailure("instance of another graph", [kind(key)], key)
      }
      if let own = locals.instances[key], own !== object {
        throw SimulationFailure("instance that is another than before", [kind(key)], key)
      }
    }
    if let key = found.duplicated.min() { throw SimulationFailure("two instances of one object", [kind(key)], key) }
    let expected = oracle.result
    for key in Set(expected.objects.keys).union(found.map.objects.keys).sorted() {
      guard let own = found.map.objects[key] else {
        throw SimulationFailure("object that is missing", [kind(key)], key)
      }
      guard let wanted = expected.objects[key] else { throw SimulationFailure("object too many", [kind(key)], key) }
      for field in wanted.keys.sorted() where !isSame(field, own[field], wanted[field]) {
        throw SimulationFailure(
          "value", [kind(key), field],
          "\(key): expected \(GraphMap.text(of: wanted[field])), found \(GraphMap.text(of: own[field]))")
      }
    }
    try checkReport(report, locals, found)
  }

  /// The kind of object that a key names.
  private func kind(_ key: String) -> String {
    key == "root" ? "team" : key.contains(".pets[") ? "pet" : key.hasPrefix("P") ? "person" : "guest"
  }

  private func isSame(_ field: String, _ one: GraphMap.Content?, _ other: GraphMap.Content?) -> Bool {
    if field == "members", case .references(let one)? = one, case .references(let other)? = other {
      return one.sorted() == other.sorted()
    }
    return one == other
  }

  /// Checks that the report has an entry for every changed field, and never two for the same field.
  private func checkReport(_ report: MergeReport, _ before: GraphInstances, _ after: GraphInstances) throws {
    var told: [String: Int] = [:]
    // An edit that was removed with its object has an entry of its own, in addition to the entry of the reference.
    for entry in report.entries where !entry.rule.hasPrefix("edited locally") {
      // A path is valid in the result, or in the previous state if the object was removed.
      let steps = entry.path.components[...]
      if let place = Self.place(steps, "root", after.map) ?? Self.place(steps, "root", before.map) {
        told[place, default: 0] += 1
      }
    }
    for (key, fields) in before.map.objects {
      guard let now = after.map.objects[key] else { continue }
      for (field, content) in fields where now[field] != content {
        let isTold = told.keys.contains { $0 == "\(key) \(field)" || $0.hasPrefix("\(key) \(field) ") }
        if !isTold {
          throw SimulationFailure("change that the report leaves out", [kind(key), field], "\(key)\n\(report)")
        }
      }
    }
    if let (place, _) = told.first(where: { $0.value > 1 }) {
      throw SimulationFailure("change that the report tells twice", [], "\(place)\n\(report)")
    }
  }

  /// Resolves a path to the key of an object, a field and the rest of the path, as one string. Returns `nil` if the path isn't valid.
  private static func place(_ path: ArraySlice<ValuePath.Component>, _ key: String, _ map: GraphMap) -> String? {
    guard case .key(let field)? = path.first, let content = map.objects[key]?[field] else { return nil }
    let rest = path.dropFirst()
    guard let next = rest.first else { return "\(key) \(field)" }
    switch (content, next) {
    case (.reference(let target?), .key): return place(rest, target, map)
    case (.references(let keys), .element(_, let id)):
      let target = id.intValue.map { "P\($0)" } ?? ""
      if rest.count == 1 { return "\(key) \(field) \(target)" }
      return keys.contains(target) ? place(rest.dropFirst(), target, map) : nil
    case (.references(let keys), .index(let number)):
      if rest.count == 1 { return "\(key) \(field) \(number)" }
      return keys.indices.contains(number) ? place(rest.dropFirst(), keys[number], map) : nil
    case (.text, _): return "\(key) \(field)"
    default: return nil
    }
  }

  func shrunk(_ failure: SimulationFailure) -> GraphRound {
    var smallest = self
    for _ in 0..<10 {
      var round = smallest
      if round.edits.local > 0 { round.edits.local -= 1 }
      if round.failure()?.signature == failure.signature { smallest = round }
      round = smallest
      if round.edits.server > 0 { round.edits.server -= 1 }
      if round.failure()?.signature == failure.signature { smallest = round }
    }
    return smallest
  }

  var story: String {
    var lines: [String] = []
    let failure = failure { lines.append($0) }
    if let failure { lines.append("→ \(failure)") }
    return lines.joined(separator: "\n")
  }
}

@Suite("Simulation: graphs of objects", .tags(.long))
struct GraphSimulationTests {
  @Test("MG-11, MG-12, MG-13, MG-17: merging random graphs merges each object once and keeps local instances")
  func rounds() throws {
    let seeds = SimulationSettings.seeds(Effort.rounds(40, long: 400))
    var failures: [String: [(seed: UInt64, failure: SimulationFailure)]] = [:]
    for seed in seeds {
      guard let failure = GraphRound(seed: seed).failure() else { continue }
      failures[failure.signature, default: []].append((seed, failure))
    }
    let count = failures.values.reduce(0) { $0 + $1.count }
    let range = "\(seeds.first ?? 0)…\(seeds.last ?? 0)"
    print("graphs: \(seeds.count) rounds, seeds \(range), \(count) failures of \(failures.count) kinds")
    let frequent = failures.sorted { ($0.value.count, $1.key) > ($1.value.count, $0.key) }
    for (signature, cases) in frequent { print("  \(cases.count) × \(signature), seed \(cases[0].seed)") }
    for (signature, cases) in frequent.prefix(SimulationSettings.stories) {
      // Only the smallest case of each kind is reported.
      let smallest = cases.map { GraphRound(seed: $0.seed).shrunk($0.failure) }.min { $0.story.count < $1.story.count }
      guard let smallest else { continue }
      Issue.record("\(signature), \(cases.count) times; STRATA_MERGE_SEED=\(smallest.seed)\n\(smallest.story)")
    }
    #expect(count == 0, "\(count) of \(seeds.count) rounds")
  }
}
