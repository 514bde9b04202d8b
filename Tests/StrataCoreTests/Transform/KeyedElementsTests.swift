import StrataCore
import Testing

@Suite("Objects keyed by identifiers")
struct KeyedElementsTests {
  private let elements = ReversibleTransformer<ArchiveValue, ArchiveValue>.keyedElements("id")

  @Test("There and back")
  func both() throws {
    let object: ArchiveValue = ["7": ["a": 1], "3": ["a": 2], "": [:]]
    #expect(try elements.reverse(elements.transform(object)) == object)
    #expect(try elements.reverse([]) == [:])
  }

  @Test("Two elements with one identifier have one place, so neither is written")
  func duplicates() {
    let error = #expect(throws: TransformError.self) {
      try elements.reverse([["id": "7", "a": 1], ["id": "8"], ["id": "7", "a": 2]])
    }
    let cause = error?.underlyingError as? ArchiveError
    #expect(cause?.code == .notEncodable && cause?.codingPath == [.index(2)])
  }

  @Test(
    "What is no array is an error, and not an empty object",
    arguments: ["text", 3, ["id": "7"], true] as [ArchiveValue])
  func noArray(_ value: ArchiveValue) {
    let error = #expect(throws: TransformError.self) { try elements.reverse(value) }
    #expect((error?.underlyingError as? ArchiveError)?.code == .notEncodable)
  }

  @Test("An element without a text under the key is an error")
  func noKey() {
    for element in [["a": 1], ["id": 7], 3, .null] as [ArchiveValue] {
      #expect(throws: TransformError.self) { try elements.reverse([element]) }
    }
  }
}
