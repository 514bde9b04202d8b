import Foundation
import Strata
import StrataTestSupport
import Testing

/// These enums represent two modules that have types with the same name.
private enum First {
  @Model(version: 1, name: "Item")
  struct Item: Equatable {
    @Field(json: "a") var value: Int?
  }

  @Model(version: 1, name: "Node")
  final class Node { var value = "" }
}

private enum Second {
  @Model(version: 1, name: "Item")
  struct Item: Equatable, Validating {
    @Field(json: "b") var value: Int = 0
    static let validation = Validation<Item>(.check("value", \.value, .range(0...)))
  }

  @Model(version: 1, name: "Node")
  final class Node { var value = 0 }
}

@Model(version: 1)
private struct Both: Equatable {
  var first: First.Item?
  @Field(merge: .recursive) var second: Second.Item?
}

@Model(version: 1)
private final class Nodes {
  var first: First.Node?
  var second: Second.Node?
}

@Suite("Types with the same registered name")
struct NameTests {
  @Test("U-27: two types with the same name in one model are archived and validated correctly")
  func archives() throws {
    let both = Both(first: First.Item(value: 5), second: Second.Item(value: 6))
    #expect(try archived(both) == both)
    #expect(!Both(second: Second.Item(value: -1)).isValid)
    let error = archiveError { try archived(Both(second: Second.Item(value: -1))) }
    #expect(error?.code == .invalid && error?.pathDescription == "second.value")
  }

  @Test("U-27: JSON adapters and merges reject a name that two types share")
  func values() throws {
    var both = Both(first: First.Item(value: 5), second: Second.Item(value: 6))
    let before = both
    let source = Both(first: First.Item(value: 5), second: Second.Item(value: 7))
    let data = try ArchiveEncoder().encode(both)
    for error in [
      archiveError { try JSONAdapter<Both>() }, archiveError { try both.jsonData() },
      archiveError { try both.mergeValues(from: source) }?.underlyingError as? ArchiveError,
    ] {
      #expect(error?.code == .invalidSchema && error?.reason.contains("Item") == true)
    }
    #expect(both == before)
    // As X-35 requires, an upgrade tells the two models apart by type, not by name.
    #expect(try ArchiveUpgrader(Both.self).upgrade(data) == data)
    #expect(try Both(fromJSON: Data(#"{"first": {"a": 5}, "second": {"b": 6}}"#.utf8)) == both)
    let nodes = Nodes()
    nodes.second = Second.Node()
    #expect(archiveError { try archived(nodes) }?.code == .invalidSchema)
  }
}
