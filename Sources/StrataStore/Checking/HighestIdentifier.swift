/// The highest revision identifier found in a damaged store. It determines the identifier after which new identifiers can
/// safely be assigned.
struct HighestIdentifier {
  /// The number of identifiers to skip if the last assigned identifier is unknown. The number exceeds the number of saves in
  /// any real store, but is small enough that identifiers are still exact in JSON.
  static let margin: Int64 = 1_000_000_000_000
  /// The highest plausible identifier. Higher values are treated as damage.
  private static let most = Int64.max / 4

  private var highest: Int64 = 0

  mutating func note(_ number: Int64?) {
    if let number, number <= Self.most { highest = max(highest, number) }
  }

  /// Returns the identifier after which new identifiers are assigned, and whether it is known to be the last assigned
  /// identifier.
  ///
  /// - Parameter recorded: the last assigned identifier according to the store, or `nil` if it cannot be read. A value lower
  ///   than the highest identifier found is treated as damaged.
  func last(recorded: Int64?) -> (Int64, isKnown: Bool) {
    if let recorded, recorded >= highest, recorded <= Self.most { return (recorded, true) }
    return (highest + Self.margin, false)
  }
}
