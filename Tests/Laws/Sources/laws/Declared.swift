import Foundation
import GRDB
import OrderedCollections
import Strata
import StrataStore

// Models whose fields have attributes. There is an oracle for each topic: policies, paths and transformers, steps, rules, and relations.

/// A model with a field for each policy.
@Model(version: 1)
struct Ruled: Hashable {
  @Field(merge: .sumOfDeltas) var count: Int? = 0
  @Field(merge: .max) var top: Int? = 0
  @Field(merge: .min) var low: Int? = 0
  @Field(merge: .union) var union: [Int] = []
  @Field(merge: .addWins) var chips: [Int] = []
  @Field(merge: .addWins) var chipSet: Set<Int> = []
  @Field(merge: .append) var log: [Int] = []
  @Field(merge: .lines) var text = ""
  @Field(merge: .lines.orElse(.serverWins)) var lines = ""
  @Field(merge: .serverWins) var server: Int? = 0
  @Field(merge: .localWins) var local: Int? = 0
  @Field(merge: .keepLocal) var kept: Int? = 0
  @Field(merge: .conflict) var picky: Int? = 0
  @Field(merge: .serverWins.ifPresent) var present: Int? = 0
  @Field(merge: .byID("id")) var items: [Item] = []
  @Field(merge: .byID("id", unlisted: .keep)) var keptItems: [Item] = []
  @Field(json: .none) var nowhere = 7

  static func sample(_ random: inout SeededRandom) -> Ruled {
    func number() -> Int? { random.below(5) == 0 ? nil : random.below(4) }
    func list() -> [Int] { Array(Set((0..<random.below(5)).map { _ in random.below(6) })).shuffled(using: &random) }
    func text() -> String { (0..<5).map { "\($0)\(random.below(3) == 0 ? "x\(random.below(2))" : "")\n" }.joined() }
    func items() -> [Item] {
      list().map { Item(id: $0, name: "n\(random.below(2))", note: nil, part: Part(name: "p\(random.below(2))")) }
    }
    var value = Ruled(
      count: number(), top: number(), low: number(), union: list(), chips: list(), chipSet: Set(list()), log: list(),
      text: text(), lines: text(), server: number(), local: number(), kept: number(), picky: number(),
      present: number(),
      items: items(), keptItems: items())
    value.nowhere = random.below(9)
    return value
  }
}

/// A model that contains ``Ruled`` in a field, in a dictionary and in list elements.
@Model(version: 1)
struct RuledBox: Hashable {
  var inside = Ruled()
  var byName: [String: Ruled] = [:]
  var list: [RuledItem] = []

  init(_ value: Ruled) { (inside, byName, list) = (value, ["a": value], [RuledItem(id: 1, ruled: value)]) }
  var all: [Ruled] { [inside] + byName.values + list.map(\.ruled) }
}

@Model(version: 1)
struct RuledItem: Hashable {
  let id: Int
  var ruled = Ruled()
}

/// Computes the result of a policy for three values, or for two if there is no base, according to the tables in Docs/Merging.md.
struct PolicyOracle<T: Equatable> {
  let base: T?, local: T, server: T

  /// If only one side changed the value, or both sides have the same one, returns that value. Otherwise, calls `both`, which applies the
  /// policy.
  func sides(_ both: @autoclosure () -> T) -> T {
    guard let base else { return local == server ? local : both() }
    return base == local ? server : base == server || local == server ? local : both()
  }
}

extension Ruled {
  /// Returns the merged fields in the order in which they are declared.
  static func merged(_ base: Ruled?, _ local: Ruled, _ server: Ruled) -> [(key: String, value: String)] {
    func number(_ key: KeyPath<Ruled, Int?>, _ both: (Int?, Int?) -> Int?) -> String {
      let oracle = PolicyOracle(
        base: base.map { $0[keyPath: key] }, local: local[keyPath: key], server: server[keyPath: key])
      return "\(oracle.sides(both(oracle.local, oracle.server)) as Any)"
    }
    func best(_ key: KeyPath<Ruled, Int?>, _ best: @escaping (Int, Int) -> Int) -> String {
      number(key) { local, server in local.flatMap { here in server.map { best(here, $0) } } ?? local ?? server }
    }
    func sum() -> String {
      guard let base else { return "\(server.count as Any)" }
      if local.count == nil, server.count == nil { return "\(Int?.none as Any)" }
      if base.count == local.count { return "\(server.count as Any)" }
      if base.count == server.count { return "\(local.count as Any)" }
      return "\(Int?.some((local.count ?? 0) + (server.count ?? 0) - (base.count ?? 0)) as Any)"
    }
    func added(_ key: KeyPath<Ruled, [Int]>) -> Set<Int> {
      let (here, there) = (Set(local[keyPath: key]), Set(server[keyPath: key]))
      guard let before = base.map({ Set($0[keyPath: key]) }) else { return here.union(there) }
      return here.union(there).subtracting(before.subtracting(here)).subtracting(before.subtracting(there))
    }
    func shown(_ set: Set<Int>) -> String { "\(set.sorted())" }
    func appended() -> [Int] {
      // If both additions begin with the same elements, the result contains these only once.
      let common = Array(zip(local.log, server.log).prefix { $0 == $1 }.map(\.0))
      let oracle = PolicyOracle(base: base?.log, local: local.log, server: server.log)
      return oracle.sides(
        common.starts(with: base?.log ?? []) ? server.log + local.log.dropFirst(common.count) : local.log)
    }
    func lines(_ key: KeyPath<Ruled, String>, orServer: Bool) -> String {
      let (here, there) = (local[keyPath: key], server[keyPath: key])
      guard let base = base?[keyPath: key] else { return here == there ? here : there }
      func split(_ text: String) -> [Substring] { text.split(separator: "\n") }
      let (bases, heres, theres) = (split(base), split(here), split(there))
      let mine = bases.indices.filter { bases[$0] != heres[$0] && heres[$0] != theres[$0] }
      let others = bases.indices.filter { bases[$0] != theres[$0] && heres[$0] != theres[$0] }
      // It is not defined which lines count as adjacent, so the result is unknown if both sides made the same change to one line and
      // different changes to others.
      if bases.indices.contains(where: { bases[$0] != heres[$0] && heres[$0] == theres[$0] }), here != there,
        here != base, there != base
      {
        return "?"
      }
      if mine.contains(where: { mine in others.contains { abs($0 - mine) < 2 } }) { return orServer ? there : here }
      return bases.indices.map { (bases[$0] == heres[$0] ? theres[$0] : heres[$0]) + "\n" }.joined()
    }
    func items(_ key: KeyPath<Ruled, [Item]>, keeps: Bool) -> String {
      func pool(_ items: [Item]) -> [Int: Item] { Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0) }) }
      let (here, there, before) = (
        pool(local[keyPath: key]), pool(server[keyPath: key]), (base?[keyPath: key]).map(pool)
      )
      var found: [Int: String] = [:]
      for id in Set(here.keys).union(there.keys) {
        switch (before?[id], here[id], there[id]) {
        case (let before, let here?, let there?):
          let name = PolicyOracle(base: before?.name, local: here.name, server: there.name)
          let part = PolicyOracle(base: before?.part.name, local: here.part.name, server: there.part.name)
          // Without a base, the server's element is used. With a base, an element that both sides added is a conflict, and the local one
          // is kept.
          let decided =
            base == nil
            ? (there.name, there.part.name)
            : before == nil ? (here.name, here.part.name) : (name.sides(here.name), part.sides(here.part.name))
          found[id] = "\(decided)"
        case (nil, let here?, nil):
          if before != nil || keeps || base == nil { found[id] = "\((here.name, here.part.name))" }
        case (let before?, let here?, nil): if keeps || before != here { found[id] = "\((here.name, here.part.name))" }
        case (nil, nil, let there?): found[id] = "\((there.name, there.part.name))"
        case (let before?, nil, let there?): if before != there { found[id] = "?" }
        case (_, nil, nil): break
        }
      }
      return "\(found.sorted { $0.key < $1.key })"
    }
    return [
      ("count", sum()), ("top", best(\.top, max)), ("low", best(\.low, min)),
      ("union", shown(Set(local.union).union(server.union))), ("chips", shown(added(\.chips))),
      (
        "chipSet",
        shown(
          base.map {
            local.chipSet.union(server.chipSet).subtracting($0.chipSet.subtracting(local.chipSet))
              .subtracting($0.chipSet.subtracting(server.chipSet))
          } ?? local.chipSet.union(server.chipSet))
      ),
      ("log", "\(appended())"), ("text", lines(\.text, orServer: false)), ("lines", lines(\.lines, orServer: true)),
      ("server", number(\.server) { $1 }), ("local", number(\.local) { here, _ in here }),
      ("kept", "\(local.kept as Any)"),
      ("picky", number(\.picky) { here, _ in here }),
      ("present", server.present == nil ? "\(local.present as Any)" : number(\.present) { $1 }),
      ("items", items(\.items, keeps: false)), ("keptItems", items(\.keptItems, keeps: true)),
      ("nowhere", "\(local.nowhere)"),
    ]
  }

  /// The fields in the form that the oracle uses.
  var shown: [String] {
    func list(_ items: [Item]) -> String {
      "\(Dictionary(items.map { ($0.id, "\(($0.name, $0.part.name))") }) { $1 }.sorted { $0.key < $1.key })"
    }
    return [
      "\(count as Any)", "\(top as Any)", "\(low as Any)", "\(Set(union).sorted())", "\(Set(chips).sorted())",
      "\(chipSet.sorted())", "\(log)", text, lines, "\(server as Any)", "\(local as Any)", "\(kept as Any)",
      "\(picky as Any)",
      "\(present as Any)", list(items), list(keptItems), "\(nowhere)",
    ]
  }
}

// MARK: Paths and transformers

@Model(version: 1)
struct Shaped: Hashable {
  @Field(json: "a.b") var deep = 0
  @Field(json: "a.c[0]") var first: Int?
  @Field(json: "a.c[1]") var second: Int?
  @Field(json: .firstOf("new", "old")) var either: String?
  @Field(json: .path("date", .date(format: "yyyy-MM-dd"))) var day = Date(timeIntervalSince1970: 0)
  @Field(json: .path("when", .wholeSecondsSince1970)) var when = Date(timeIntervalSince1970: 0)
  @Field(json: .paths("lat", "lon", by: Shaped.point)) var point: [Int] = [0, 0]
  @Field(json: .readOnly("version")) var version: Int? = 3
  @Field(json: .writeOnly("secret")) var secret: String? = "s"
  @Field(json: .automatic.null(.useDefault)) var nullable = 4
  @Field(json: .automatic.missing(9)) var missing = 1
  @Field(json: .readOnly("items[*].name")) var names: [String] = []
  var unknownFields = UnknownFields()

  static let point = ReversibleTransformer<[ValuePath: ArchiveValue], [Int]>(
    { [$0["lat"]?.intValue ?? 0, $0["lon"]?.intValue ?? 0] },
    reverse: { ["lat": .int(Int64($0[0])), "lon": .int(Int64($0[1]))] })
}

// MARK: Steps

@Model(version: 4)
struct Grown: Hashable, Migratable {
  var title = ""
  var weight = 0.0
  var street = ""
  var home = Home()
  var tags: [String] = []
  var level = "low"
  var figure = Figure.empty
  static let migration = MigrationPlan(
    .step(from: 1, to: 2, .rename("name", to: "title"), .convert("weight", .toDouble), .drop("gone")),
    .step(
      from: 2, to: 3, .move("city", to: "home.city", creating: .init("Home", version: 1)),
      .replaceNull("street", with: "none"), .convert("tags", .toArray)),
    .step(
      from: 3, to: 4, .setDefault("level", "mid"),
      .convert("level", .mapping(["1": "low", "2": "high", "mid": "mid"])),
      .custom("figure from radius") { record in
        record["figure"] = record["radius"].map {
          .enumCase("circle", of: "Figure", version: 1, ["radius": $0, "note": .null])
        }
        record["radius"] = nil
      }))
}

@Model(version: 1, name: "Home")
struct Home: Hashable { var city = "" }

// MARK: Rules

@Model(version: 1)
struct Checked: Hashable, Validating {
  var count = 1
  var name = "n"
  var note: String? = "x"
  var parts: [CheckedPart] = []
  static let validation = Validation<Checked>(
    .check("count", \.count, .range(0...3)), .check("name", \.name, .nonEmpty), .required("note", \.note),
    .replace("name", \.name) { $0.hasPrefix("!") ? "replaced" : $0 })
}

@Model(version: 1)
struct CheckedPart: Hashable, Validating {
  var size = 1
  static let validation = Validation<CheckedPart>(.check("size", \.size, .range(0...3)))
}
