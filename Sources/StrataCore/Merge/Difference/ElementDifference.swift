/// What was taken out of a list and put in: the places in the old list and in the new one.
struct ElementDifference {
  private(set) var removed: [Int] = []
  private(set) var added: [Int] = []

  /// The elements that differ for which the fewest changes are looked for.
  private static let exactLimit = 4000

  /// - Returns: `nil` where of more than 4,000 elements that differ most are others: the list is another one.
  /// - Complexity: linear in what both lists have in front and at their ends. What lies between takes the product of
  ///   its length and the number of its differences up to 4,000 elements, and n log n beyond; what stays there is then
  ///   a longest run of equal elements in the same order, each with that of its equals with the same number.
  init?(_ old: [ArchiveValue], _ new: [ArchiveValue]) {
    let ends = CommonEnds(old, new) { $0.isSame(as: $1) }
    let start = ends.start
    var numbers: [SameValue: Int] = [:]
    func numbered(_ elements: ArraySlice<ArchiveValue>) -> [Int] {
      elements.map { element in
        let key = SameValue(element)
        if let number = numbers[key] { return number }
        numbers[key] = numbers.count
        return numbers.count - 1
      }
    }
    let olds = numbered(old[ends.old]), news = numbered(new[ends.new])
    if olds.isEmpty || news.isEmpty {
      removed = olds.indices.map { start + $0 }
      added = news.indices.map { start + $0 }
    } else if olds.count + news.count <= Self.exactLimit {
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

  /// The places of elements that both lists have in one order.
  private static func kept(_ olds: [Int], _ news: [Int]) -> (olds: [Int], news: [Int]) {
    var places: [Int: [Int]] = [:]
    for (place, number) in olds.enumerated().reversed() { places[number, default: []].append(place) }
    let pairs = news.enumerated().compactMap { place, number in
      places[number]?.popLast().map { (old: $0, new: place) }
    }
    let kept = IncreasingSubsequence.indices(in: pairs.map(\.old)).map { pairs[$0] }
    return (kept.map(\.old), kept.map(\.new))
  }

  /// The places of a list that are not among some, which are given in their order.
  private static func others(than places: [Int], _ count: Int) -> [Int] {
    var rest = places[...]
    return (0..<count).filter { place in
      guard rest.first == place else { return true }
      rest.removeFirst()
      return false
    }
  }
}
