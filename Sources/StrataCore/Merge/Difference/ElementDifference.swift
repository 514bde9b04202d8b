/// The elements that were removed from a list and added to it, as indices of the old list and of the new one.
struct ElementDifference {
  private(set) var removed: [Int] = []
  private(set) var added: [Int] = []
  /// Whether more than 4,000 elements are between the common ends.
  let isLarge: Bool

  /// The maximum number of differing elements for which the smallest difference is computed.
  private static let exactLimit = 4000

  /// - Returns: `nil` if more than 4,000 elements are between the common ends and less than half of them are kept, so
  ///   that the list counts as another one.
  /// - Complexity: linear in the common prefix and suffix. The elements between them take the product of their number
  ///   and the number of differences up to 4,000 elements, and n log n beyond. The elements kept are then a longest run
  ///   of equal elements in the same order, in which the nth of several equal elements is matched with the nth.
  init?<Element: Hashable>(_ old: [Element], _ new: [Element]) {
    let ends = CommonEnds(old, new, ==)
    let start = ends.start
    var numbers: [Element: Int] = [:]
    func numbered(_ elements: ArraySlice<Element>) -> [Int] {
      elements.map { element in
        if let number = numbers[element] { return number }
        numbers[element] = numbers.count
        return numbers.count - 1
      }
    }
    let olds = numbered(old[ends.old]), news = numbered(new[ends.new])
    isLarge = olds.count + news.count > Self.exactLimit
    if olds.isEmpty || news.isEmpty {
      removed = olds.indices.map { start + $0 }
      added = news.indices.map { start + $0 }
    } else if !isLarge {
      let difference = news.difference(from: olds)
      for case .remove(let place, _, _) in difference.removals { removed.append(start + place) }
      for case .insert(let place, _, _) in difference.insertions { added.append(start + place) }
    } else {
      let kept = Self.kept(olds, news)
      guard kept.olds.count >= (olds.count + news.count) / 4 else { return nil }
      removed = Self.others(than: kept.olds, olds.count).map { start + $0 }
      added = Self.others(than: kept.news, news.count).map { start + $0 }
    }
  }

  /// The indices of the elements that both lists have in the same order.
  private static func kept(_ olds: [Int], _ news: [Int]) -> (olds: [Int], news: [Int]) {
    var places: [Int: [Int]] = [:]
    for (place, number) in olds.enumerated().reversed() { places[number, default: []].append(place) }
    let pairs = news.enumerated().compactMap { place, number in
      places[number]?.popLast().map { (old: $0, new: place) }
    }
    let kept = IncreasingSubsequence.indices(in: pairs.map(\.old)).map { pairs[$0] }
    return (kept.map(\.old), kept.map(\.new))
  }

  /// The indices of a list that are not among `places`.
  private static func others(than places: [Int], _ count: Int) -> [Int] {
    let kept = Set(places)
    return (0..<count).filter { !kept.contains($0) }
  }
}
