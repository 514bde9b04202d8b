import Foundation
import Strata
import StrataTestSupport
import Testing

/// A model that is identified by two keys. `id` joins them for SwiftUI.
@Model(version: 1)
private struct Repo: Hashable, Identifiable, Mergeable {
  let owner: String
  let name: String
  var stars = 0
  var note: String?
  var id: String { "\(owner)/\(name)" }
  static let mergeRules = MergeRules(identity: ["owner", "name"])
}

/// The same model with its identity in one key.
@Model(version: 1)
private struct PlainRepo: Hashable {
  let id: String
  var stars = 0
  var note: String?
}

@Model(version: 1)
private struct Page<Element: VersionedModel & Hashable>: Equatable {
  var list: [Element] = []
  var set: Set<Element> = []
  var rows: [[Element]] = []
  var named: [[String: Element]] = []
}

@Model(version: 1)
private struct Shelf: Equatable {
  @Field(merge: .byID(["owner", "name"])) var repos: [Repo] = []
  var merging = MergeState()
}

@Model(version: 1)
private final class Node: Mergeable {
  let space: Int
  let number: Int
  var text = ""
  var next: Node?
  static let mergeRules = MergeRules(identity: ["space", "number"])
  init(_ space: Int, _ number: Int) { (self.space, self.number) = (space, number) }
}

@Model(version: 1)
private final class Graph {
  var nodes: [Node] = []
  var first: Node?
  init() {}
}

@Model(version: 1)
private struct Misspelled: Mergeable {
  var owner = ""
  static let mergeRules = MergeRules(identity: ["owner", "nmae"])
}

@Suite("Identities with several keys")
struct IdentityKeyTests {
  /// Both owners use the same names. It is random which repositories exist and how many stars they have.
  private func repos(_ random: inout SeededRandom) -> [Repo] {
    var repos: [Repo] = []
    for owner in ["a", "b"] {
      for name in ["x", "y"] where random.isOnce(in: 2) {
        var repo = Repo(owner: owner, name: name)
        repo.stars = random.below(3)
        repos.append(repo)
      }
    }
    return repos.shuffled(using: &random)
  }

  private func plain(_ repos: [Repo]) -> [PlainRepo] {
    repos.map { repo in
      var plain = PlainRepo(id: repo.id)
      (plain.stars, plain.note) = (repo.stars, repo.note)
      return plain
    }
  }

  private func page<Element>(_ elements: [Element], sorted: [Element]) -> Page<Element> {
    var page = Page<Element>()
    page.list = elements
    page.set = Set(elements)
    page.rows = [Array(elements.prefix(1)), Array(elements.dropFirst())]
    page.named = [Dictionary(uniqueKeysWithValues: zip(["p", "q", "r", "s"], sorted))]
    return page
  }

  @Test func twoKeysIdentifyAsOneDoes() throws {
    for seed in 0..<300 {
      var random = SeededRandom(seed: UInt64(seed))
      let sides = (0..<3).map { _ in repos(&random) }
      let pages = sides.map { page($0, sorted: $0.sorted { $0.id < $1.id }) }
      let plains = sides.map { page(plain($0), sorted: plain($0.sorted { $0.id < $1.id })) }
      for (withBase, source) in [(false, 0), (false, 1), (true, 0), (true, 1), (true, 2)] {
        var (merged, expected) = (pages[0], plains[0])
        switch source {
        case 0:
          try merged.merge(.model(pages[1]), base: withBase ? pages[2] : nil)
          try expected.merge(.model(plains[1]), base: withBase ? plains[2] : nil)
        case 1:
          let (one, other) = (
            try JSONAdapter(Page<Repo>.self).encode(pages[1]), try JSONAdapter(Page<PlainRepo>.self).encode(plains[1])
          )
          try merged.merge(.json(one), base: withBase ? pages[2] : nil)
          try expected.merge(.json(other), base: withBase ? plains[2] : nil)
        default:
          try merged.merge(.archive(ArchiveEncoder().encode(pages[1])), base: pages[2])
          try expected.merge(.archive(ArchiveEncoder().encode(plains[1])), base: plains[2])
        }
        #expect(plain(merged.list) == expected.list, "seed \(seed), source \(source), base \(withBase)")
        #expect(Set(plain(Array(merged.set))) == expected.set, "seed \(seed), source \(source), base \(withBase)")
        #expect(merged.rows.map(plain) == expected.rows, "seed \(seed), source \(source), base \(withBase)")
        #expect(
          merged.named.map { $0.mapValues { plain([$0])[0] } } == expected.named,
          "seed \(seed), source \(source), base \(withBase)")
      }
      var (list, expected) = (sides[0], plain(sides[0]))
      try list.mergeValues(from: sides[1], base: sides[2])
      try expected.mergeValues(from: plain(sides[1]), base: plain(sides[2]))
      #expect(plain(list) == expected, "seed \(seed)")
    }
  }

  @Test func partsOfAnElementKeepWhatIsHere() throws {
    var shelf = Shelf()
    shelf.repos = [Repo(owner: "a", name: "x"), Repo(owner: "b", name: "x")]
    shelf.repos[0].note = "mine"
    shelf.repos[1].note = "yours"
    let report = try shelf.mergeValues(
      fromJSON: Data(
        #"{"repos": [{"owner": "b", "name": "x", "stars": 5}, {"owner": "a", "name": "x", "stars": 3}]}"#.utf8))
    #expect(shelf.repos.map(\.note) == ["yours", "mine"])
    #expect(shelf.repos.map(\.stars) == [5, 3])
    #expect(report.entries.map(\.path.description).contains(#"repos[owner+name=["b","x"]].stars"#))
  }

  @Test func aConflictIsResolvedAfterArchiving() throws {
    var base = Shelf()
    base.repos = [Repo(owner: "a", name: "x"), Repo(owner: "b", name: "x")]
    var shelf = base
    try shelf.merge(.json(JSONAdapter(Shelf.self).encode(base)))
    shelf.repos[1].stars = 7
    try shelf.mergeValues(
      fromJSON: Data(#"{"repos": [{"owner": "a", "name": "x"}, {"owner": "b", "name": "x", "stars": 9}]}"#.utf8))
    var opened = try ArchiveDecoder().decode(Shelf.self, from: ArchiveEncoder().encode(shelf))
    let conflict = try #require(opened.merging.conflicts.first)
    #expect(conflict.path.description == #"repos[owner+name=["b","x"]].stars"#)
    try opened.resolve(conflict, with: .server)
    #expect(opened.repos[1].stars == 9)
    #expect(opened.merging.conflicts.isEmpty)
  }

  @Test func objectsAreMatchedByTwoKeys() throws {
    let graph = Graph()
    let nodes = [Node(1, 1), Node(1, 2), Node(2, 1)]
    (graph.nodes, graph.first, nodes[0].next) = (nodes, nodes[2], nodes[1])
    let other = Graph()
    let others = [Node(2, 1), Node(1, 1), Node(3, 3)]
    for node in others { node.text = "new" }
    (other.nodes, other.first, others[0].next) = (others, others[1], others[2])
    try graph.mergeValues(from: other)
    #expect(graph.first === nodes[0])
    #expect(graph.nodes.first { $0.space == 2 } === nodes[2])
    #expect(nodes.map(\.text) == ["new", "", "new"])
    #expect(nodes[2].next?.space == 3)
  }

  @Test func anIncompleteIdentityIsNone() throws {
    var page = Page<Repo>()
    page.list = [Repo(owner: "a", name: "x")]
    page.list[0].note = "mine"
    #expect(throws: ArchiveError.self) { try page.mergeValues(fromJSON: Data(#"{"list": [{"name": "x"}]}"#.utf8)) }
  }

  @Test func theRulesNameKeysOfTheModel() {
    #expect { try Misspelled.schema.check() } throws: { "\($0)".contains("owner+nmae") }
  }

  @Test func textIsReadBack() {
    for keys in [["id"], ["owner", "name"], ["a+b"], ["a\\", "+"], ["a", "b", "c"]] {
      let key = IdentityKey(keys)
      #expect(IdentityKey(parsing: key.description) == key)
      let policy = MergePolicy.byID(key, unlisted: .remove)
      #expect(MergePolicy(policy.description)?.description == policy.description)
    }
    for name in ["a,keep", "a,b", "a)b(", "a|b", "|", "a\\,b", "(a).ifPresent", "\u{301}a", "+\u{301}", "a,\u{301}b"] {
      for policy in [MergePolicy.byID(IdentityKey(name)), .byID([name, "b"], unlisted: .keep), .lastWriter(by: name)] {
        for policy in [policy, policy.ifPresent, policy.orElse(.max), policy.orElse(.max).ifPresent] {
          let again = MergePolicy(policy.description)
          #expect(again?.description.utf8.elementsEqual(policy.description.utf8) == true, "\(policy)")
          #expect(again?.claims == policy.claims, "\(policy)")
        }
      }
      #expect(IdentityKey(parsing: IdentityKey([name, "b"]).description) == [name, "b"])
    }
    #expect(MergePolicy.byID(["a+b", "c"]).description == #"byID(a\+b+c)"#)
    #expect(MergePolicy.byID("a,keep").description == #"byID(a\,keep)"#)
    for text in ["lastWriter(a,b)", "lastWriter(a\\+b)", "byID(a\\)", "lastWriter(a\\)"] {
      #expect(MergePolicy(text) == nil)
    }
    for text in ["", "+", "a+", "a\\"] { #expect(IdentityKey(parsing: text) == nil) }
  }
}
