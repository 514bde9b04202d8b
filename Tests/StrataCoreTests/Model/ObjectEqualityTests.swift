import StrataCore
import Testing

@Suite("Equality of objects")
struct ObjectEqualityTests {
  private func nested(_ depth: Int, _ value: ArchiveValue, isSwapped: Bool = false) -> ArchiveValue {
    (0..<depth).reduce(value) { inner, _ in isSwapped ? ["b": inner, "a": 1] : ["a": 1, "b": inner] }
  }

  @Test("Nested objects are compared only once per level", .timeLimit(.minutes(20)), arguments: [true, false])
  func nesting(isSwapped: Bool) {
    #expect(nested(200, 1) != nested(200, 2, isSwapped: isSwapped))
    #expect(nested(200, 1) == nested(200, 1, isSwapped: isSwapped))
  }

  @Test func keys() {
    #expect(["a": 1, "b": 2] as ArchiveValue == ["b": 2, "a": 1])
    #expect(["a": 1, "b": 2] as ArchiveValue != ["b": 1, "a": 2])
    #expect(["a": 1] as ArchiveValue != ["a": 1, "b": 2])
    // Two spellings of a text are different keys.
    #expect(["\u{E9}": 1] as ArchiveValue != ["e\u{301}": 1])
  }
}
