internal import StrataCore

extension GraphOrder {
  private struct Step {
    var label = ""
    /// `nil` for the line that counts the omitted values, whose number is `more`.
    var value: ArchiveValue?
    var more = 0
    let level: Int
  }

  /// The tree with one line per value, limited in width, depth and number of elements. An object is shown at its first
  /// occurrence, with its number. Later occurrences are an arrow and the number.
  func lines(width: Int, depth: Int, elements: Int, isColoured: Bool = false) -> [String] {
    var lines: [String] = []
    func append(_ line: TreeLine) { lines.append(line.text(width: width, isColoured: isColoured)) }
    var shown = Array(repeating: false, count: objects.count)
    // A stack: the next step is the last one.
    var steps = top.reversed().map {
      Step(label: $0.key.isEmpty ? "" : $0.key.onOneLine + ": ", value: $0.value, level: 0)
    }
    while let step = steps.popLast() {
      let margin = min(2 * step.level, width)
      guard var value = step.value else {
        append(TreeLine(margin: margin, value: "… \(step.more.grouped) more", ink: .dim))
        continue
      }
      var label = step.label
      if case .reference(let place) = value {
        let number = number(of: place) ?? -1
        guard objects.indices.contains(place), !shown[place] else {
          append(TreeLine(margin: margin, label: label, value: "→ #\(number)", ink: .dim))
          continue
        }
        shown[place] = true
        value = objects[place]
        label += "#\(number) " + (odd.contains(place) ? "(odd) " : "")
      }
      append(
        TreeLine(margin: margin, label: label, value: value.summary(mostCharacters: max(width, 20)), ink: value.ink))
      guard step.level < depth else { continue }
      let count = value.childCount
      if count > elements {
        steps.append(Step(more: count - elements, level: step.level + 1))
      }
      for child in value.children(atMost: elements).reversed() {
        steps.append(Step(label: child.label, value: child.value, level: step.level + 1))
      }
    }
    return lines
  }
}

extension ArchiveValue {
  fileprivate var childCount: Int {
    switch self {
    case .array(let elements), .set(let elements): elements.count
    case .object(let object): object.count
    case .record(let record): record.keys.count
    case .map(let entries): entries.count
    default: 0
    }
  }

  fileprivate func children(atMost most: Int) -> [(label: String, value: ArchiveValue)] {
    switch self {
    case .array(let elements), .set(let elements):
      elements.prefix(most).enumerated().map { ("[\($0)] ", $1) }
    case .object(let object): object.entries.prefix(most).map { ($0.key.onOneLine + ": ", $0.value) }
    case .record(let record): record.fields.prefix(most).map { ($0.key.onOneLine + ": ", $0.value) }
    case .map(let entries): entries.prefix(most).map { ($0.key.summary(mostCharacters: 40) + ": ", $0.value) }
    default: []
    }
  }
}
