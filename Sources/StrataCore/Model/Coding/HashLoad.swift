/// Counts the comparisons of a set or dictionary whose elements have equal hashes.
///
/// Each type has its own hash function, and some hash only a part of the value, like Foundation's data. An attack on
/// such a function ends with an error, long before it would finish.
struct HashLoad<T: Hashable> {
  /// Up to this number, all elements may have the same hash: they cost as much as a larger collection.
  private static var smallest: Int { 64 }

  private let budget: WorkBudget
  private let isHashedWhole: Bool
  private var hashes: [Int] = []
  private var nextCheck = Self.smallest
  private var counted = 0
  /// The largest number of steps for comparing two of the elements.
  private var weight = 1

  init(_ budget: WorkBudget) {
    self.budget = budget
    isHashedWhole = T.self == String.self || T.self is any FixedWidthInteger.Type
  }

  /// Counts an element that is about to be added.
  ///
  /// - Parameter value: the value from which the element was created.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the budget of steps is used up.
  mutating func add(_ element: T, _ value: ArchiveValue) throws {
    if isHashedWhole { return }
    try add(element, weight: value.weight, comparison: value.comparison)
  }

  /// - Parameters:
  ///   - weight: the number of steps for reading all of the element.
  ///   - comparison: the number of additional steps for comparing it.
  mutating func add(_ element: T, weight: @autoclosure () -> Int, comparison: @autoclosure () -> Int = 0) throws {
    if isHashedWhole { return }
    let own = weight()
    // In nested sets, the content is hashed at each level.
    try budget.spend(steps: own)
    self.weight = max(self.weight, own + comparison())
    hashes.append(element.hashValue)
    guard hashes.count == nextCheck else { return }
    nextCheck *= 2
    // Sorting again is cheap enough: the next check happens at twice the number of elements.
    hashes.sort()
    var pairs = 0
    var start = 0
    for place in 1...hashes.count where place == hashes.count || hashes[place] != hashes[start] {
      let (count, other) = (place - start, place - start - 1)
      pairs += count * other / 2
      start = place
    }
    // Up to four times as many comparisons happen before the next check.
    let (steps, overflows) = (4 * (pairs - counted)).multipliedReportingOverflow(by: self.weight)
    try budget.spend(steps: overflows ? .max / 2 : steps)
    counted = pairs
  }
}

extension ArchiveValue {
  /// The number of steps for reading all of the value: values inside, and words of 16 bytes of text and data.
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

  /// The number of additional steps for comparing the value: Foundation compares decimals and URLs slowly.
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
