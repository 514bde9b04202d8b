/// A coding key made from text or from an array index.
enum AnyCodingKey: CodingKey {
  case text(String)
  case index(Int)

  init(_ text: String) { self = .text(text) }
  init(stringValue: String) { self = .text(stringValue) }
  init(intValue: Int) { self = .index(intValue) }

  var stringValue: String {
    switch self {
    case .text(let text): text
    case .index(let index): String(index)
    }
  }

  var intValue: Int? { if case .index(let index) = self { index } else { nil } }
}
