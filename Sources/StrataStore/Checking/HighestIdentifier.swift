/// The highest revision identifier found in a damaged store. It determines where the identifiers of new revisions can safely
/// start.
struct HighestIdentifier {
  /// The number of identifiers to skip if the last assigned identifier is unknown. It is greater than the number of saves in any
  /// real store. It is also small enough that JSON readers with double precision represent the identifiers exactly.
  static let margin: Int64 = 1_000_000_000_000
  /// The highest plausible identifier. A higher value in the store is treated as damage.
  private static let most = Int64.max / 4

  private var highest: Int64 = 0

  mutating func note(_ number: Int64?) {
    if let number, number <= Self.most { highest = max(highest, number) }
  }

  /// Returns the identifier after which the identifiers of new revisions start. `isKnown` is true if it is certainly the last
  /// identifier that was assigned.
  ///
  /// - Parameter recorded: the last assigned identifier according to the store, or `nil` if it cannot be read. A value lower than
  ///   the highest identifier found is treated as damaged.
  func last(recorded: Int64?) -> (Int64, isKnown: Bool) {
    if let recorded, recorded >= highest, recorded <= Self.most { return (recorded, true) }
    return (highest + Self.margin, false)
  }
}
