internal import Foundation
internal import StrataCore

/// The tree of a value with one line per field, limited in width, depth and number of elements.
struct ValueTree {
  let width: Int
  let depth: Int
  let elements: Int
  let isColoured: Bool
  private(set) var lines: [String] = []

  init(width: Int, depth: Int, elements: Int, isColoured: Bool = false) {
    self.width = width
    self.depth = depth
    self.elements = elements
    self.isColoured = isColoured
  }

  mutating func add(_ value: ArchiveValue) { add(value, label: "", level: 0) }

  /// Adds the first models of a stream that has `count` models.
  mutating func add(elements values: [ArchiveValue], of count: Int) {
    lines.append("stream of \(count.counted("model"))")
    for (place, value) in values.enumerated() { add(value, label: "[\(place)] ", level: 1) }
    if values.count < count { note(count - values.count, level: 1) }
  }

  private mutating func add(_ value: ArchiveValue, label: String, level: Int) {
    let children = value.children
    append(
      TreeLine(margin: 2 * level, label: label, value: value.summary(mostCharacters: max(width, 20)), ink: value.ink))
    guard level < depth else { return }
    for child in children.prefix(elements) { add(child.value, label: child.label, level: level + 1) }
    if children.count > elements { note(children.count - elements, level: level + 1) }
  }

  private mutating func note(_ count: Int, level: Int) {
    append(TreeLine(margin: 2 * level, value: "… \(count.grouped) more", ink: .dim))
  }

  private mutating func append(_ line: TreeLine) {
    lines.append(line.text(width: width, isColoured: isColoured))
  }
}

extension ArchiveValue {
  /// The value in a few words on one line.
  func summary(mostCharacters: Int) -> String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .int(let value): String(value)
    case .uint(let value): String(value)
    case .wideInteger(let value): value.description
    case .float(let value): value.description
    case .double(let value): value.description
    case .decimal(let value): value.description
    case .number(let value): value.text
    case .string(let value): "\"" + value.cut(to: mostCharacters).onOneLine + "\""
    case .data(let value): "data of \(value.count.counted("byte"))"
    case .date(let value): ISO8601.string(from: value) ?? "\(value.timeIntervalSince1970) seconds since 1970"
    case .url(let value): value.absoluteString.onOneLine
    case .uuid(let value): value.uuidString
    case .array(let value): "array of \(value.count.counted("element"))"
    case .set(let value): "set of \(value.count.counted("element"))"
    case .object(let value): "object of \(value.count.counted("key"))"
    case .map(let value): "map of \(value.count.counted("pair"))"
    case .record(let value): value.shape.mark.onOneLine
    case .reference(let number): "→ #\(number)"
    case .graph(let graph): "graph of \(graph.objects.count.counted("object"))"
    }
  }

  fileprivate var children: [(label: String, value: ArchiveValue)] {
    switch self {
    case .array(let elements), .set(let elements):
      elements.enumerated().map { ("[\($0)] ", $1) }
    case .object(let object): object.entries.map { ($0.key.onOneLine + ": ", $0.value) }
    case .record(let record): record.fields.map { ($0.key.onOneLine + ": ", $0.value) }
    case .map(let entries):
      entries.map { ($0.key.summary(mostCharacters: 40) + ": ", $0.value) }
    case .graph(let graph): [("", graph.root)] + graph.objects.enumerated().map { ("#\($0) ", $1) }
    default: []
    }
  }
}
