/// Computes a depth-first postorder of numbered nodes: each node follows its successors, except in cycles. Does not use
/// recursion, so that a long chain of nodes does not overflow the call stack.
package struct Postorder {
  private var seen = Set<Int>()

  package static func numbers(from starts: [Int], _ next: (Int) throws -> [Int]) rethrows -> [Int] {
    var order = Postorder()
    return try order.numbers(from: starts, next)
  }

  /// Visits all nodes that are reachable from `starts` and that no earlier call of this method has visited.
  ///
  /// - Parameter next: returns the successors of a node. Called once for each node.
  /// - Returns: the nodes visited by this call, in postorder.
  mutating func numbers(from starts: [Int], _ next: (Int) throws -> [Int]) rethrows -> [Int] {
    var result: [Int] = []
    for start in starts where seen.insert(start).inserted {
      var open = [(number: start, rest: try next(start)[...])]
      while let last = open.indices.last {
        guard let number = open[last].rest.popFirst() else {
          result.append(open.removeLast().number)
          continue
        }
        if seen.insert(number).inserted { open.append((number, try next(number)[...])) }
      }
    }
    return result
  }
}
