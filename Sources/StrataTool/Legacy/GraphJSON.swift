internal import Foundation
internal import StrataCore

/// Writes values and the objects that they refer to as the JSON of Docs/Tool.md.
///
/// Open containers are on a list instead of the call stack, and text is passed to the sink in pieces.
struct GraphJSON {
  /// The content of a member of the document.
  enum Part {
    case value(ArchiveValue)
    /// The top values of the graph, by their keys.
    case top
  }

  private struct Frame {
    let keys: [String]?
    let values: [ArchiveValue]
    /// Whether the values alternate between keys and values.
    let isPairs: Bool
    let end: String
    var next = 0
    /// Whether text precedes the first value.
    var hasHead = false
  }

  /// The maximum indentation. Each level adds two spaces up to this.
  private static let widestMargin = 64

  private let order: GraphOrder
  private let sink: (Data) throws -> Void
  private var text: [UInt8] = []
  private var frames: [Frame] = []
  private var shown: [Bool]

  init(_ order: GraphOrder, _ sink: @escaping (Data) throws -> Void) {
    self.order = order
    self.sink = sink
    shown = Array(repeating: false, count: order.objects.count)
  }

  /// Writes an object with the given members, and a line feed.
  mutating func write(_ members: [(key: String, part: Part)]) throws {
    append("{")
    for (place, member) in members.enumerated() {
      append(place == 0 ? "\n  " : ",\n  ")
      append(quoted: member.key)
      append(": ")
      switch member.part {
      case .value(let value): append(value)
      case .top:
        open(keys: order.top.map(\.key), order.top.map(\.value), "{", "}")
      }
      try finishFrames()
    }
    append("\n}\n")
    try flush()
  }

  private mutating func finishFrames() throws {
    while let last = frames.indices.last {
      if text.count > 1 << 16 { try flush() }
      let frame = frames[last]
      let place = frame.next
      guard place < frame.values.count else {
        frames.removeLast()
        breakLine()
        append(frame.end)
        continue
      }
      if place > 0 || frame.hasHead { append(",") }
      breakLine()
      frames[last].next += frame.isPairs ? 2 : 1
      if frame.isPairs {
        open(nil, [frame.values[place], frame.values[place + 1]], "[", "]")
      } else {
        if let keys = frame.keys {
          append(quoted: Self.escaped(keys[place]))
          append(": ")
        }
        append(frame.values[place])
      }
    }
  }

  /// Escapes a key of the data: a leading `$` is doubled, because keys with a single one belong to this format.
  private static func escaped(_ key: String) -> String { key.utf8.first == UInt8(ascii: "$") ? "$" + key : key }

  private mutating func append(_ value: ArchiveValue) {
    guard case .reference(let place) = value else { return append(value, number: nil) }
    guard let number = order.number(of: place) else { return append("{\"$ref\": null}") }
    guard !shown[place] else { return append("{\"$ref\": \(number)}") }
    shown[place] = true
    append(order.objects[place], number: number)
  }

  private mutating func append(_ value: ArchiveValue, number: Int?) {
    let mark = number.map { "\"$id\": \($0)" }
    switch value {
    case .null: append(mark.map { "{\($0), \"$value\": null}" } ?? "null")
    case .bool(let bool): append(bool ? "true" : "false")
    case .int(let integer): append(String(integer))
    case .uint(let integer): append(String(integer))
    case .wideInteger(let integer): append(integer.description)
    case .float(let real): append(ScalarText.real(Double(real)))
    case .double(let real): append(ScalarText.real(real))
    case .decimal(let decimal): append(tag: "decimal", ScalarText.decimal(decimal))
    case .number(let number): append(number.text)
    case .string(let string): append(quoted: string)
    case .data(let data): append(tag: "data", data.base64EncodedString())
    case .date(let date):
      append("{\"$date\": ")
      append(ScalarText.date(date))
      append("}")
    case .url(let url): append(tag: "url", url.absoluteString)
    case .uuid(let uuid): append(tag: "uuid", uuid.uuidString)
    case .array(let elements):
      if let mark {
        open(nil, elements, "{\(mark), \"$array\": [", "]}")
      } else {
        open(nil, elements, "[", "]")
      }
    case .set(let elements): open(nil, elements, "{\(mark.map { $0 + ", " } ?? "")\"$set\": [", "]}")
    case .map(let pairs):
      open(
        nil, pairs.flatMap { [$0.key, $0.value] }, "{\(mark.map { $0 + ", " } ?? "")\"$map\": [", "]}", isPairs: true)
    case .object(let object):
      open(keys: object.keys, object.entries.map(\.value), "{", "}", head: mark)
    case .record(let record):
      var head = mark.map { $0 + ", " } ?? ""
      head += "\"$class\": " + ScalarText.quoted(record.typeName)
      if let version = record.modelVersion { head += ", \"$version\": \(version)" }
      open(keys: record.keys, record.fields.map(\.value), "{", "}", head: head)
    case .reference, .graph: append("null")
    }
  }

  private mutating func open(
    keys: [String], _ values: [ArchiveValue], _ start: String, _ end: String, head: String? = nil
  ) {
    append(start)
    if let head { append(head) }
    guard !values.isEmpty else { return append(end) }
    frames.append(Frame(keys: keys, values: values, isPairs: false, end: end, hasHead: head != nil))
  }

  private mutating func open(
    _ keys: [String]?, _ values: [ArchiveValue], _ start: String, _ end: String, isPairs: Bool = false
  ) {
    append(start)
    guard !values.isEmpty else { return append(end) }
    frames.append(Frame(keys: keys, values: values, isPairs: isPairs, end: end))
  }

  private mutating func breakLine() {
    text.append(UInt8(ascii: "\n"))
    // Without a maximum, a long linked list would be mostly indentation.
    text.append(
      contentsOf: repeatElement(UInt8(ascii: " "), count: min(2 * (frames.count + 1), Self.widestMargin)))
  }

  private mutating func append(tag: String, _ string: String) {
    append("{\"$\(tag)\": ")
    append(quoted: string)
    append("}")
  }

  private mutating func append(quoted string: String) { append(ScalarText.quoted(string)) }

  private mutating func append(_ string: String) { text.append(contentsOf: string.utf8) }

  private mutating func flush() throws {
    try sink(Data(text))
    text.removeAll(keepingCapacity: true)
  }
}
