import Foundation
import Strata
import Testing

/// Models of each kind inside a private type and a private extension.
private enum Scope {
  @Model(version: 1)
  enum Shape: Equatable {
    case circle(radius: Double)
    case dot
  }

  @Model(version: 1)
  struct Drawing: Equatable {
    var shapes: [Shape] = []
    @Field(storage: .none) var cache = 0
    var merge = MergeState()
    var unknownFields = UnknownFields()
  }

  @Model(version: 1)
  class Node {
    var name = ""
    var child: Node?
    @Field(archive: .conditional) weak var parent: Node?
  }

  @Model(version: 1, superclass: Node.self)
  final class Leaf: Node {
    var color: String?
    override init() { super.init() }
  }
}

extension Scope {
  fileprivate struct Inner {
    @Model(version: 1)
    enum Kind: Equatable { case one, two(String) }
  }
}

@Suite("Models inside private types")
struct PrivateScopeTests {
  private func copy<T: Archivable>(_ value: T) throws -> T {
    try ArchiveDecoder().decode(T.self, from: ArchiveEncoder().encode(value))
  }

  @Test("Structs and enums are archived")
  func values() throws {
    let drawing = Scope.Drawing(shapes: [.circle(radius: 2), .dot])
    #expect(try copy(drawing) == drawing)
    #expect(try copy(Scope.Inner.Kind.two("a")) == .two("a"))
  }

  @Test("Classes are archived")
  func objects() throws {
    let node = Scope.Node()
    node.child = Scope.Leaf()
    node.child?.name = "leaf"
    node.child?.parent = node
    let decoded = try ArchiveDecoder(subclasses: [Scope.Leaf.self]).decode(
      Scope.Node.self, from: ArchiveEncoder(subclasses: [Scope.Leaf.self]).encode(node))
    #expect(decoded.child is Scope.Leaf)
    #expect(decoded.child?.name == "leaf")
    #expect(decoded.child?.parent === decoded)
  }
}
