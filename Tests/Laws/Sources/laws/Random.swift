import Foundation

extension SeededRandom {
  /// Returns a new generator. Each part of a test uses its own, so that the parts don't affect each other.
  mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}

/// The source of random values.
struct Source {
  var random: SeededRandom
  /// Whether values may include non-finite numbers, which JSON cannot represent, and equal strings that consist of different Unicode
  /// scalars.
  var isAny: Bool
  /// The nesting depth of the next value.
  var depth = 0

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func oneOf<T>(_ values: [T]) -> T { random.oneOf(values) }
  /// Returns an identity that is unlikely to repeat. If two fields used the same identity, their objects would count as one object.
  mutating func identity() -> Int { random.below(1_000_000_000) }

  /// Returns a few random elements, fewer at greater depth.
  mutating func elements<T>(_ make: (inout Source) -> T) -> [T] {
    let most = depth == 0 ? 4 : depth == 1 ? 3 : 2
    depth += 1
    defer { depth -= 1 }
    return (0..<below(most + 1)).map { _ in make(&self) }
  }
}
