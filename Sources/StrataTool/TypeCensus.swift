internal import StrataCore

/// Counts records by type and version.
struct TypeCensus {
  private var places: [String: Int] = [:]
  private(set) var types: [(mark: String, type: String, version: Int?, count: Int)] = []

  mutating func add(_ value: ArchiveValue) {
    if case .record(let record) = value {
      let mark = record.shape.mark
      if let place = places[mark] {
        types[place].count += 1
      } else {
        places[mark] = types.count
        types.append((mark, record.typeName, record.modelVersion, 1))
      }
    }
    value.forEachInside { add($0) }
  }
}
