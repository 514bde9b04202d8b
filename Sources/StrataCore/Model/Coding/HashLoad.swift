/// Counts the comparisons that a set or dictionary makes whose elements hash alike.
///
/// How a type hashes is its own, and some hash little of what tells their values apart, as Foundation's data does. What
/// an attacker makes of that ends with an error, long before it ends by itself.
struct HashLoad<T: Hashable> {
  /// So many may all hash alike: they cost as much as a larger collection would.
  private static var smallest: Int { 64 }

  private let budget: WorkBudget
  private let isHashedWhole: Bool
  private var hashes: [Int] = []
  private var nextCheck = Self.smallest
  private var counted = 0
  /// How many steps comparing two of the elements takes at most.
  private var weight = 1

  init(_ budget: WorkBudget) {
    self.budget = budget
    isHashedWhole = T.self == String.self || T.self is any FixedWidthInteger.Type
  }

  /// Counts an element that is about to be added.
  ///
  /// - Parameter value: what the element was made of.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` where there are no steps left.
  mutating func add(_ element: T, _ value: ArchiveValue) throws {
    if isHashedWhole { return }
    try add(element, weight: value.weight, comparison: value.comparison)
  }

  /// - Parameters:
  ///   - weight: how many steps it takes to look at all of the element.
  ///   - comparison: how many more it takes to compare it.
  mutating func add(_ element: T, weight: @autoclosure () -> Int, comparison: @autoclosure () -> Int = 0) throws {
    if isHashedWhole { return }
    let own = weight()
    // Where sets stand in sets, all that is inside is hashed at each level.
    try budget.spend(steps: own)
    self.weight = max(self.weight, own + comparison())
    hashes.append(element.hashValue)
    guard hashes.count == nextCheck else { return }
    nextCheck *= 2
    // What is sorted may be sorted again: the next check comes when there are twice as many.
    hashes.sort()
    var pairs = 0
    var start = 0
    for place in 1...hashes.count where place == hashes.count || hashes[place] != hashes[start] {
      let (count, other) = (place - start, place - start - 1)
      pairs += count * other / 2
      start = place
    }
    // Four times as many are made before the next check.
    let (steps, overflows) = (4 * (pairs - counted)).multipliedReportingOverflow(by: self.weight)
    try budget.spend(steps: overflows ? .max / 2 : steps)
    counted = pairs
  }
}

extension ArchiveValue {
  /// How many steps it takes to look at all of the value: values inside, and words of 16 bytes of text and data.
  fileprivate var weight: Int {
    switch self {
    case .string(let text): return 1 + text.utf8.count / 16
    case .data(let data): return 1 + data.count / 16
    case .array, .set, .object, .map, .record, .graph:
      var weight = 1
      forEachInside { weight += $0.weight }
      return weight
    default: return 1
    }
  }

  /// How many steps more it takes to compare the value than to look at it: Foundation compares decimals and URLs slowly.
  fileprivate var comparison: Int {
    switch self {
    case .decimal, .url: return 16
    case .array, .set, .object, .map, .record, .graph:
      var steps = 0
      forEachInside { steps += $0.comparison }
      return steps
    default: return 0
    }
  }
}
