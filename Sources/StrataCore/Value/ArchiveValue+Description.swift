import Foundation

/// Formats a value for debugging. The text is truncated after a fixed number of values, levels or bytes, because the
/// text of a value with shared parts could be extremely long.
private struct ValueText {
  private static let mostValues = 10_000
  private static let mostBytes = 1 << 20
  private static let deepest = 64
  private static let shownBytes = 16

  private(set) var text = ""
  private var valuesLeft = mostValues

  /// Returns whether the text has room for one more value. If it has none, appends `…` to the text once.
  private mutating func begin(_ depth: Int) -> Bool {
    valuesLeft -= 1
    if valuesLeft >= 0, depth <= Self.deepest, text.utf8.count < Self.mostBytes { return true }
    if !text.hasSuffix("…") { text += "…" }
    return false
  }

  mutating func add(_ value: ArchiveValue, _ depth: Int = 0) {
    guard begin(depth) else { return }
    switch value {
    case .null: text += "null"
    case .bool, .int, .uint, .wideInteger, .float, .double, .decimal, .number, .uuid: text += value.scalarText ?? ""
    case .string(let value):
      text += value.utf8.count > Self.mostBytes ? "\(value.prefix(1000))…".debugDescription : value.debugDescription
    case .data(let value): add(value)
    case .date(let value): text += ISO8601.string(from: value) ?? "date(\(value.timeIntervalSinceReferenceDate))"
    case .url(let value): text += "<\(value.absoluteString)>"
    case .array(let elements): addAll(elements, "[", "]") { $0.add($1, depth + 1) }
    case .set(let elements): addAll(elements, "{", "}") { $0.add($1, depth + 1) }
    case .object(let object):
      addAll(object.entries, "[", "]", isEmpty: "[:]") {
        $0.text += $1.key.debugDescription + ": "
        $0.add($1.value, depth + 1)
      }
    case .map(let entries):
      addAll(entries, "[", "]", isEmpty: "[:]") {
        $0.add($1.key, depth + 1)
        $0.text += ": "
        $0.add($1.value, depth + 1)
      }
    case .record(let record):
      text += record.modelVersion.map { "\(record.typeName)@\($0)" } ?? record.typeName
      addAll(record.fields, "(", ")") {
        $0.text += $1.key + ": "
        $0.add($1.value, depth + 1)
      }
    case .reference(let number): text += "#\(number)"
    case .graph(let graph):
      text += "graph(root: "
      add(graph.root, depth + 1)
      for (number, object) in graph.objects.enumerated() where valuesLeft > 0 {
        text += ", #\(number): "
        add(object, depth + 1)
      }
      text += ")"
    }
  }

  private mutating func add(_ data: Data) {
    let bytes = data.prefix(Self.shownBytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    text += "<\(data.count) bytes" + (data.isEmpty ? ">" : ": \(bytes)\(data.count > Self.shownBytes ? "…" : "")>")
  }

  private mutating func addAll<Element>(
    _ elements: [Element], _ start: String, _ end: String, isEmpty: String? = nil,
    _ add: (inout ValueText, Element) -> Void
  ) {
    if let isEmpty, elements.isEmpty { return text += isEmpty }
    text += start
    for (index, element) in elements.enumerated() where valuesLeft >= 0 {
      if index > 0 { text += ", " }
      add(&self, element)
    }
    text += end
  }
}

extension ArchiveValue: CustomStringConvertible {
  /// The value as text for debugging, such as `Issue@3(title: "Crash", labels: ["bug"])`. The text contains user data, so do not write it
  /// to logs that must not contain such data. The text is truncated with `…` after 10,000 values, 64 levels or one mebibyte.
  public var description: String {
    var text = ValueText()
    text.add(self)
    return text.text
  }
}

extension ModelRecord: CustomStringConvertible {
  /// The type name, the version and the fields, in the format of ``ArchiveValue/description``.
  public var description: String { ArchiveValue.record(self).description }
}

extension ArchiveObject: CustomStringConvertible {
  /// The keys and values, in the format of ``ArchiveValue/description``.
  public var description: String { ArchiveValue.object(self).description }
}
