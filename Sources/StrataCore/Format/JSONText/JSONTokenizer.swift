/// Converts a JSON text (RFC 8259) to ``JSONToken``s in one pass.
///
/// The tokenizer checks the grammar, UTF-8, surrogates and the limits, so readers of the tokens do not need to check
/// them. Open containers are kept in an array. The tokenizer does not use recursion, because a deeply nested text could
/// overflow the call stack.
struct JSONTokenizer: ~Copyable, ~Escapable {
  /// The fixed maximum depth of nested arrays and objects. ``ArchiveLimits/depth`` can set a lower limit, but not a higher one.
  static let maximumDepth = 2048

  /// An array or an object that has not ended yet.
  private struct Frame {
    var token: Int
    var count: Int
    var isObject: Bool
  }

  let bytes: RawSpan
  let end: Int
  let limits: ArchiveLimits
  let depthLimit: Int

  @_lifetime(copy bytes)
  private init(_ bytes: RawSpan, limits: ArchiveLimits, depthLimit: Int) {
    self.bytes = bytes
    self.limits = limits
    self.depthLimit = depthLimit
    end = bytes.byteCount
  }

  /// Returns the tokens of a text. The first token belongs to the document's root value.
  static func tokens(
    of bytes: RawSpan, limits: ArchiveLimits, depthLimit: Int
  ) throws(ArchiveError) -> JSONTokenBuffer {
    let tokenizer = JSONTokenizer(bytes, limits: limits, depthLimit: depthLimit)
    return try tokenizer.document()
  }

  /// Returns the byte at an offset of the text. Beyond the end of the text, returns zero, which is not valid in JSON.
  @inline(__always)
  func byte(_ place: Int) -> UInt8 {
    place < end ? bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) : 0
  }

  /// Returns the eight bytes at an offset of the text as a little-endian integer. The text must contain all eight
  /// bytes.
  @inline(__always)
  func word(_ place: Int) -> UInt64 {
    UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self))
  }

  private func document() throws(ArchiveError) -> JSONTokenBuffer {
    if byte(0) == 0xEF, byte(1) == 0xBB, byte(2) == 0xBF {
      throw failure("the text starts with a byte order mark; remove the first three bytes", at: 0)
    }
    let start = skipSpace(0)
    if start == end {
      throw failure(
        end == 0
          ? "the text is empty; a JSON document must contain a value"
          : "the text contains only whitespace; a JSON document must contain a value", at: start)
    }
    // The initial capacity is an estimate: typical documents have about one token for every ten bytes.
    var tokens = JSONTokenBuffer(minimumCapacity: end / 10 + 8)
    let place = skipSpace(try value(start, &tokens))
    guard place == end else {
      throw failure("found \(found(place)) after the end of the JSON document", at: place)
    }
    return tokens
  }

  /// Scans a value, including all nested values. Returns the offset after the value.
  private func value(_ start: Int, _ tokens: inout JSONTokenBuffer) throws(ArchiveError) -> Int {
    var place = start
    var outer: [Frame] = []
    var frame = Frame(token: -1, count: 0, isObject: false)
    while true {
      switch byte(place) {
      case UInt8(ascii: "\""):
        place = try string(place, &tokens)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        let isObject = byte(place) == UInt8(ascii: "{")
        guard outer.count < depthLimit else { throw tooDeep(place) }
        outer.append(frame)
        frame = Frame(token: tokens.count, count: 0, isObject: isObject)
        tokens.append(JSONToken(isObject ? .object : .array, at: place, length: 0))
        place = skipSpace(place &+ 1)
        if byte(place) == UInt8(ascii: isObject ? "}" : "]") {
          tokens.close(frame.token, next: tokens.count, count: 0)
          place &+= 1
          frame = outer.removeLast()
        } else {
          if isObject { place = try key(place, isFirst: true, &tokens) }
          continue
        }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        place = try number(place, &tokens)
      case UInt8(ascii: "t"):
        tokens.append(JSONToken(.yes, at: place, length: 4))
        place = try word(0x6575_7274, length: 4, place)
      case UInt8(ascii: "f"):
        tokens.append(JSONToken(.no, at: place, length: 5))
        place = try word(0x65_736C_6166, length: 5, place)
      case UInt8(ascii: "n"):
        tokens.append(JSONToken(.null, at: place, length: 4))
        place = try word(0x6C6C_756E, length: 4, place)
      default:
        throw failure("found \(found(place)) where a value is expected", at: place)
      }
      // Several nested containers may end after this value.
      while true {
        if frame.token < 0 { return place }
        guard frame.count < limits.count else { throw tooMany(frame.isObject, place) }
        guard tokens.count <= limits.values else { throw tooManyValues(place) }
        frame.count &+= 1
        place = skipSpace(place)
        let byte = byte(place)
        if byte == UInt8(ascii: ",") {
          place = skipSpace(place &+ 1)
          if frame.isObject {
            place = try key(place, isFirst: false, &tokens)
          } else if self.byte(place) == UInt8(ascii: "]") {
            throw failure("an array has a comma after its last element; remove the comma", at: place)
          }
          break
        }
        guard byte == UInt8(ascii: frame.isObject ? "}" : "]") else { throw notClosed(frame.isObject, place) }
        tokens.close(frame.token, next: tokens.count, count: frame.count)
        place &+= 1
        frame = outer.removeLast()
      }
    }
  }

  @inline(__always)
  private func skipSpace(_ start: Int) -> Int {
    // Fast path for compact text without white space.
    guard byte(start) <= 0x20 else { return start }
    return skipLongSpace(start)
  }

  private func skipLongSpace(_ start: Int) -> Int {
    var place = start
    while true {
      let byte = byte(place)
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return place }
      place &+= 1
      while end &- place >= 8 {
        let spaces = (word(place) ^ 0x2020_2020_2020_2020).trailingZeroBitCount &>> 3
        place &+= spaces
        if spaces < 8 { break }
      }
    }
  }

  /// Scans a key, the colon and the white space after the colon. Returns the offset of the value.
  @inline(__always)
  private func key(_ start: Int, isFirst: Bool, _ tokens: inout JSONTokenBuffer) throws(ArchiveError) -> Int {
    guard byte(start) == UInt8(ascii: "\"") else { throw noKey(isFirst, start) }
    let place = skipSpace(try string(start, &tokens))
    guard byte(place) == UInt8(ascii: ":") else {
      throw failure("found \(found(place)) after a key; a colon must follow the key", at: place)
    }
    return skipSpace(place &+ 1)
  }

  /// Scans `true`, `false` or `null`. Returns the offset after the word.
  ///
  /// - Parameter letters: the expected word, as a little-endian integer.
  @inline(__always)
  private func word(_ letters: UInt64, length: Int, _ start: Int) throws(ArchiveError) -> Int {
    if end &- start >= 8, word(start) &<< UInt64(64 &- 8 &* length) == letters &<< UInt64(64 &- 8 &* length) {
      return start &+ length
    }
    return try slowWord(letters, length: length, start)
  }

  private func slowWord(_ letters: UInt64, length: Int, _ start: Int) throws(ArchiveError) -> Int {
    for place in 0..<length {
      guard byte(start + place) == UInt8(truncatingIfNeeded: letters >> UInt64(8 * place)) else {
        throw failure(
          "found \(found(start + place)) in an unquoted word; put the word in double quotes unless it is true, false "
            + "or null",
          at: start + place)
      }
    }
    return start + length
  }
}
