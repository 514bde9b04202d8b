import StrataCore
import Testing

private struct Draft: DescribedModel, PostDecoding, Equatable {
  let id: Int
  var title: String
  var length = 0
  /// This property is not a field.
  var selection = 0
  static let fields = Fields(
    Draft.self, version: 1, Field("id", \.id), Field("title", \.title),
    Field("length", \.length, archive: .excluded, default: 0), make: { Draft(id: $0, title: $1, length: $2) })

  mutating func didDecode(from source: DecodingSource) throws {
    length = title.count
    if source == .update { selection += 1 }
  }
}

private final class Counter: DescribedModel, PostDecoding {
  let id: Int
  var count: Int
  var decoded = 0
  init(id: Int, count: Int) { (self.id, self.count) = (id, count) }
  static let fields = Fields(
    Counter.self, version: 1, Field("id", \.id), Field("count", \.count), make: { Counter(id: $0, count: $1) })
  func didDecode(from source: DecodingSource) throws { decoded += 1 }
}

@Suite("Copies")
struct CopyTests {
  @Test("M-8, M-11: copy() runs no hook, and returns a new object with equal values for a class")
  func plain() throws {
    let draft = Draft(id: 1, title: "abc", selection: 9)
    #expect(try draft.copy() == draft)
    let counter = Counter(id: 1, count: 2)
    let copy = try counter.copy()
    #expect(copy !== counter)
    #expect((copy.id, copy.count, copy.decoded) == (1, 2, 0))
  }

  @Test("U-14: copy(updating:) changes fields by key, even constants")
  func byKey() throws {
    let draft = Draft(id: 1, title: "abc", selection: 9)
    #expect(try draft.copy(updating: ["title": "xy", "id": 2]) == Draft(id: 2, title: "xy", length: 2, selection: 1))
    let counter = Counter(id: 1, count: 2)
    let copy = try counter.copy(updating: ["id": 5])
    #expect((copy.id, copy.count, copy.decoded) == (5, 2, 1))
    #expect((counter.id, counter.count, counter.decoded) == (1, 2, 0))
  }

  @Test("U-14: a copy can change a field by key path or in a closure")
  func typed() throws {
    let draft = Draft(id: 1, title: "abc")
    #expect(try draft.copy(updating: \.title, to: "xy") == Draft(id: 1, title: "xy", length: 2, selection: 1))
    #expect(try draft.copy { $0.title = "z" }.length == 1)
    let counter = Counter(id: 1, count: 2)
    let copy = try counter.copy(updating: \.count, to: 3)
    #expect((copy.count, counter.count) == (3, 2))
  }

  @Test("M-6: copy(updating:) rejects unknown keys and values of the wrong type")
  func refusals() throws {
    let draft = Draft(id: 1, title: "abc")
    #expect(try #require(throws: ArchiveError.self) { try draft.copy(updating: ["x": 1]) }.code == .unknownKey)
    let error = try #require(throws: ArchiveError.self) { try draft.copy(updating: ["title": 1]) }
    #expect(error.code == .typeMismatch)
    #expect(error.pathDescription == "title")
  }
}
