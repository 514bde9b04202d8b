/// The highest of the numbers that a damaged store names, and what numbers may have been given beyond it.
struct GivenNumbers {
  /// Above what is left out where the last number is not known: more saves than any store has seen, and few enough that numbers
  /// stay exact in JSON.
  static let margin: Int64 = 1_000_000_000_000
  /// No number above this was given; what says so is damaged.
  private static let most = Int64.max / 4

  private var highest: Int64 = 0

  mutating func note(_ number: Int64?) {
    if let number, number <= Self.most { highest = max(highest, number) }
  }

  /// The number after which the next ones are given, and whether it is the one that was given last.
  ///
  /// - Parameter told: what the store says was given last; `nil` where it cannot be read. Lower than what it has given, it is
  ///   damaged itself.
  func last(told: Int64?) -> (Int64, isKnown: Bool) {
    if let told, told >= highest, told <= Self.most { return (told, true) }
    return (highest + Self.margin, false)
  }
}
