import Foundation
import StrataCore
import Testing

private final class Peer: DescribedModel, Hashable {
  let id: Int
  init(_ id: Int) { self.id = id }
  static func == (left: Peer, right: Peer) -> Bool { left.id == right.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
  static let fields = Fields(Peer.self, name: "SetPeer", version: 1, Field("id", \.id), make: { Peer($0) })
}

private struct Circle: DescribedModel {
  var groups: [Set<Peer>] = []
  var added: [Set<Peer>] = []
  static let fields = Fields(
    Circle.self, name: "SetCircle", version: 1, Field("groups", \.groups, merge: .union, default: []),
    Field("added", \.added, merge: .addWins, default: []), make: { Circle(groups: $0, added: $1) })
}

@Suite("Lists of sets of objects")
struct ObjectSetTests {
  private static func groups(_ ids: [[Int]]) -> ArchiveValue {
    .array(ids.map { .array($0.map { ["id": .integer($0)] }) })
  }

  @Test("A set of objects is matched regardless of the order of its members")
  func order() throws {
    let server = Self.groups([[2, 1], [3]])
    for base in [nil, Circle(groups: [[Peer(1), Peer(2)]], added: [[Peer(2), Peer(1)]])] {
      var circle = Circle(groups: [[Peer(1), Peer(2)]], added: [[Peer(1), Peer(2)]])
      try circle.merge(.json(["groups": server, "added": server]), base: base)
      for list in [circle.groups, circle.added] { #expect(list.map { $0.map(\.id).sorted() } == [[1, 2], [3]]) }
    }
  }

  @Test("A set of objects that the server removed is removed locally, whatever the member order in the base")
  func removal() throws {
    var circle = Circle(added: [[Peer(1), Peer(2)], [Peer(3)]])
    let base = Circle(added: [[Peer(2), Peer(1)], [Peer(3)]])
    try circle.merge(.json(["added": Self.groups([[3]])]), base: base)
    #expect(circle.added.map { $0.map(\.id) } == [[3]])
  }
}
