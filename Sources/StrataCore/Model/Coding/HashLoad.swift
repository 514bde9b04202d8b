/// Limits the number of comparisons caused by equal hashes when a set or dictionary is decoded.
///
/// Some types, such as Foundation's `Data`, hash only a part of their value. An attacker could create many elements
/// with equal hashes, all of which a set would have to compare with each other. Decoding then throws an error long
/// before the comparisons would finish.
struct HashLoad<T: Hashable> {
  /// The largest number of elements for which hashes are not checked. Even if all hashes are equal, comparing so few elements costs no more
  /// than reading a larger collection.
  private static var smallest: Int { 64 }

  private let budget: WorkBudget
  private let isHashedWhole: Bool
  private var hashes: [Int] = []
  private var nextCheck = Self.smallest
  private var counted = 0
  /// The number of steps needed to compare two elements: the maximum over all elements so far.
  private var weight = 1

  init(_ budget: WorkBudget) {
    self.budget = budget
    isHashedWhole = T.self == String.self || T.self is any FixedWidthInteger.Type
  }

  /// Counts an element that is about to be added to the set or dictionary.
  ///
  /// - Parameter value: the archive value from which the element was decoded.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the comparisons of the elements would take more steps
  ///   than the budget allows.
  mutating func add(_ element: T, _ value: ArchiveValue) throws {
    if isHashedWhole { return }
    try add(element, weight: value.weight, comparison: value.comparison)
  }

  /// Counts an element that is about to be added to the set or dictionary.
  ///
  /// - Parameters:
  ///   - weight: the number of steps needed to read the whole element.
  ///   - comparison: the number of additional steps needed to compare the element.
  mutating func add(_ element: T, weight: @autoclosure () -> Int, comparison: @autoclosure () -> Int = 0) throws {
    if isHashedWhole { return }
    let own = weight()
    // Adding the element hashes its content, and in nested sets, each level hashes the content again. The cost is
    // therefore charged for each call.
    try budget.spend(steps: own)
    self.weight = max(self.weight, own + comparison())
    hashes.append(element.hashValue)
    guard hashes.count == nextCheck else { return }
    nextCheck *= 2
    // Equal hashes are found by sorting. Sorting all hashes again is cheap, because the next check happens only after the number of
    // elements has doubled.
    hashes.sort()
    var pairs = 0
    var start = 0
    for place in 1...hashes.count where place == hashes.count || hashes[place] != hashes[start] {
      let (count, other) = (place - start, place - start - 1)
      pairs += count * other / 2
      start = place
    }
    // The number of elements can double before the next check, so the number of pairs with equal hashes can quadruple. The steps are
    // therefore multiplied by four.
    let (steps, overflows) = (4 * (pairs - counted)).multipliedReportingOverflow(by: self.weight)
    try budget.spend(steps: overflows ? .max / 2 : steps)
    counted = pairs
  }
}

extension ArchiveValue {
  /// The number of steps needed to read the whole value: one per nested value, and one per 16 bytes of text or data.
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

  /// The number of additional steps needed to compare the value. Only decimals and URLs need such steps, because
  /// Foundation compares them slowly.
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
