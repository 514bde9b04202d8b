extension ObjectComparison {
  /// Whether two values are the same where references stand for what they name.
  ///
  /// - Parameter updates: the new fields of objects that a merge has changed already.
  static func areEqual(
    _ left: Value, _ right: Value, in neighbours: ObjectNeighbours, _ updates: [Int: Record]
  ) throws -> Bool {
    var seen = Set<[Int]>()
    var waiting = [(left, right)]
    func record(_ number: Int) throws -> Record {
      try updates[number] ?? neighbours.objects[number].shallowRecord(neighbours)
    }
    while let (left, right) = waiting.popLast() {
      switch (left, right) {
      case (.reference(let one), .reference(let other)):
        guard one != other, seen.insert([one, other]).inserted else { continue }
        waiting.append((.record(try record(one)), .record(try record(other))))
      case (.record(let one), .record(let other)):
        guard one.typeName == other.typeName, one.values.count == other.values.count else { return false }
        for (key, value) in one.fields {
          guard let counterpart = other[key] else { return false }
          waiting.append((value, counterpart))
        }
      case (.array(let one), .array(let other)), (.set(let one), .set(let other)):
        guard one.count == other.count else { return false }
        waiting.append(contentsOf: zip(one, other))
      case (.object(let one), .object(let other)):
        guard one.count == other.count else { return false }
        for entry in one.entries {
          guard let counterpart = other[entry.key] else { return false }
          waiting.append((entry.value, counterpart))
        }
      case (.map(let one), .map(let other)):
        guard one.count == other.count else { return false }
        for (entry, counterpart) in zip(one, other) {
          waiting.append((entry.key, counterpart.key))
          waiting.append((entry.value, counterpart.value))
        }
      default: if left != right { return false }
      }
    }
    return true
  }
}
