import StrataCore
import Testing

@Suite("Objects keyed by identifiers")
struct KeyedElementsTests {
  private let elements = ReversibleTransformer<ArchiveValue, ArchiveValue>.keyedElements("id")

  @Test("An object of objects round-trips through an array")
  func both() throws {
    let object: ArchiveValue = ["7": ["a": 1], "3": ["a": 2], "": [:]]
    #expect(try elements.reverse(elements.transform(object)) == object)
    #expect(try elements.reverse([]) == [:])
  }

  @Test("Writing two elements with the same identifier throws notEncodable")
  func duplicates() {
    let error = #expect(throws: TransformError.self) {
      try elements.reverse([["id": "7", "a": 1], ["id": "8"], ["id": "7", "a": 2]])
    }
    let cause = error?.underlyingError as? ArchiveError
    #expect(cause?.code == .notEncodable && cause?.codingPath == [.index(2)])
  }

  @Test(
    "Writing a value that is not an array throws notEncodable",
    arguments: ["text", 3, ["id": "7"], true] as [ArchiveValue])
  func noArray(_ value: ArchiveValue) {
    let error = #expect(throws: TransformError.self) { try elements.reverse(value) }
    #expect((error?.underlyingError as? ArchiveError)?.code == .notEncodable)
  }

  @Test("Writing an element without a string under the key throws an error")
  func noKey() {
    for element in [["a": 1], ["id": 7], 3, .null] as [ArchiveValue] {
      #expect(throws: TransformError.self) { try elements.reverse([element]) }
    }
  }

  @Test(
    "S-37: reading a value that is not an object of objects throws with its path and the expected type",
    arguments: [
      ("text", []), (3, []), (.null, []), ([], []), ([["id": "7"]], []), (["7": 1], [.key("7")]),
      (["7": ["a": 1], "8": "x"], [.key("8")]), (["7": .null], [.key("7")]), (["7": [["a": 1]]], [.key("7")]),
    ] as [(ArchiveValue, [ArchiveError.PathComponent])])
  func noObject(_ value: ArchiveValue, _ path: [ArchiveError.PathComponent]) {
    let error = #expect(throws: TransformError.self) { try elements.transform(value) }
    #expect(error?.path == path && error?.reason.contains("the value must be an object; found ") == true)
    #expect((error?.underlyingError as? ArchiveError)?.code == .typeMismatch)
  }

  @Test(
    "S-37: writing a value that is not an array of objects with unique string keys throws with its path",
    arguments: [
      ("text", []), (["7": ["a": 1]], []), (.null, []), ([1], [.index(0)]), ([["id": "7"], "x"], [.index(1)]),
      ([["id": "7"], ["a": 1]], [.index(1)]), ([["id": 7]], [.index(0)]), ([["id": "7"], ["id": "7"]], [.index(1)]),
    ] as [(ArchiveValue, [ArchiveError.PathComponent])])
  func noList(_ value: ArchiveValue, _ path: [ArchiveError.PathComponent]) {
    let error = #expect(throws: TransformError.self) { try elements.reverse(value) }
    #expect(error?.path == path)
    #expect((error?.underlyingError as? ArchiveError)?.code == .notEncodable)
  }
}
