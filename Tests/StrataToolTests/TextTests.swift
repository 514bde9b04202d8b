import StrataCore
import Testing

@testable import StrataTool

struct TextTests {
  @Test func numbersAreGrouped() {
    #expect([0, 999, 1000, -1_234_567].map(\.grouped) == ["0", "999", "1,000", "-1,234,567"])
    #expect(1.counted("byte") == "1 byte")
    #expect(2000.counted("byte") == "2,000 bytes")
  }

  @Test func ratiosAreRounded() {
    #expect(ratio(1, 3) == "0.33")
    #expect(ratio(2, 3) == "0.67")
    #expect(ratio(1999, 1000) == "2.00")
    #expect(ratio(1, 0) == "–")
  }

  @Test("What turns the direction of a line is made visible, and what joins letters stays")
  func directions() {
    #expect("a\u{202E}b\u{2066}\u{200F}\u{61C}\u{9B}".onOneLine == "a\\u{202E}b\\u{2066}\\u{200F}\\u{61C}\\u{9B}")
    #expect("👩\u{200D}🚀 \u{645}\u{200C}\u{646}".onOneLine == "👩\u{200D}🚀 \u{645}\u{200C}\u{646}")
  }

  @Test func textStaysOnOneLine() {
    #expect("a\nb\u{1B}[0m".onOneLine == "a\\nb\\u{1B}[0m")
    #expect("abcdef".cut(to: 4) == "abc…")
    #expect("abcd".cut(to: 4) == "abcd")
  }
}
