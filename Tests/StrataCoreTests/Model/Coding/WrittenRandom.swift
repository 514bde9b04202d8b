import Foundation
import Strata
import StrataTestSupport

/// Random values of every kind: empty, extreme, unusual and ordinary.
struct WrittenRandom: RandomNumberGenerator {
  private var random: SeededRandom
  /// The number of nested models that may still be created. It limits the nesting.
  var rest = 12

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next() -> UInt64 { random.next() }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    oneOf([0, 1, .max, .min, 23, 24, 100, T.random(in: .min ... .max, using: &self)])
  }

  mutating func double() -> Double {
    oneOf([
      0, -0.0, 1, 0.1, -1e300, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .pi, 1e22, 9_007_199_254_740_992,
      isOnce(in: 6) ? .nan : 2, isOnce(in: 6) ? .infinity : 3, Double.random(in: -1e6...1e6, using: &self),
    ])
  }

  mutating func float() -> Float {
    oneOf([0, -0.0, 0.1, .greatestFiniteMagnitude, .leastNonzeroMagnitude, isOnce(in: 8) ? .nan : 1, 16_777_216])
  }

  mutating func text() -> String {
    oneOf([
      "", "a", "b", "0", "1", "null", "true", "none", "some", "é", "e\u{301}", "\u{0}", "\u{FEFF}x", "👨‍👩‍👧",
      "\"\\/\n\t\u{1}",
      "\u{2028}", "𝒜", "a.b", "[0]", "_0", "strata.reference", "Ware@3", "NS.objects",
      String(repeating: "x", count: 300),
      String(repeating: "é", count: 40),
    ])
  }

  mutating func data() -> Data { oneOf([Data(), Data([0]), Data([255, 254]), Data(repeating: 7, count: 300)]) }

  mutating func date() -> Date {
    oneOf([
      Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1.5),
      Date(timeIntervalSince1970: -1), Date(timeIntervalSinceReferenceDate: 700_000_000.25),
      isOnce(in: 6) ? .distantFuture : .distantPast,
      isOnce(in: 9) ? Date(timeIntervalSince1970: 1e18) : Date(timeIntervalSince1970: 9),
    ])
  }

  mutating func url() -> URL {
    oneOf(
      ["https://example.com/a?b=c#d", "file:///tmp/x%20y", "mailto:a@b.c", "a/b", "#x", "https://ex.com/%F0%9F"]
        .compactMap {
          URL(string: $0)
        })
  }

  mutating func uuid() -> UUID {
    let byte = integer(UInt8.self)
    return UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte))
  }

  mutating func decimal() -> Decimal {
    oneOf([
      0, 1, -1, Decimal(string: "0.1") ?? 0, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude,
      Decimal(sign: .plus, exponent: 127, significand: 10), Decimal(string: "-12345678901234567890.123456789") ?? 0,
      isOnce(in: 9) ? .nan : 5,
    ])
  }

  mutating func optional<T>(_ make: (inout Self) -> T) -> T? { isOnce(in: 3) ? nil : make(&self) }
  mutating func array<T>(_ make: (inout Self) -> T) -> [T] {
    (0..<oneOf([0, 0, 1, 2, 3])).map { _ in make(&self) }
  }
  mutating func set<T: Hashable>(_ make: (inout Self) -> T) -> Set<T> { Set(array(make)) }
  mutating func dictionary<K: Hashable, V>(
    _ key: (inout Self) -> K, _ value: (inout Self) -> V
  ) -> [K: V] {
    Dictionary(array { (key(&$0), value(&$0)) }) { first, _ in first }
  }

  /// Creates a nested model, or returns `nil` at random or if no more models may be created.
  mutating func inside<T>(_ make: (inout Self) -> T) -> T? {
    guard rest > 0, !isOnce(in: 3) else { return nil }
    rest -= 1
    return make(&self)
  }
}
