internal import StrataCore

/// Numbers the objects of a graph in the order in which a printed document shows them.
///
/// A document shows an object in full at the first reference to the object. The traversal is iterative, so a long
/// linked list of objects does not overflow the call stack.
struct GraphOrder {
  let objects: [ArchiveValue]
  let top: [(key: String, value: ArchiveValue)]
  /// The number of each object in the document, or `nil` if the object is unreachable.
  private(set) var numbers: [Int?]
  /// The indices of malformed objects in `objects`.
  let malformed: Set<Int>

  init(_ objects: [ArchiveValue], from top: [(key: String, value: ArchiveValue)], malformed: Set<Int> = []) {
    self.malformed = malformed
    self.objects = objects
    self.top = top
    numbers = Array(repeating: nil, count: objects.count)
    guard !objects.isEmpty else { return }
    var next = 0
    var open: [(parts: [ArchiveValue], place: Int)] = [(top.map(\.value), 0)]
    while let last = open.indices.last {
      guard open[last].place < open[last].parts.count else {
        open.removeLast()
        continue
      }
      var value = open[last].parts[open[last].place]
      open[last].place += 1
      if case .reference(let number) = value {
        guard objects.indices.contains(number), numbers[number] == nil else { continue }
        numbers[number] = next
        next += 1
        value = objects[number]
      }
      let parts = value.parts
      if !parts.isEmpty { open.append((parts, 0)) }
    }
  }

  func number(of reference: Int) -> Int? { numbers.indices.contains(reference) ? numbers[reference] : nil }
}

extension ArchiveValue {
  /// The values directly inside this value, in order.
  fileprivate var parts: [ArchiveValue] {
    var parts: [ArchiveValue] = []
    forEachInside { parts.append($0) }
    return parts
  }
}
