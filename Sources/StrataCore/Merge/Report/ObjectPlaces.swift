/// The paths of the objects of a graph, each by the object before it: a long list of linked objects has paths as long
/// as itself, which are made of one step each here.
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

  /// - Parameter ways: the object before each one, which comes earlier, and the steps from there; none of the root.
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

  /// How many steps lead to an object; 0 where none is known.
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
