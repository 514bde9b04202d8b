import Foundation
import StrataCore
import StrataTestSupport
import Testing

private struct Part: DescribedModel, Equatable {
  var name: String
  var size: Int
  static let fields = Fields(
    Part.self, version: 1, Field("name", \.name), Field("size", \.size), make: { Part(name: $0, size: $1) })
}

private struct Item: DescribedModel, Equatable {
  let id: Int
  var name: String?
  var stars: Int
  var tags: [String]
  var part: Part?
  var local: String
  static let fields = Fields(
    Item.self, version: 1, Field("id", \.id), Field("name", \.name), Field("stars", \.stars, merge: .max),
    Field("tags", \.tags, merge: .union, default: []), Field("part", \.part),
    Field("local", \.local, archive: .excluded, merge: .keepLocal, default: ""),
    make: { Item(id: $0, name: $1, stars: $2, tags: $3, part: $4, local: $5) })

  static func random(_ id: Int, _ random: inout SeededRandom) -> Item {
    Item(
      id: id, name: [nil, "a", "b"][random.below(3)], stars: random.below(3),
      tags: ["x", "y"].filter { _ in random.below(2) == 0 },
      part: random.below(3) == 0 ? nil : Part(name: ["p", "q"][random.below(2)], size: random.below(2)),
      local: ["", "here"][random.below(2)])
  }
}

private struct Holder: DescribedModel, Equatable {
  var items: [Item]
  static let fields = Fields(
    Holder.self, version: 1, Field("items", \.items, merge: .byID()), make: { Holder(items: $0) })
}

@Suite("Merging whole lists")
struct ListMergeTests {
  @Test("An archive of a list merges into an array, and a patch is rejected")
  func archives() throws {
    func item(_ id: Int, _ name: String) -> Item {
      Item(id: id, name: name, stars: 1, tags: [], part: nil, local: "")
    }
    var list = [item(1, "a")]
    list[0].local = "here"
    try list.merge(.archive(ArchiveEncoder().encode([item(1, "b"), item(2, "c")])))
    #expect(list.map(\.name) == ["b", "c"] && list[0].local == "here")
    let error = #expect(throws: ArchiveError.self) { try list.merge(.patch(JSONPatch([.remove(ValuePath())]))) }
    #expect(error?.code == .mergeFailed && list.count == 2)
  }

  @Test("The entry for the order of a list of models omits the values, and for a list in a model, it has them")
  func order() throws {
    func items(_ ids: [Int]) -> [Item] {
      ids.map { Item(id: $0, name: nil, stars: 1, tags: [], part: nil, local: "") }
    }
    func entry(_ report: MergeReport) throws -> MergeReport.Entry {
      try #require(report.entries.first { $0.rule.hasSuffix("the order of the elements differs") })
    }
    var alone = items([2, 1, 3])
    let own = try entry(alone.mergeValues(from: items([1, 3, 2]), base: items([1, 2, 3])))
    #expect(own.path.components.isEmpty && [own.base, own.local, own.server, own.result] == [nil, nil, nil, nil])
    var holder = Holder(items: items([2, 1, 3]))
    let nested = try entry(
      holder.merge(.model(Holder(items: items([1, 3, 2]))), base: Holder(items: items([1, 2, 3]))))
    #expect(holder.items == alone)
    #expect(nested.result?.arrayValue?.map { $0.recordValue?["id"] } == alone.map { .integer($0.id) })
  }

  @Test("A list merges like the same list in a model, with and without a base", .tags(.long))
  func asInModels() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<Effort.rounds(60, long: 500) {
      func list(_ known: [Item]) -> [Item] {
        var items = known.filter { _ in random.below(6) > 0 }.map {
          random.below(2) == 0 ? $0 : .random($0.id, &random)
        }
        for id in 0..<6 where random.below(4) == 0 && !items.contains(where: { $0.id == id }) {
          items.insert(.random(id, &random), at: random.below(items.count + 1))
        }
        if random.below(3) == 0 { items.shuffle(using: &random) }
        return items
      }
      let base = list([])
      let (local, server) = (list(base), list(base))
      var alone = local, twoWays = local
      var holder = Holder(items: local), other = Holder(items: local)
      let report = try alone.mergeValues(from: server, base: base)
      let inModel = try holder.merge(.model(Holder(items: server)), base: Holder(items: base))
      #expect(alone == holder.items, "seed \(seed)")
      #expect(
        report.entries.map { "items" + ($0.path.components.isEmpty ? "" : $0.path.description) }.sorted()
          == inModel.entries.map(\.path.description).sorted(), "seed \(seed)")
      #expect(report.isEmpty == (alone == local), "seed \(seed)")
      try twoWays.mergeValues(from: server)
      try other.mergeValues(from: Holder(items: server))
      #expect(twoWays == other.items, "seed \(seed)")
    }
  }

  @Test("List merges apply options, leave the list unchanged on failure, and match elements by any key")
  func options() throws {
    func item(_ id: Int, _ name: String?) -> Item {
      Item(id: id, name: name, stars: 0, tags: [], part: nil, local: "l")
    }
    var items = [item(1, "a"), item(2, "b")]
    let server = [item(2, "B"), item(3, "c")]
    let report = try items.mergeValues(
      from: server, unlisted: .keep, options: MergeOptions(policies: ["[*].name": .localWins]))
    #expect(items.map(\.id) == [1, 2, 3] && items.map(\.name) == ["a", "b", "c"])
    #expect(report.entries.map(\.path.description) == ["[id=1]", "[id=2].name", "[id=3]"])
    let before = items
    var error = #expect(throws: ArchiveError.self) {
      try items.mergeValues(
        from: server,
        options: MergeOptions(policies: ["[*].name": .resolving("mine") { _ in throw CancellationError() }]))
    }
    #expect(error?.code == .mergeFailed && error?.codingPath == [.index(0), .key("name")])
    error = #expect(throws: ArchiveError.self) {
      try items.mergeValues(from: server, options: MergeOptions(policies: ["[*].name": .resolving("mine") { _ in 7 }]))
    }
    #expect(error?.code == .mergeFailed && items == before)
    error = #expect(throws: ArchiveError.self) { try items.mergeValues(from: server, by: "nope") }
    #expect(error?.code == .unknownKey)
    // Elements with the same key are matched in the order in which they occur.
    var twice = [item(1, "a"), item(1, "b")]
    try twice.mergeValues(from: [item(1, "c"), item(1, "b")])
    #expect(twice.map(\.name) == ["c", "b"])
    // Elements can also be matched by another key, whose values are text here.
    var named = [item(1, "a long name"), item(2, "b")]
    try named.mergeValues(from: [item(4, "b"), item(3, "a long name")], by: "name")
    #expect(named.map(\.id) == [4, 3])
  }
}
