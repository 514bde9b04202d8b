/// Chooses the requests that fail. The same seed always chooses the same requests.
struct ServeFaults: Sendable {
  /// The share of requests that fail, from 0 to 1.
  let share: Double
  private var random: Generator

  init(share: Double, seed: UInt64) {
    self.share = share
    random = Generator(state: seed)
  }

  /// Whether the next request fails.
  mutating func next() -> Bool { share > 0 && Double.random(in: 0..<1, using: &random) < share }

  /// SplitMix64 (Steele et al., 2014).
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var bits = state
      bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
      return bits ^ (bits >> 31)
    }
  }
}
