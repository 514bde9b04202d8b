internal import StrataCore

/// Counts records by type and version.
struct TypeCensus {
  private var places: [String: Int] = [:]
  private(set) var types: [(mark: String, type: String, version: Int?, count: Int)] = []

  mutating func add(_ value: Value) {
    switch value {
    case .record(let record):
      let mark = record.shape.mark
      if let place = places[mark] {
        types[place].count += 1
      } else {
        places[mark] = types.count
        types.append((mark, record.typeName, record.modelVersion, 1))
      }
      for value in record.values { add(value) }
    case .object(let object):
      for entry in object.entries { add(entry.value) }
    case .array(let elements), .set(let elements):
      for element in elements { add(element) }
    case .map(let entries):
      for entry in entries {
        add(entry.key)
        add(entry.value)
      }
    case .graph(let graph):
      for object in graph.objects { add(object) }
      add(graph.root)
    default: break
    }
  }
}
