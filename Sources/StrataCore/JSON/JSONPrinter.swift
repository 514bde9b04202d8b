import Foundation

/// The text of one value as it grows.
///
/// Open containers are kept in an array of frames instead of on the call stack, so no nesting exhausts it.
struct JSONPrinter {
  /// An array or an object of which some elements are still to be written.
  struct Frame {
    enum Contents {
      case elements([Value])
      case entries([Object.Entry])
      case fields(RecordShape, [Value])
      case pairs([Value.MapEntry])
    }

    let contents: Contents
    let count: Int
    var next = 0
    /// The object of a graph that this is.
    var reference: Int?

    init(_ contents: Contents) {
      self.contents = contents
      count =
        switch contents {
        case .elements(let elements): elements.count
        case .entries(let entries): entries.count
        case .fields(_, let values): values.count
        case .pairs(let pairs): pairs.count
        }
    }

    var isObject: Bool {
      switch contents {
      case .elements, .pairs: false
      case .entries, .fields: true
      }
    }

    /// The step of a path that leads to the element that is being written.
    var step: ArchiveError.PathComponent {
      switch contents {
      case .elements, .pairs: .index(next - 1)
      case .entries(let entries): .key(entries[next - 1].key)
      case .fields(let shape, _): .key(shape.keys[next - 1])
      }
    }
  }

  let isPretty: Bool
  let sortsKeys: Bool
  let depthLimit: Int
  private var output: OutputLimit
  private var root = Value.null
  private var text: [UInt8] = []
  private var frames: [Frame] = []
  private var graph: ObjectGraph?
  /// The objects that are being written, each inside the one before.
  private var openReferences: [Int] = []
  private var expansions = 0

  init(isPretty: Bool, sortsKeys: Bool, limits: ArchiveLimits) {
    self.isPretty = isPretty
    self.sortsKeys = sortsKeys
    depthLimit = limits.depth
    output = OutputLimit(limits)
  }

  mutating func document(_ value: Value) throws(ArchiveError) -> [UInt8] {
    root = value
    try append(value)
    while var frame = frames.popLast() {
      guard frame.next < frame.count else {
        if isPretty { breakLine(frames.count) }
        text.append(UInt8(ascii: frame.isObject ? "}" : "]"))
        if frame.reference != nil { openReferences.removeLast() }
        continue
      }
      do { try output.check(text.count, of: root) } catch {
        throw failure(error.code, error.reason, limit: error.limit)
      }
      if frame.next > 0 { text.append(UInt8(ascii: ",")) }
      if isPretty { breakLine(frames.count + 1) }
      let place = frame.next
      frame.next += 1
      frames.append(frame)
      switch frame.contents {
      case .elements(let elements):
        try append(elements[place])
      case .entries(let entries):
        append(key: entries[place].key)
        try append(entries[place].value)
      case .fields(let shape, let values):
        append(key: shape.keys[place])
        try append(values[place])
      case .pairs(let pairs):
        try open(.elements([pairs[place].key, pairs[place].value]))
      }
    }
    return text
  }

  private mutating func append(_ value: Value) throws(ArchiveError) {
    switch value {
    case .null: append(ascii: "null")
    case .bool(let bool): append(ascii: bool ? "true" : "false")
    case .int(let integer): append(ascii: String(integer))
    case .uint(let integer): append(ascii: String(integer))
    case .wideInteger(let integer):
      if integer.isNegative { text.append(UInt8(ascii: "-")) }
      append(ascii: String(integer.magnitude))
    case .double(let number):
      guard number.isFinite else { throw failure(Self.notFinite) }
      append(ascii: number.description)
    case .float(let number):
      guard number.isFinite else { throw failure(Self.notFinite) }
      append(ascii: number.description)
    case .decimal(let number):
      guard number.isFinite else { throw failure(Self.notFinite) }
      append(ascii: number.description)
    case .number(let number): append(ascii: number.text)
    case .string(let string): append(string)
    case .data(let data): append(data.base64EncodedString())
    case .date(let date):
      guard let spelling = ISO8601.string(from: date) else {
        throw failure(.notEncodable, "a date is outside the years 0 to 9999; only these can be written")
      }
      append(spelling)
    case .url(let url): append(url.absoluteString)
    case .uuid(let uuid): append(uuid.uuidString)
    case .array(let elements), .set(let elements): try open(.elements(elements))
    case .map(let pairs): try open(.pairs(pairs))
    case .object(let object):
      try open(.entries(sortsKeys ? Self.sorted(object) : object.entries))
    case .reference(let number): try append(reference: number)
    case .graph(let graph):
      self.graph = graph
      try append(graph.root)
    case .record(let record):
      try open(sortsKeys ? .entries(Self.sorted(record.object)) : .fields(record.shape, record.values))
    }
  }

  /// Writes the object in the place of a reference to it.
  private mutating func append(reference number: Int) throws(ArchiveError) {
    guard let graph, graph.objects.indices.contains(number) else {
      throw failure(.notEncodable, "a reference names no object of its graph")
    }
    guard !openReferences.contains(number) else {
      throw failure(
        .notEncodable, "an object refers back to itself, for which JSON has no form; leave a reference out")
    }
    if case .reference = graph.objects[number] {
      throw failure(.notEncodable, "an object of a graph is a reference to another")
    }
    // Shared objects stand once for each reference, which could multiply without end.
    expansions += 1
    guard expansions <= max(1 << 20, 16 * graph.objects.count) else {
      throw failure(.limitExceeded, "objects are referred to more than \(expansions - 1) times", limit: .count)
    }
    let depth = frames.count
    try append(graph.objects[number])
    guard frames.count > depth else { return }
    openReferences.append(number)
    frames[depth].reference = number
  }

  private mutating func open(_ contents: Frame.Contents) throws(ArchiveError) {
    guard frames.count < depthLimit else {
      throw failure(
        .limitExceeded, "the nesting goes deeper than \(depthLimit) levels; raise the limit to write it",
        limit: .depth)
    }
    let frame = Frame(contents)
    text.append(UInt8(ascii: frame.isObject ? "{" : "["))
    if frame.count == 0 {
      text.append(UInt8(ascii: frame.isObject ? "}" : "]"))
    } else {
      frames.append(frame)
    }
  }

  private static func sorted(_ object: Object) -> [Object.Entry] {
    object.entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
  }

  private mutating func breakLine(_ level: Int) {
    text.append(UInt8(ascii: "\n"))
    for _ in 0..<level { append(ascii: "  ") }
  }

  private mutating func append(ascii string: String) { text.append(contentsOf: string.utf8) }

  private mutating func append(key: String) {
    append(key)
    text.append(UInt8(ascii: ":"))
    if isPretty { text.append(UInt8(ascii: " ")) }
  }

  private mutating func append(_ string: String) {
    text.append(UInt8(ascii: "\""))
    let start = text.count
    text.append(contentsOf: string.utf8)
    // Most strings need no escape, so they are copied first and looked at afterwards.
    var place = start
    while place < text.count {
      let byte = text[place]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        escape(from: place)
        break
      }
      place += 1
    }
    text.append(UInt8(ascii: "\""))
  }

  /// Replaces what follows the place given by the same with escapes.
  private mutating func escape(from place: Int) {
    let rest = Array(text[place...])
    text.removeSubrange(place...)
    for byte in rest {
      switch byte {
      case UInt8(ascii: "\""): append(ascii: "\\\"")
      case UInt8(ascii: "\\"): append(ascii: "\\\\")
      case 0x08: append(ascii: "\\b")
      case 0x09: append(ascii: "\\t")
      case 0x0A: append(ascii: "\\n")
      case 0x0C: append(ascii: "\\f")
      case 0x0D: append(ascii: "\\r")
      case 0..<0x20: append(ascii: (byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
      default: text.append(byte)
      }
    }
  }

  static let notFinite = ArchiveError(
    .notEncodable, "a number is not finite, which JSON cannot express; write null or a string")

  private func failure(_ error: ArchiveError) -> ArchiveError { failure(error.code, error.reason) }

  private func failure(
    _ code: ArchiveError.Code, _ reason: String, limit: ArchiveLimits.Limit? = nil
  ) -> ArchiveError {
    ArchiveError(code, reason, path: frames.map(\.step), limit: limit)
  }
}
