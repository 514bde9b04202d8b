/// The highest identifier found in a damaged store, and a safe last identifier from which to continue.
struct HighestIdentifier {
  /// The identifiers that are skipped if the last given one is unknown: more than any store has had saves, and few enough that
  /// identifiers stay exact in JSON.
  static let margin: Int64 = 1_000_000_000_000
  /// The highest plausible identifier. Anything above it is damaged.
  private static let most = Int64.max / 4

  private var highest: Int64 = 0

  mutating func note(_ number: Int64?) {
    if let number, number <= Self.most { highest = max(highest, number) }
  }

  /// The identifier after which new ones are given, and whether it is really the last given one.
  ///
  /// - Parameter recorded: the last given identifier according to the store; `nil` if it cannot be read. If it is lower than an
  ///   identifier found, it is damaged.
  func last(recorded: Int64?) -> (Int64, isKnown: Bool) {
    if let recorded, recorded >= highest, recorded <= Self.most { return (recorded, true) }
    return (highest + Self.margin, false)
  }
}
