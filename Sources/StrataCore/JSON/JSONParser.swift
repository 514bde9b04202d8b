import Foundation

/// One pass over one document.
///
/// Open arrays and objects are kept in an array of frames instead of on the call stack, so no nesting exhausts it.
struct JSONParser {
  /// An array or an object whose end has not come yet.
  struct Frame {
    var isObject = false
    var elements: [Value] = []
    var entries: [Object.Entry] = []
    /// The key whose value comes next.
    var key = ""
    /// Where the marks of this object's keys start.
    var firstMark = 0
    /// Whether a key holds an escape or a byte outside ASCII.
    var hasUnusualKeys = false
  }

  /// The document and a zero byte. Zero is valid nowhere in JSON, so every scan stops there without a check.
  let bytes: [UInt8]
  let end: Int
  let limits: ArchiveLimits
  let depthLimit: Int
  var place = 0
  /// Where a string with escapes is put together.
  var scratch: [UInt8] = []
  /// A cheap mark of every key of the open objects: equal keys in plain ASCII have equal marks.
  private var marks: [UInt32] = []
  /// Whether the string read last is ASCII without escapes.
  var isPlain = false

  init(_ data: Data, limits: ArchiveLimits) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(data.count + 1)
    bytes.append(contentsOf: data)
    bytes.append(0)
    self.bytes = bytes
    end = data.count
    self.limits = limits
    depthLimit = min(limits.depth, JSONReader.maximumDepth)
  }

  mutating func document() throws(ArchiveError) -> Value {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw failure("the text starts with a byte order mark; remove these three bytes", at: 0)
    }
    if skipSpace() == 0, place == end {
      throw failure(
        end == 0
          ? "the text is empty; a JSON document holds one value"
          : "the text holds nothing but white space; a JSON document holds one value", at: place)
    }
    let value = try value()
    _ = skipSpace()
    guard place == end else {
      throw failure("\(found) follows the document's value; nothing may follow it", at: place)
    }
    return value
  }

  private mutating func value() throws(ArchiveError) -> Value {
    var outer: [Frame] = []
    var frame = Frame()
    var depth = 0
    while true {
      var value: Value
      switch skipSpace() {
      case UInt8(ascii: "\""):
        value = .string(try string())
      case UInt8(ascii: "{"):
        try checkDepth(depth)
        place += 1
        if skipSpace() == UInt8(ascii: "}") {
          place += 1
          value = .object(Object())
        } else {
          if depth > 0 { outer.append(frame) }
          frame = Frame(isObject: true, firstMark: marks.count)
          depth += 1
          try readKey(of: &frame)
          continue
        }
      case UInt8(ascii: "["):
        try checkDepth(depth)
        place += 1
        if skipSpace() == UInt8(ascii: "]") {
          place += 1
          value = .array([])
        } else {
          if depth > 0 { outer.append(frame) }
          frame = Frame()
          depth += 1
          continue
        }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        value = try number()
      case UInt8(ascii: "t"):
        try word("true")
        value = .bool(true)
      case UInt8(ascii: "f"):
        try word("false")
        value = .bool(false)
      case UInt8(ascii: "n"):
        try word("null")
        value = .null
      default:
        throw failure("\(found) stands where a value must start", at: place)
      }
      // The value may close the containers around it, one after the other.
      closing: while true {
        if depth == 0 { return value }
        if frame.isObject {
          guard frame.entries.count < limits.count else { throw tooMany("an object has", "entries") }
          frame.entries.append(Object.Entry(key: frame.key, value: value))
          switch skipSpace() {
          case UInt8(ascii: ","):
            place += 1
            _ = skipSpace()
            try readKey(of: &frame)
            break closing
          case UInt8(ascii: "}"):
            let entries = frame.entries
            value = .object(keysAreUnique(frame) ? Object(uniqueEntries: entries) : Object(entries))
            marks.removeLast(marks.count - frame.firstMark)
          default:
            throw failure("\(found) follows a value in an object; a comma or \"}\" must follow", at: place)
          }
        } else {
          guard frame.elements.count < limits.count else { throw tooMany("an array has", "elements") }
          frame.elements.append(value)
          switch skipSpace() {
          case UInt8(ascii: ","):
            place += 1
            if skipSpace() == UInt8(ascii: "]") {
              throw failure("a comma precedes the end of an array; a value must follow a comma", at: place)
            }
            break closing
          case UInt8(ascii: "]"):
            value = .array(frame.elements)
          default:
            throw failure("\(found) follows a value in an array; a comma or \"]\" must follow", at: place)
          }
        }
        place += 1
        depth -= 1
        if depth > 0 { frame = outer.removeLast() }
      }
    }
  }

  /// Moves over white space and returns the byte behind it, which is zero at the end.
  @inline(__always)
  mutating func skipSpace() -> UInt8 {
    while true {
      let byte = bytes[place]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      place += 1
    }
  }

  /// Moves over a key and the colon behind it.
  private mutating func readKey(of frame: inout Frame) throws(ArchiveError) {
    let start = place
    let byte = bytes[start]
    guard byte == UInt8(ascii: "\"") else {
      if frame.entries.isEmpty {
        throw failure("\(found) stands where a key in double quotes or \"}\" must stand", at: place)
      }
      if byte == UInt8(ascii: "}") {
        throw failure("a comma precedes the end of an object; a key must follow a comma", at: place)
      }
      throw failure("\(found) stands where a key in double quotes must start", at: place)
    }
    frame.key = try string()
    // The length and four of the bytes, the quotes included, tell most keys apart.
    let length = place - start
    var mark = UInt32(truncatingIfNeeded: length)
    mark = mark &* 0x9E37_79B1 &+ UInt32(bytes[start + 1])
    mark = mark &* 0x9E37_79B1 &+ UInt32(bytes[start + length / 3])
    mark = mark &* 0x9E37_79B1 &+ UInt32(bytes[start + length * 2 / 3])
    mark = mark &* 0x9E37_79B1 &+ UInt32(bytes[place - 2])
    marks.append(mark)
    // Other keys can be equal though their bytes differ.
    if !isPlain { frame.hasUnusualKeys = true }
    guard skipSpace() == UInt8(ascii: ":") else {
      throw failure("\(found) follows a key; a colon must follow", at: place)
    }
    place += 1
  }

  /// Whether no key stands twice, as far as that is cheap to tell.
  private func keysAreUnique(_ frame: Frame) -> Bool {
    let count = frame.entries.count
    if count < 2 { return true }
    guard count <= 64, !frame.hasUnusualKeys else { return false }
    for later in 1..<count {
      let mark = marks[frame.firstMark + later]
      for earlier in 0..<later where marks[frame.firstMark + earlier] == mark {
        if frame.entries[earlier].key == frame.entries[later].key { return false }
      }
    }
    return true
  }

  private mutating func word(_ word: StaticString) throws(ArchiveError) {
    for letter in word.description.utf8 {
      guard bytes[place] == letter else {
        throw failure("\(found) breaks off a bare word; only true, false and null may stand bare", at: place)
      }
      place += 1
    }
  }

  private func checkDepth(_ depth: Int) throws(ArchiveError) {
    guard depth < depthLimit else {
      throw exceeded(.depth, "the nesting goes deeper than \(depthLimit) levels", at: place)
    }
  }

  private func tooMany(_ container: String, _ things: String) -> ArchiveError {
    exceeded(.count, "\(container) more than \(limits.count) \(things)", at: place)
  }
}
