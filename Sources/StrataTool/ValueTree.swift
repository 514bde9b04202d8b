internal import Foundation
internal import StrataCore

/// A value as a tree with one line for each field. The tree is limited in width, depth and number of elements.
struct ValueTree {
  private struct Step {
    var label = ""
    /// The value; `nil` for a line that shows only `more`, the number of omitted values.
    var value: ArchiveValue?
    var more = 0
    let level: Int
  }

  let width: Int
  let depth: Int
  let elements: Int
  var isColoured = false
  private(set) var lines: [String] = []

  mutating func add(_ value: ArchiveValue) { add([("", value)]) }

  /// Adds the first models of a stream that has `count` models in total.
  mutating func add(elements values: [ArchiveValue], of count: Int) {
    lines.append("stream of \(count.counted("model"))")
    add(values.enumerated().map { ("[\($0)] ", $1) }, more: count - values.count, level: 1)
  }

  /// Adds labeled values. An object of `graph` is shown at its first occurrence, with its number. At later occurrences,
  /// only an arrow and the number are shown.
  ///
  /// - Parameter more: the number of values that are omitted.
  mutating func add(
    _ top: [(label: String, value: ArchiveValue)], more: Int = 0, level: Int = 0, in graph: GraphOrder? = nil
  ) {
    var shown = Set<Int>()
    // The remaining steps, as a stack with the next step at the end.
    var steps: [Step] = []
    func push(_ values: some BidirectionalCollection<(label: String, value: ArchiveValue)>, _ more: Int, _ level: Int) {
      if more > 0 { steps.append(Step(more: more, level: level)) }
      steps += values.reversed().map { Step(label: $0.label, value: $0.value, level: level) }
    }
    push(top, more, level)
    while let step = steps.popLast() {
      var line = TreeLine(margin: min(2 * step.level, width), label: step.label, style: .dim)
      defer { lines.append(line.text(width: width, isColoured: isColoured)) }
      guard var value = step.value else {
        line.value = "… \(step.more.grouped) more"
        continue
      }
      if let graph, case .reference(let place) = value {
        let number = graph.number(of: place) ?? -1
        guard graph.objects.indices.contains(place), shown.insert(place).inserted else {
          line.value = "→ #\(number)"
          continue
        }
        value = graph.objects[place]
        line.label += "#\(number) " + (graph.malformed.contains(place) ? "(invalid) " : "")
      }
      (line.value, line.style) = (value.summary(mostCharacters: max(width, 20)), value.style)
      guard step.level < depth else { continue }
      push(value.children(atMost: elements), value.childCount - elements, step.level + 1)
    }
  }
}

extension ArchiveValue {
  /// Returns a short description of the value on one line.
  func summary(mostCharacters: Int) -> String {
    switch self {
    case .null: "null"
    case .string(let value): "\"" + value.cut(to: mostCharacters).onOneLine + "\""
    case .data(let value): "data of \(value.count.counted("byte"))"
    case .date(let value): scalarText ?? "\(value.timeIntervalSince1970) seconds since 1970"
    case .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .url, .uuid: (scalarText ?? "").onOneLine
    case .array(let value): "array of \(value.count.counted("element"))"
    case .set(let value): "set of \(value.count.counted("element"))"
    case .object(let value): "object of \(value.count.counted("key"))"
    case .map(let value): "map of \(value.count.counted("pair"))"
    case .record(let value): value.shape.mark.onOneLine
    case .reference(let number): "→ #\(number)"
    case .graph(let graph): "graph of \(graph.objects.count.counted("object"))"
    }
  }

  fileprivate var childCount: Int {
    switch self {
    case .array(let elements), .set(let elements): elements.count
    case .object(let object): object.count
    case .record(let record): record.keys.count
    case .map(let entries): entries.count
    case .graph(let graph): 1 + graph.objects.count
    default: 0
    }
  }

  /// Returns the values inside this value, with labels.
  func children(atMost most: Int) -> [(label: String, value: ArchiveValue)] {
    switch self {
    case .array(let elements), .set(let elements): elements.prefix(most).enumerated().map { ("[\($0)] ", $1) }
    case .object(let object): object.entries.prefix(most).map { ($0.key.onOneLine + ": ", $0.value) }
    case .record(let record): record.fields.prefix(most).map { ($0.key.onOneLine + ": ", $0.value) }
    case .map(let entries): entries.prefix(most).map { ($0.key.summary(mostCharacters: 40) + ": ", $0.value) }
    case .graph(let graph):
      Array(([("", graph.root)] + graph.objects.prefix(most).enumerated().map { ("#\($0) ", $1) }).prefix(most))
    default: []
    }
  }
}
