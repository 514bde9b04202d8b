internal import Foundation
internal import StrataCore

/// Writes values and the referenced objects as the JSON that Docs/Tool.md describes.
///
/// Open containers are kept in a list instead of on the call stack, and the text is passed to the sink in pieces.
struct GraphJSON {
  private struct Frame {
    let keys: [String]?
    let values: [ArchiveValue]
    /// Whether `values` contains the keys and values of a map, alternating.
    let isPairs: Bool
    let end: String
    /// Whether a member precedes the first value, in which case a comma is needed between the two.
    let hasHead: Bool
    var next = 0
  }

  /// The maximum indentation in columns. Each level adds two columns up to this maximum.
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

  /// Writes a document, followed by a line feed.
  mutating func write(_ document: ArchiveObject) throws {
    append(.object(document))
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
        open([frame.values[place], frame.values[place + 1]], "[", "]")
      } else {
        if let keys = frame.keys {
          append(ScalarText.quoted(Self.escaped(keys[place])) + ": ")
        }
        append(frame.values[place])
      }
    }
    append("\n")
    try flush()
  }

  /// Escapes a key of the data by doubling a leading `$`, because keys that begin with a single `$` are reserved for
  /// this format.
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
    case .bool, .int, .uint, .wideInteger, .number: append(value.scalarText ?? "")
    case .float(let real): append(ScalarText.real(Double(real)))
    case .double(let real): append(ScalarText.real(real))
    case .decimal(let decimal): append(tag: "decimal", ScalarText.decimal(decimal))
    case .string(let string): append(ScalarText.quoted(string))
    case .data(let data): append(tag: "data", data.base64EncodedString())
    case .date(let date): append("{\"$date\": \(ScalarText.date(date))}")
    case .url(let url): append(tag: "url", url.absoluteString)
    case .uuid(let uuid): append(tag: "uuid", uuid.uuidString)
    case .array(let elements):
      if let mark {
        open(elements, "{\(mark), \"$array\": [", "]}")
      } else {
        open(elements, "[", "]")
      }
    case .set(let elements): open(elements, "{\(mark.map { $0 + ", " } ?? "")\"$set\": [", "]}")
    case .map(let pairs):
      open(pairs.flatMap { [$0.key, $0.value] }, "{\(mark.map { $0 + ", " } ?? "")\"$map\": [", "]}", isPairs: true)
    case .object(let object):
      open(object.entries.map(\.value), "{", "}", keys: object.keys, head: mark)
    case .record(let record):
      var head = mark.map { $0 + ", " } ?? ""
      head += "\"$class\": " + ScalarText.quoted(record.typeName)
      if let version = record.modelVersion { head += ", \"$version\": \(version)" }
      open(record.fields.map(\.value), "{", "}", keys: record.keys, head: head)
    case .reference, .graph: append("null")
    }
  }

  private mutating func open(
    _ values: [ArchiveValue], _ start: String, _ end: String, keys: [String]? = nil, head: String? = nil,
    isPairs: Bool = false
  ) {
    append(start + (head ?? ""))
    guard !values.isEmpty else { return append(end) }
    frames.append(Frame(keys: keys, values: values, isPairs: isPairs, end: end, hasHead: head != nil))
  }

  private mutating func breakLine() {
    text.append(UInt8(ascii: "\n"))
    // The indentation is limited, because the output for a long linked list would otherwise consist mostly of spaces.
    text.append(
      contentsOf: repeatElement(UInt8(ascii: " "), count: min(2 * frames.count, Self.widestMargin)))
  }

  private mutating func append(tag: String, _ string: String) {
    append("{\"$\(tag)\": \(ScalarText.quoted(string))}")
  }

  private mutating func append(_ string: String) { text.append(contentsOf: string.utf8) }

  private mutating func flush() throws {
    try sink(Data(text))
    text.removeAll(keepingCapacity: true)
  }
}
