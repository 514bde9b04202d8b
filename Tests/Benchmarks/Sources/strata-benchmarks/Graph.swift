import Foundation
import StrataCore

/// A node of a doubly linked list.
final class Node: VersionedModel {
  let value: Int
  var next: Node?
  weak var previous: Node?

  init(_ value: Int) { self.value = value }

  static let schema = ModelSchema(
    Node.self, name: "Node", version: 1,
    fields: [
      FieldInfo("value", Int.self, isConstant: true), FieldInfo("next", Node?.self),
      FieldInfo("previous", Node?.self, archive: .conditional),
    ])

  init(fields reader: inout ArchiveReader) throws {
    value = try reader.field(0)
    next = try reader.field(1)
    previous = try reader.field(2)
  }

  func encodeFields(to writer: inout ArchiveWriter) throws {
    try writer.field(0, value)
    try writer.field(1, next)
    try writer.conditionalField(2, previous)
  }

  func readField(_ place: Int, from reader: inout ArchiveReader) throws {
    switch place {
    case 1: next = try reader.field(1)
    case 2: previous = try reader.field(2)
    default: throw reader.constantInCycle(place)
    }
  }

  static func list(_ count: Int) -> [Node] {
    let nodes = (0..<count).map { Node($0) }
    for (node, next) in zip(nodes, nodes.dropFirst()) { (node.next, next.previous) = (next, node) }
    return nodes
  }

  var all: [Node] {
    var nodes = [self]
    while let next = nodes[nodes.count - 1].next { nodes.append(next) }
    return nodes
  }

  /// Releases the nodes one by one. Swift would release a long list recursively and overflow the stack.
  static func cut(_ nodes: [Node]) { for node in nodes { node.next = nil } }
}

extension Runner {
  /// Compares the cost per object in a list of 100,000 objects with the cost per object in a list of 1,000.
  func compareGraphs() throws {
    guard ["grow/graph-encode", "grow/graph-decode"].contains(where: wants) else { return }
    let many = Node.list(100_000), few = Node.list(1000)
    let encoder = ArchiveEncoder(), decoder = ArchiveDecoder()
    let manyBytes = try encoder.encodeBody(many[0]), fewBytes = try encoder.encodeBody(few[0])
    let copies = try decoder.decodeBody(Node.self, from: manyBytes).all
    guard copies.map(\.value) == many.map(\.value), zip(copies, copies.dropFirst()).allSatisfy({ $1.previous === $0 })
    else { throw Failure("Strata did not give the list back") }
    Node.cut(copies)
    try time("grow/graph-encode", inverted: true, oursPer: many.count, theirsPer: few.count) {
      consume(try encoder.encodeBody(many[0]))
    } theirs: {
      consume(try encoder.encodeBody(few[0]))
    }
    // The times include releasing the nodes one by one, on both sides.
    try time("grow/graph-decode", inverted: true, oursPer: many.count, theirsPer: few.count) {
      Node.cut(try decoder.decodeBody(Node.self, from: manyBytes).all)
    } theirs: {
      Node.cut(try decoder.decodeBody(Node.self, from: fewBytes).all)
    }
    Node.cut(many)
    Node.cut(few)
  }
}
