/// The paths of the objects of a graph. Each is stored as the components from the object before it, because the full
/// paths of a long list of linked objects are as long as the list.
final class PathTable: Sendable {
  /// A reference: the object, the owner that holds the reference, and the components from the owner to it.
  struct Way: Hashable {
    let object: Int
    let owner: Int?
    let steps: [ValuePath.Component]
  }

  private struct Place {
    let way: Way
    let first: ValuePath.Component?
    let fingerprint: Int
  }

  private let places: [Int: Place]

  /// - Parameter ways: for each object, its owner, which comes earlier, and the components from there. A root has no
  ///   owner.
  init(_ ways: [Way]) {
    var places: [Int: Place] = [:]
    for way in ways where places[way.object] == nil {
      let owner = way.owner.flatMap { places[$0] }
      places[way.object] = Place(
        way: way, first: owner?.first ?? way.steps.first,
        fingerprint: way.steps.reduce(owner?.fingerprint ?? 0, ValuePath.fingerprint))
    }
    self.places = places
  }

  func fingerprint(of object: Int) -> Int { places[object]?.fingerprint ?? 0 }

  func first(to object: Int) -> ValuePath.Component? { places[object]?.first }

  func components(to object: Int) -> [ValuePath.Component] {
    var steps: [[ValuePath.Component]] = []
    var next: Int? = object
    while let place = next.flatMap({ places[$0] }) {
      steps.append(place.way.steps)
      next = place.way.owner
    }
    return steps.reversed().flatMap(\.self)
  }
}
