/// The record shapes in a body and their numbers, assigned in the order in which the definitions are written.
///
/// Equal shapes have the same number. The first shape is stored outside the dictionary, because most bodies have only
/// one shape.
struct ShapeNumbers {
  private var first: RecordShape?
  private var others: [RecordShape: Int] = [:]

  var isEmpty: Bool { first == nil }
  var count: Int { first == nil ? 0 : others.count + 1 }

  /// All shapes with their numbers, in no particular order.
  var all: [(number: Int, shape: RecordShape)] {
    (first.map { [(0, $0)] } ?? []) + others.map { ($0.value, $0.key) }
  }

  subscript(shape: RecordShape) -> Int? {
    guard let first else { return nil }
    return first == shape ? 0 : others.isEmpty ? nil : others[shape]
  }

  /// Assigns the next number to a new shape and returns the number.
  mutating func add(_ shape: RecordShape) -> Int {
    let number = count
    if number == 0 { first = shape } else { others[shape] = number }
    return number
  }

  mutating func removeAll() {
    first = nil
    if !others.isEmpty { others.removeAll(keepingCapacity: true) }
  }
}
