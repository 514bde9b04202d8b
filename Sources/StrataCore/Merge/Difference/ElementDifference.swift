/// The difference between two lists: the indices of removed elements in the old list, and of added elements in the new list.
struct ElementDifference {
  private(set) var removed: [Int] = []
  private(set) var added: [Int] = []
  /// Whether the two lists together have more than 4,000 elements between their common prefix and suffix.
  let isLarge: Bool

  /// If both lists together have more elements than this between their common prefix and suffix, the smallest difference is not computed.
  private static let exactLimit = 4000

  /// Computes the difference between two lists.
  ///
  /// - Returns: `nil` if the lists differ too much: more than 4,000 elements are between the common prefix and suffix, and less than half
  ///   of them are kept.
  /// - Complexity: linear in the length of the common prefix and suffix. Up to 4,000 elements between them take time proportional to their
  ///   number times the number of differences, and more elements take n log n. In the latter case, the elements kept are a longest common
  ///   subsequence in which the nth occurrence of an element is matched only with its nth occurrence in the other list.
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

  /// Returns the indices, in each list, of the elements that both lists contain in the same order.
  private static func kept(_ olds: [Int], _ news: [Int]) -> (olds: [Int], news: [Int]) {
    var places: [Int: [Int]] = [:]
    for (place, number) in olds.enumerated().reversed() { places[number, default: []].append(place) }
    let pairs = news.enumerated().compactMap { place, number in
      places[number]?.popLast().map { (old: $0, new: place) }
    }
    let kept = IncreasingSubsequence.indices(in: pairs.map(\.old)).map { pairs[$0] }
    return (kept.map(\.old), kept.map(\.new))
  }

  /// Returns the indices below `count` that `places` does not contain.
  private static func others(than places: [Int], _ count: Int) -> [Int] {
    let kept = Set(places)
    return (0..<count).filter { !kept.contains($0) }
  }
}
