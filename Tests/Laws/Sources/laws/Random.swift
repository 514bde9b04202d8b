import Foundation

extension SeededRandom {
  /// Another generator, so that parts don't depend on each other.
  mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}

/// The source of random values.
struct Source {
  var random: SeededRandom
  /// Whether non-finite numbers, and texts that are equal but differently composed, may occur. JSON cannot represent the former.
  var isAny: Bool
  /// The nesting depth of the next value.
  var depth = 0

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func oneOf<T>(_ values: [T]) -> T { random.oneOf(values) }
  /// An identity that no other model of the type has by chance. Otherwise the objects of two fields would be the same object.
  mutating func identity() -> Int { random.below(1_000_000_000) }

  /// Returns a few random elements, fewer at greater depth.
  mutating func elements<T>(_ make: (inout Source) -> T) -> [T] {
    let most = depth == 0 ? 4 : depth == 1 ? 3 : 2
    depth += 1
    defer { depth -= 1 }
    return (0..<below(most + 1)).map { _ in make(&self) }
  }
}
