/// Numbers that lead to others, each after those that it leads to, as far as cycles allow. The stack does not grow with them.
package struct Postorder {
  private var seen = Set<Int>()

  package static func numbers(from starts: [Int], _ next: (Int) throws -> [Int]) rethrows -> [Int] {
    var order = Postorder()
    return try order.numbers(from: starts, next)
  }

  /// - Parameter next: the numbers that one leads to; asked for each once.
  /// - Returns: those that were not returned before.
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
