/// A random number generator with a seed, so that a failure can be reproduced.
///
/// The algorithm must not change, because scripts identify rounds by their seeds.
package struct SeededRandom: RandomNumberGenerator, CustomStringConvertible {
  package let seed: UInt64
  private var state: UInt64

  package init(seed: UInt64) { (self.seed, state) = (seed, seed) }

  package var description: String { "seed \(seed)" }

  // SplitMix64, Steele et al., 2014.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}

/// These methods are also available in generators that draw from a ``SeededRandom``.
extension RandomNumberGenerator {
  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  package mutating func oneOf<T>(_ values: [T]) -> T { values[below(values.count)] }

  /// Returns `true` once in `count` calls on average.
  package mutating func isOnce(in count: Int) -> Bool { below(count) == 0 }
}
