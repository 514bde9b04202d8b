/// The elements of an array while a patch is applied, stored in pieces. An insertion or a removal therefore moves only a few elements.
struct PatchElements {
  typealias Slot = PatchTree.Slot

  /// The elements of the array in order, divided into non-empty pieces.
  private var pieces: [[Slot]] = []
  private(set) var count = 0
  private static let pieceSize = 512

  init() {}

  init(_ elements: [ArchiveValue]) {
    count = elements.count
    pieces = stride(from: 0, to: count, by: Self.pieceSize).map { start in
      elements[start..<min(start + Self.pieceSize, count)].map { .value($0) }
    }
  }

  /// Returns the index of the piece that contains an element, and the index of the element within that piece.
  private func find(_ place: Int) -> (piece: Int, place: Int) {
    var (piece, rest) = (0, place)
    while rest >= pieces[piece].count {
      rest -= pieces[piece].count
      piece += 1
    }
    return (piece, rest)
  }

  subscript(place: Int) -> Slot {
    get {
      let (piece, place) = find(place)
      return pieces[piece][place]
    }
    set {
      let (piece, place) = find(place)
      pieces[piece][place] = newValue
    }
  }

  mutating func insert(_ slot: Slot, at place: Int) {
    if pieces.isEmpty { pieces.append([]) }
    let (piece, inside) = place == count ? (pieces.count - 1, pieces[pieces.count - 1].count) : find(place)
    pieces[piece].insert(slot, at: inside)
    count += 1
    guard pieces[piece].count >= 2 * Self.pieceSize else { return }
    let behind = Array(pieces[piece][Self.pieceSize...])
    pieces[piece].removeLast(behind.count)
    pieces.insert(behind, at: piece + 1)
  }

  mutating func remove(at place: Int) {
    let (piece, inside) = find(place)
    pieces[piece].remove(at: inside)
    count -= 1
    if pieces[piece].isEmpty { pieces.remove(at: piece) }
  }

  func forEach(_ body: (Slot) throws -> Void) rethrows {
    for piece in pieces { try piece.forEach(body) }
  }
}
