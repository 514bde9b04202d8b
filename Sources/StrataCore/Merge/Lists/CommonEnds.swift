/// The common prefix and the common suffix of two lists. Only the elements between prefix and suffix need to be compared.
struct CommonEnds {
  private(set) var start = 0
  private(set) var end = 0
  /// The indices of the elements between the common prefix and the common suffix, in the old list and in the new one.
  let old: Range<Int>
  let new: Range<Int>

  init<Element>(_ old: [Element], _ new: [Element], _ areSame: (Element, Element) -> Bool) {
    let shorter = min(old.count, new.count)
    while start < shorter, areSame(old[start], new[start]) { start += 1 }
    while end < shorter - start, areSame(old[old.count - 1 - end], new[new.count - 1 - end]) { end += 1 }
    (self.old, self.new) = (start..<old.count - end, start..<new.count - end)
  }
}

/// Finds a longest increasing subsequence.
enum IncreasingSubsequence {
  /// - Returns: the subsequence, given by the indices of its elements in `numbers`.
  /// - Complexity: O(n log n).
  static func indices(in numbers: [Int]) -> [Int] {
    // `ends[n]` is the index of the smallest number that ends an increasing subsequence of n + 1 elements. `previous[i]` is the index of
    // the element before element i in its subsequence.
    var ends: [Int] = []
    var previous = [Int?](repeating: nil, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      var low = 0, high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      if low > 0 { previous[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    return sequence(state: ends.last) { (next: inout Int?) -> Int? in
      guard let index = next else { return nil }
      next = previous[index]
      return index
    }.reversed()
  }
}
