/// Tracks the highest revision identifier found in a damaged store. New revisions must get higher identifiers, so that no
/// identifier is used twice.
struct HighestIdentifier {
  /// The number of identifiers to skip if the last assigned identifier is unknown. The margin is greater than the number of saves
  /// in any real store. It keeps the identifiers small enough that JSON readers can represent them exactly as `Double`.
  static let margin: Int64 = 1_000_000_000_000
  /// The highest plausible identifier. A higher value in the store is treated as damage.
  private static let most = Int64.max / 4

  private var highest: Int64 = 0

  mutating func note(_ number: Int64?) {
    if let number, number <= Self.most { highest = max(highest, number) }
  }

  /// Returns the identifier after which new revisions are numbered. `isKnown` is true if this is the last assigned identifier
  /// according to the store, and false if it is a safe estimate.
  ///
  /// - Parameter recorded: the last assigned identifier according to the store, or `nil` if it cannot be read. A value lower than
  ///   the highest identifier found is treated as damaged.
  func last(recorded: Int64?) -> (Int64, isKnown: Bool) {
    if let recorded, recorded >= highest, recorded <= Self.most { return (recorded, true) }
    return (highest + Self.margin, false)
  }
}
