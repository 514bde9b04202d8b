/// The order of a list that two sides changed: insertions of both sides survive, and a move is a move.
///
/// Elements that no side moved stand as in the base; what a side inserted or moved follows the element that it follows
/// there. Where both sides put elements in one place, the server's come first, and what both moved stands where
/// the server put it.
struct ListOrder {
  /// Elements by numbers that stand for their identities, each once.
  let base: [Int]
  let local: [Int]
  let server: [Int]

  /// The elements of the result, which are among those of both sides, in their order.
  ///
  /// - Complexity: O(n log n).
  func merged(_ surviving: Set<Int>) -> [Int] {
    let own = Set(local), other = Set(server)
    let common = base.filter { own.contains($0) && other.contains($0) && surviving.contains($0) }
    let resting = Self.unmoved(common, in: local).intersection(Self.unmoved(common, in: server))
    let movedHere = Set(common).subtracting(Self.unmoved(common, in: local))
    let movedThere = Set(common).subtracting(Self.unmoved(common, in: server))
    let old = Set(base)
    var ownRuns: [Int: [Int]] = [:], otherRuns: [Int: [Int]] = [:]
    func collect(_ list: [Int], _ runs: inout [Int: [Int]], where isPlacedHere: (Int) -> Bool) {
      var anchor = Self.start
      for element in list where surviving.contains(element) {
        if resting.contains(element) {
          anchor = element
        } else if isPlacedHere(element) {
          runs[anchor, default: []].append(element)
        }
      }
    }
    collect(server, &otherRuns) { !own.contains($0) || !old.contains($0) || movedThere.contains($0) }
    collect(local, &ownRuns) {
      !other.contains($0) || (old.contains($0) && movedHere.contains($0) && !movedThere.contains($0))
    }
    var result: [Int] = []
    for element in [Self.start] + common where element == Self.start || resting.contains(element) {
      if element != Self.start { result.append(element) }
      result += otherRuns[element] ?? []
      result += ownRuns[element] ?? []
    }
    return result
  }

  /// The order without a base: the server's, with what only this side has after what it follows here.
  func following(_ surviving: Set<Int>) -> [Int] {
    let other = Set(server)
    var runs: [Int: [Int]] = [:]
    var anchor = Self.start
    for element in local where surviving.contains(element) {
      if other.contains(element) { anchor = element } else { runs[anchor, default: []].append(element) }
    }
    var result = runs[Self.start] ?? []
    for element in server where surviving.contains(element) {
      result.append(element)
      result += runs[element] ?? []
    }
    return result
  }

  private static let start = -1

  /// The most elements that stand in a list as they stood before: a longest increasing subsequence.
  private static func unmoved(_ before: [Int], in list: [Int]) -> Set<Int> {
    let places = Dictionary(uniqueKeysWithValues: before.enumerated().map { ($1, $0) })
    let sequence = list.filter { places[$0] != nil }
    // The last element of the best sequence of each length, and what precedes each element in the best one.
    var ends: [Int] = []
    var previous: [Int: Int] = [:]
    for element in sequence {
      let place = places[element] ?? 0
      var low = 0, high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if (places[ends[middle]] ?? 0) < place { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[element] = ends[low - 1] }
      if low == ends.count { ends.append(element) } else { ends[low] = element }
    }
    var result = Set<Int>()
    var next = ends.last
    while let element = next {
      result.insert(element)
      next = previous[element]
    }
    return result
  }
}
