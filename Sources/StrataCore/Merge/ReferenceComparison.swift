import Foundation

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

extension Value {
  /// The value with another one in place of each reference.
  func mapReferences(_ replacement: (Int) throws -> Value) rethrows -> Value {
    switch self {
    case .reference(let number): return try replacement(number)
    case .array(let elements): return .array(try elements.map { try $0.mapReferences(replacement) })
    case .set(let elements): return .set(try elements.map { try $0.mapReferences(replacement) })
    case .object(let object):
      return .object(
        Object(
          uniqueEntries: try object.entries.map {
            .init(key: $0.key, value: try $0.value.mapReferences(replacement))
          }))
    case .map(let entries):
      return .map(
        try entries.map {
          .init(key: try $0.key.mapReferences(replacement), value: try $0.value.mapReferences(replacement))
        })
    case .record(let record):
      return .record(
        Record(shape: record.shape, values: try record.values.map { try $0.mapReferences(replacement) }))
    default: return self
    }
  }
}

extension Value {
  /// Whether this is the number that is not equal to itself.
  var isNaN: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .float(let value): value.isNaN
    case .decimal(let value): value.isNaN
    default: false
    }
  }
}

extension ValueMerger {
  /// What stands at a path of a record; `nil` where nothing does.
  func value(at path: MergePath, in record: Record) throws -> Value? {
    var current: Value? = .record(record)
    for component in path.components {
      guard let value = try current.map(opened) else { return nil }
      switch (component, value) {
      case (.key(let key), _): current = value[key]
      case (.value(let key), .map(let entries)): current = entries.first { $0.key == key }?.value
      case (.index(let place), .array(let elements)):
        current = elements.indices.contains(place) ? elements[place] : nil
      case (.element(let key, let id), .array(let elements)): current = try elements.first { try opened($0)[key] == id }
      case (.value(let content), .array(let elements)): current = try elements.first { try opened($0) == content }
      default: current = nil
      }
    }
    return current
  }
}
