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
  }

  /// The document and a zero byte. Zero is valid nowhere in JSON, so every scan stops there without a check.
  let bytes: [UInt8]
  let end: Int
  let limits: ArchiveLimits
  let depthLimit: Int
  var place = 0
  /// Where a string with escapes is put together.
  var scratch: [UInt8] = []

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
          frame = Frame(isObject: true)
          depth += 1
          frame.key = try key(isFirst: true)
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
            frame.key = try key(isFirst: false)
            break closing
          case UInt8(ascii: "}"):
            value = .object(Object(frame.entries))
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

  /// A key and the colon behind it.
  private mutating func key(isFirst: Bool) throws(ArchiveError) -> String {
    let byte = bytes[place]
    guard byte == UInt8(ascii: "\"") else {
      if byte == UInt8(ascii: "}") {
        throw failure("a comma precedes the end of an object; a key must follow a comma", at: place)
      }
      throw failure(
        isFirst
          ? "\(found) stands where a key in double quotes or \"}\" must stand"
          : "\(found) stands where a key in double quotes must start", at: place)
    }
    let key = try string()
    guard skipSpace() == UInt8(ascii: ":") else {
      throw failure("\(found) follows a key; a colon must follow", at: place)
    }
    place += 1
    return key
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
