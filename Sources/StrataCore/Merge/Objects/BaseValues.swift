/// The values that the objects of one entity have in the base. A document can describe the same object several times, for example once for
/// each list element that refers to it, and each description can have other values and other keys.
struct BaseValues {
  /// The first description of the object; `nil` if the base lacks the object.
  let first: ModelRecord?
  private let matching: ObjectMatching
  /// The number of descriptions that differ from the first one. Of these, `counts` has the number that contain each key, and `values` has
  /// their values for it, with references replaced by entity numbers.
  private var others = 0
  private var counts: [ExactKey: Int] = [:]
  private var values: [ExactKey: Set<ArchiveValue>] = [:]

  /// - Complexity: linear in the size of the descriptions.
  init(_ numbers: [Int], _ graph: MergeGraph, _ matching: ObjectMatching) throws {
    self.matching = matching
    first = try numbers.first.map { try graph.record($0) }
    for number in numbers.dropFirst() {
      let other = try graph.record(number)
      if let first, matching.areSame(.record(first), .record(other)) { continue }
      others += 1
      for (key, value) in zip(other.keys, other.values) {
        counts[ExactKey(key), default: 0] += 1
        values[ExactKey(key), default: []].insert(value.canonical(matching.canonical))
      }
    }
  }

  /// Whether two descriptions of the object differ.
  var differ: Bool { others > 0 }

  /// Whether a description has the key.
  func hasKey(_ key: String) -> Bool { first?[key] != nil || counts[ExactKey(key)] != nil }

  /// Whether a description has the value under the key.
  func contains(_ value: ArchiveValue, _ key: String) -> Bool {
    if let known = first?[key], matching.areSame(known, value) { return true }
    return values[ExactKey(key)]?.contains(value.canonical(matching.canonical)) ?? false
  }

  /// Whether an object that was created from one of the descriptions can have the value. If a description lacks the key, the object got the
  /// default.
  func explains(_ value: ArchiveValue, _ key: String, _ schema: ModelSchema) -> Bool {
    if contains(value, key) { return true }
    let isAlwaysPresent = first?[key] != nil && counts[ExactKey(key), default: 0] == others
    guard !isAlwaysPresent, let field = schema.mergeTraits.fields[ExactKey(key)] else { return false }
    // Errors are ignored: if the default cannot be created, no object has it as its value. A default that changes cannot be compared, so
    // any value is accepted.
    return (try? field.absentValue()).map { matching.areSame($0, value) } ?? false || field.hasChangingDefault
  }
}
