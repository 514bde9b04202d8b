import Foundation

/// A seeded random number generator: SplitMix64 (Steele et al., 2014).
///
/// This copy of the tests' generator lets this folder compile with nothing but the library, even with an old commit of it. If the
/// algorithm or the way it is used changes, the golden results must be recorded again.
struct Random: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// Returns a number from 0 up to, but not including, the bound. The standard library's algorithm isn't used, because it may change.
  mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 32) % bound }

  mutating func oneOf<T>(_ values: [T]) -> T { values[below(values.count)] }

  /// Returns `true` once in `count` calls on average.
  mutating func isOnce(in count: Int) -> Bool { below(count) == 0 }

  mutating func optional<T>(_ value: T) -> T? { isOnce(in: 3) ? nil : value }

  mutating func array<T>(upTo count: Int, _ element: (inout Random) -> T) -> [T] {
    (0..<below(count + 1)).map { _ in element(&self) }
  }
}

extension Random {
  // These functions choose from only a few values, so that two sides often choose the same one.

  mutating func word() -> String { oneOf(["", "a", "b", "c", "Zürich", "a b", "\u{301}é", "🦀"]) }

  mutating func number() -> Int { oneOf([0, 1, 2, 3, -1, 7, 100, 9_007_199_254_740_993]) }

  mutating func real() -> Double { oneOf([0, 0.1, -1.5, 3, 1e21, 2.5e-7]) }

  mutating func date() -> Date {
    Date(timeIntervalSinceReferenceDate: oneOf([0, 1, 86_400, 700_000_000.5, 700_000_000.123_456_7]))
  }

  mutating func time() -> Date? { isOnce(in: 5) ? nil : date() }

  /// Returns a text with up to four lines.
  mutating func lines() -> String {
    (0..<below(5)).map { _ in oneOf(["one", "two", "three", "four"]) + "\n" }.joined()
  }

  /// Returns the text with a random line removed, inserted or replaced. If the text is empty, returns a new one.
  mutating func editedLines(_ text: String) -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { $0 + "\n" }
    if lines.isEmpty { return (0..<6).map { _ in self.lines() }.joined() }
    let place = below(lines.count)
    switch below(4) {
    case 0: lines.remove(at: place)
    case 1: lines.insert("new\n", at: place)
    default: lines[place] = oneOf(["one", "two", "three", "four"]) + "\n"
    }
    return lines.joined()
  }

  mutating func url() -> URL? {
    URL(string: oneOf(["https://example.com", "https://example.com/a?b=c#d", "mailto:a@b.c"]))
  }
}
