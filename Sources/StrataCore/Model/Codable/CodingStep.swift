/// A step of a coding path, which becomes a key where somebody asks for the path.
enum CodingStep {
  case root
  case key(any CodingKey)
  case index(Int)

  var key: (any CodingKey)? {
    switch self {
    case .root: nil
    case .key(let key): key
    case .index(let index): AnyCodingKey(intValue: index)
    }
  }

  /// The path of a coder, from the outside in.
  static func path<Coder>(
    _ coder: Coder, _ parent: (Coder) -> Coder?, _ step: (Coder) -> CodingStep
  ) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var next: Coder? = coder
    while let current = next {
      if let key = step(current).key { path.append(key) }
      next = parent(current)
    }
    return path.reversed()
  }
}

/// A key made of text or of a place in an array.
struct AnyCodingKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ text: String) {
    stringValue = text
    intValue = nil
  }
  init(stringValue: String) { self.init(stringValue) }
  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }
}
