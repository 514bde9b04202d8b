/// Merges the order of a list that two sides changed. Insertions of both sides are kept, and each element occurs once.
///
/// Elements that neither side moved keep the order of the base. An element that one side inserted or moved follows the nearest preceding
/// element of that side's list that neither side moved. If both sides insert elements at the same position, the server's elements come
/// first. An element that both sides moved gets the server's position.
struct ListOrder {
  /// The elements of the list in order. Each element is represented by a number for its identity, and no number occurs twice in a list.
  let base: [Int]
  let local: [Int]
  let server: [Int]

  /// Returns the merged order of `surviving`, the elements that the merged list contains.
  ///
  /// - Complexity: O(n log n).
  func merged(_ surviving: Set<Int>) -> [Int] {
    let own = Set(local), other = Set(server)
    let common = base.filter { own.contains($0) && other.contains($0) && surviving.contains($0) }
    let here = Self.unmoved(common, in: local), there = Self.unmoved(common, in: server)
    let resting = here.intersection(there)
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
    collect(server, &otherRuns) { !there.contains($0) }
    collect(local, &ownRuns) { !other.contains($0) || there.contains($0) }
    var result: [Int] = []
    for element in [Self.start] + common.filter(resting.contains) {
      if element != Self.start { result.append(element) }
      result += otherRuns[element] ?? []
      result += ownRuns[element] ?? []
    }
    return result
  }

  /// Returns the merged order if the base is not known: the server's elements in their order, and each local-only element after the nearest
  /// local element before it that the server also has.
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

  /// Returns the largest set of elements that keep their relative order in a list, which is a longest increasing subsequence.
  private static func unmoved(_ before: [Int], in list: [Int]) -> Set<Int> {
    let places = Dictionary(uniqueKeysWithValues: before.enumerated().map { ($1, $0) })
    let known = list.compactMap { places[$0] }
    return Set(IncreasingSubsequence.indices(in: known).map { before[known[$0]] })
  }
}
