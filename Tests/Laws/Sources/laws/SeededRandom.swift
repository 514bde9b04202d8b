/// Random numbers that are always the same for one seed, so that a failure can be repeated.
///
/// The algorithm does not change: rounds that a script has run are named by their seeds.
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

/// For a generator of values, too, which takes its numbers from a ``SeededRandom``.
extension RandomNumberGenerator {
  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  package mutating func oneOf<T>(_ values: [T]) -> T { values[below(values.count)] }

  /// Whether something happens that happens once in `count` times.
  package mutating func isOnce(in count: Int) -> Bool { below(count) == 0 }
}
