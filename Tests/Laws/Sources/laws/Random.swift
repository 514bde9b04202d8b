import Foundation

extension SeededRandom {
  /// Another generator for a part, so that the parts do not depend on each other.
  mutating func fork() -> SeededRandom { SeededRandom(seed: next()) }
}

/// What values are drawn from.
struct Source {
  var random: SeededRandom
  /// Whether numbers may be not finite, and texts equal without being the same. JSON has none of the former.
  var isAny: Bool
  /// How deep the value that is drawn stands.
  var depth = 0

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func oneOf<T>(_ values: [T]) -> T { random.oneOf(values) }
  /// An identity that no other model of the same type has by chance: objects of two fields would be one.
  mutating func identity() -> Int { random.below(1_000_000_000) }

  /// So many elements, fewer further down.
  mutating func elements<T>(_ make: (inout Source) -> T) -> [T] {
    let most = depth == 0 ? 4 : depth == 1 ? 3 : 2
    depth += 1
    defer { depth -= 1 }
    return (0..<below(most + 1)).map { _ in make(&self) }
  }
}
