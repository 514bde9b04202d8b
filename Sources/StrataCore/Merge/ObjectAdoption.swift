/// Objects of the server's that come into the local graph: where they refer to an object that a local one stands for,
/// copies of them come in that refer to the local one.
struct ObjectAdoption {
  private let neighbours: ObjectNeighbours
  /// The local objects by those that they stand for.
  private let matches: [Int: Int]

  init(_ neighbours: ObjectNeighbours, _ matches: [Int: Int]) {
    self.neighbours = neighbours
    self.matches = matches
  }

  /// Replaces references in what was merged.
  func run(
    _ adopted: Set<Int>, _ values: inout Record, _ updates: inout [(number: Int, record: Record)]
  ) throws {
    guard !adopted.isEmpty else { return }
    let reached = try records(from: adopted)
    let copied = copied(reached)
    guard !copied.isEmpty else { return }
    // Copies refer to the originals first, since those exist, and get their own neighbours when all copies do.
    var copies: [Int: Int] = [:]
    for number in copied { copies[number] = try copy(number, reached) }
    let local = Set(matches.values)
    func renamed(_ value: Value) -> Value {
      value.mapReferences { .reference(copies[$0] ?? (local.contains($0) ? $0 : matches[$0] ?? $0)) }
    }
    for number in copied {
      guard let copy = copies[number], let record = reached[number] else { continue }
      updates.append((copy, Record(shape: record.shape, values: record.values.map(renamed))))
    }
    values.values = values.values.map(renamed)
    for place in updates.indices {
      updates[place].record.values = updates[place].record.values.map(renamed)
    }
  }

  /// The fields of the objects that one can come to, by number; the way ends where a local object stands for one.
  private func records(from adopted: Set<Int>) throws -> [Int: Record] {
    var found: [Int: Record] = [:]
    var rest = adopted.sorted()
    while let number = rest.popLast() {
      guard found[number] == nil, matches[number] == nil else { continue }
      let record = try neighbours.objects[number].shallowRecord(neighbours)
      found[number] = record
      for value in record.values {
        _ = value.mapReferences {
          rest.append($0); return .null
        }
      }
    }
    return found
  }

  /// The objects that refer to one for which a local object stands, or to one that is copied.
  private func copied(_ records: [Int: Record]) -> [Int] {
    var references: [Int: Set<Int>] = [:]
    for (number, record) in records {
      for value in record.values {
        _ = value.mapReferences {
          references[$0, default: []].insert(number); return .null
        }
      }
    }
    var result = Set<Int>()
    var rest = matches.keys.filter { references[$0] != nil && matches[$0] != $0 }
    while let number = rest.popLast() {
      for origin in references[number] ?? [] where result.insert(origin).inserted { rest.append(origin) }
    }
    return result.sorted()
  }

  private func copy(_ number: Int, _ records: [Int: Record]) throws -> Int {
    func copy<M: Model>(_ object: M) throws -> Int {
      let context = DecodingContext(source: .merge, includesExcluded: true, finishesModels: false)
      return neighbours.number(
        of: try M.make(ofShallow: object.shallowRecord(neighbours), neighbours, in: context))
    }
    return try copy(neighbours.objects[number].dynamicModel)
  }
}
