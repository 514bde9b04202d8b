internal import StrataCore

extension ObjectGraph {
  /// Returns the error with the path of the object that caused it. This path is the shortest path from the root to the
  /// object, or the last 256 components of that path if it is longer.
  func located(_ error: any Error, at number: Int) -> ArchiveError {
    var steps = [(value: root, origin: -1, component: ArchiveError.PathComponent?.none)]
    var seen = Set<Int>()
    var next = 0
    while next < steps.count {
      var value = steps[next].value
      if case .reference(let found) = value {
        if found == number { break }
        value = objects.indices.contains(found) && seen.insert(found).inserted ? objects[found] : .null
      }
      value.forEachStep { if $0.hasReferences { steps.append(($0, next, $1)) } }
      next += 1
    }
    var located = ArchiveError.wrap(error)
    for _ in 0..<256 where steps.indices.contains(next) {
      if let component = steps[next].component { located = located.prefixed(by: component) }
      next = steps[next].origin
    }
    return located
  }
}
