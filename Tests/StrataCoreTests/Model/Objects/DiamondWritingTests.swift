import Foundation
@testable import StrataCore
import StrataTestSupport
import Testing

private final class Node: DescribedModel {
  let id: Int
  var left: Node?
  var right: Node?
  init(_ id: Int, _ left: Node?, _ right: Node?) { (self.id, self.left, self.right) = (id, left, right) }
  static let fields = Fields(
    Node.self, name: "DiamondWritten", version: 1, Field("id", \.id), Field("left", \.left), Field("right", \.right),
    make: { Node($0, $1, $2) })
}

/// A class whose objects refer to other objects through sets.
private final class Ring: DescribedModel, Hashable {
  let id: Int
  var next: Set<Ring>
  init(_ id: Int, _ next: Set<Ring>) { (self.id, self.next) = (id, next) }
  static func == (left: Ring, right: Ring) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
  static let fields = Fields(
    Ring.self, name: "DiamondCircle", version: 1, Field("id", \.id), Field("next", \.next),
    make: { Ring($0, $1) })
}

private final class Remembering: DescribedModel {
  var first: Node?
  var title: String
  var merging: MergeState
  init(_ first: Node?, _ title: String, _ merging: MergeState) {
    (self.first, self.title, self.merging) = (first, title, merging)
  }
  static let fields = Fields(
    Remembering.self, name: "DiamondRemembering", version: 1, Field("first", \.first), Field("title", \.title),
    Field("merging", \.merging, default: MergeState()), make: { Remembering($0, $1, $2) })
}

private final class Author: DescribedModel {
  let name: String
  init(_ name: String) { self.name = name }
  static let fields = Fields(
    Author.self, name: "DiamondAuthor", version: 1, Field("name", \.name), make: { Author($0) })
}

private struct Post: DescribedModel {
  let id: Int
  let author: Author
  static let fields = Fields(
    Post.self, name: "DiamondPost", version: 1, Field("id", \.id), Field("author", \.author),
    make: { Post(id: $0, author: $1) })
}

@Suite("Objects that are reachable by exponentially many paths")
struct DiamondWritingTests {
  /// Each object refers to the next one twice, so the last one has 2^199 paths.
  private static func diamonds(_ count: Int = 200) -> Node? {
    var node: Node?
    for id in (1...count).reversed() { node = Node(id, node, node) }
    return node
  }

  /// Each object refers to a set of the next two objects.
  private static func circles(_ count: Int = 100) throws -> Ring {
    var row: [Ring] = []
    for id in (1...count).reversed() { row = [Ring(2 * id, Set(row)), Ring(2 * id + 1, Set(row))] }
    return try #require(row.first)
  }

  private static let ways: [(name: String, write: @Sendable (Node) throws -> Void)] = [
    ("JSON", { _ = try JSONWriter().write($0) }),
    ("an adapter", { _ = try JSONAdapter<Node>().encode($0) }),
    (
      "an adapter inside another",
      {
        let object = Remembering($0, "a", MergeState())
        _ = try JSONAdapter<Remembering>().using(JSONAdapter<Node>(["id": "number"])).encode(object)
      }
    ),
    ("an adapter as a value", { _ = try JSONAdapter<Node>().encodeValue($0) }),
    ("a dictionary", { _ = try $0.dictionaryValue }),
    ("a value", { _ = try $0.archivedValue() }),
    (
      "a merge of a patch",
      {
        let object = Remembering($0, "a", MergeState())
        try object.merge(.patch(JSONPatch([.replace(ValuePath(key: "title"), "b")])))
      }
    ),
  ]

  @Test(
    "Formats without references throw limitExceeded", .tags(.long), .timeLimit(.minutes(20)),
    arguments: Effort.sample(1, of: ways.indices))
  func refused(way: Int) throws {
    let node = try #require(Self.diamonds())
    let error = #expect(throws: ArchiveError.self, "\(Self.ways[way].name)") { try Self.ways[way].write(node) }
    #expect(error?.code == .limitExceeded)
  }

  @Test(
    "Copying, comparing, describing and merging take time linear in the number of objects", .timeLimit(.minutes(20)))
  func known() throws {
    let node = try #require(Self.diamonds())
    let copy = try node.copy()
    #expect(copy.isEqual(to: node) && copy.left === copy.right)
    #expect(try copy.copy(updating: ["id": 7]).left === copy.left)
    #expect(copy.fieldDescription().count < 1000)
    try Remembering(node, "a", MergeState()).merge(.model(Remembering(copy, "b", MergeState())))
  }

  @Test("Paths through sets throw limitExceeded when written as JSON", .timeLimit(.minutes(20)))
  func sets() throws {
    let error = #expect(throws: ArchiveError.self) { try JSONWriter().write(Self.circles()) }
    #expect(error?.code == .limitExceeded)
  }

  @Test("JSON contains a shared object once for each object that refers to it")
  func shared() throws {
    let author = Author(String(repeating: "a", count: 50))
    let posts = (0..<50_000).map { Post(id: $0, author: author) }
    let text = try JSONWriter().write(posts)
    #expect(text.count > 50_000 * 70)
  }
}
