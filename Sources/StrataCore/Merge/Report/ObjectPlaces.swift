/// The paths of the objects of a graph. Each is stored as the steps from the object before it, because the full paths
/// of a long list of linked objects are as long as the list.
final class ObjectPlaces: Sendable {
  private struct Place {
    /// The object before it, and the steps from there.
    let owner: Int
    let steps: [MergePath.Component]
    let count: Int
    let first: MergePath.Component?
    let fingerprint: Int
  }

  private let places: [Int: Place]

  /// - Parameter ways: for each object, its owner, which comes earlier, and the steps from there. A root has no owner.
  init(_ ways: [ValueMerger.Way]) {
    var places: [Int: Place] = [:]
    for way in ways where places[way.object] == nil {
      let owner = way.owner.flatMap { places[$0] }
      places[way.object] = Place(
        owner: way.owner ?? -1, steps: way.steps, count: (owner?.count ?? 0) + way.steps.count,
        first: owner?.first ?? way.steps.first,
        fingerprint: way.steps.reduce(owner?.fingerprint ?? 0, MergePath.fingerprint))
    }
    self.places = places
  }

  /// The number of steps to an object; 0 if no path to it is known.
  func count(of object: Int) -> Int { places[object]?.count ?? 0 }

  func fingerprint(of object: Int) -> Int { places[object]?.fingerprint ?? 0 }

  func firstStep(to object: Int) -> MergePath.Component? { places[object]?.first }

  func components(to object: Int) -> [MergePath.Component] {
    var steps: [[MergePath.Component]] = []
    var next = object
    while let place = places[next] {
      steps.append(place.steps)
      next = place.owner
    }
    return steps.reversed().flatMap(\.self)
  }
}
