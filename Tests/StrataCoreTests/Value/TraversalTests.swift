import Foundation
import StrataTestSupport
import Testing

@testable import StrataCore

/// Checks that each function that traverses a value reaches all of its parts.
@Suite("Traversing values") struct TraversalTests {
  private static let address = ArchiveValue.record(
    ModelRecord(typeName: "Address", modelVersion: 0, fields: [("street", "a")]))

  /// Functions that embed a value in another one, one for each place that can hold a value, with the path component of that place.
  private static let places: [(String, @Sendable (ArchiveValue) -> ArchiveValue, ArchiveError.PathComponent?)] = [
    ("array", { [1, $0] }, .index(1)),
    ("set", { .set([1, $0]) }, .index(1)),
    ("object", { ["a": 1, "b": $0] }, .key("b")),
    ("map value", { .map([.init(key: 1, value: $0)]) }, .key("(key)")),
    ("map key", { .map([.init(key: $0, value: 1)]) }, .key("(key)")),
    ("record", { .record(ModelRecord(typeName: "R", modelVersion: nil, fields: [("a", 1), ("b", $0)])) }, .key("b")),
    ("object of a graph", { .graph(ObjectGraph(objects: [1, $0], root: 1)) }, .index(1)),
    ("root of a graph", { .graph(ObjectGraph(objects: [1], root: $0)) }, nil),
  ]

  @Test("Records are upgraded at every position in a value", arguments: places.indices)
  func upgrade(place: Int) throws {
    let (name, put, _) = Self.places[place]
    var catalog = SchemaCatalog()
    Address._collectSchemas(into: &catalog)
    let result = try ValueUpgrader(catalog: catalog).upgrade(put(put(Self.address)), DecodingContext())
    // An absent key stays absent.
    let today = ArchiveValue.record(ModelRecord(typeName: "Address", modelVersion: 1, fields: [("street", "a")]))
    #expect(result == put(put(today)), "\(name)")
  }

  @Test(
    "References are found and replaced at every position, and errors have the path component", arguments: places.indices
  )
  func references(place: Int) throws {
    let (name, put, step) = Self.places[place]
    let value = put(put(.reference(7)))
    var found: [Int] = []
    value.forEachReference { found.append($0) }
    // References inside a graph refer to its own objects.
    let isGraph = name.contains("graph")
    #expect(found == (isGraph ? [] : [7]) && value.hasReferences == !isGraph, "\(name)")
    #expect(!put(put(1)).hasReferences, "\(name)")
    #expect(value.mapReferences { .int(Int64($0)) } == (isGraph ? value : put(put(7))), "\(name)")
    let error = archiveError(.rejected) {
      _ = try put(.reference(7)).mapLocated { inside in
        if case .reference = inside { throw ArchiveError(.rejected, "here") }
        return inside
      }
    }
    #expect(error?.codingPath == step.map { [$0] } ?? [], "\(name)")
  }
}
