import Foundation
import StrataCore
import Testing

private final class Node: DescribedModel {
  let id: Int
  var left: Node?
  var right: Node?
  init(_ id: Int, _ left: Node?, _ right: Node?) { (self.id, self.left, self.right) = (id, left, right) }
  static let fields = Fields(
    Node.self, name: "DiamondNode", version: 1, Field("id", \.id), Field("left", \.left), Field("right", \.right),
    make: { Node($0, $1, $2) })
}

@Suite("Merging: objects reachable by many paths")
struct DiamondMergeTests {
  /// Each object refers to the next one twice, so there are about 2^600 paths to the last of 600 objects.
  private func diamonds(_ count: Int) -> Node? {
    var node: Node?
    for id in (1...count).reversed() { node = Node(id, node, node) }
    return node
  }

  @Test(
    "A hook receives the source objects with their references intact, including distant cycles",
    .timeLimit(.minutes(20)))
  func source() throws {
    let first = try #require(diamonds(600))
    var last = first
    while let next = last.left { last = next }
    last.left = first
    let server = Seen(first, 0)
    defer { last.left = nil }
    let local = Seen(nil, 0)
    try local.merge(.archive(ArchiveEncoder().encode(server)), base: Seen(nil, 0))
    #expect(local.depth == 600 && local.first?.id == 1)
    for node in sequence(first: local.first, next: { $0?.id == 600 ? nil : $0?.left }) where node?.id == 600 {
      #expect(node?.left === local.first)
      node?.left = nil
    }
  }
}

/// A model whose merge code counts the objects that are reachable from the incoming model.
private final class Seen: DescribedModel, KeyMerging {
  var first: Node?
  var depth: Int
  init(_ first: Node?, _ depth: Int) { (self.first, self.depth) = (first, depth) }
  static let fields = Fields(
    Seen.self, name: "DiamondSeen", version: 1, Field("first", \.first), Field("depth", \.depth), make: { Seen($0, $1) }
  )

  func mergeValue(forKey key: String, from source: Seen) throws -> Bool {
    guard key == "depth" else { return false }
    var node = source.first
    while let one = node {
      depth += 1
      node = one.left === source.first ? nil : one.left
      #expect(one.right == nil || one.right === one.left || node == nil)
    }
    return true
  }
}
