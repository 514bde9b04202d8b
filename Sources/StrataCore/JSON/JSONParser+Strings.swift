extension JSONParser {
  /// A string, from the double quote at the current place to behind the one that ends it.
  mutating func string() throws(ArchiveError) -> String {
    let start = place + 1
    var place = start
    var seen: UInt8 = 0
    while true {
      let byte = bytes[place]
      if byte == UInt8(ascii: "\"") { break }
      if byte == UInt8(ascii: "\\") || byte < 0x20 {
        self.place = place
        return try stringWithEscapes(from: start)
      }
      seen |= byte
      place += 1
    }
    self.place = place + 1
    guard place - start <= limits.stringLength else { throw tooLong(at: start) }
    // ASCII needs no validation, and this initialiser is by far the faster one.
    isPlain = seen < 0x80
    if isPlain { return String(decoding: bytes[start..<place], as: UTF8.self) }
    guard let string = String(validating: bytes[start..<place], as: UTF8.self) else {
      throw invalidUTF8(in: start..<place)
    }
    return string
  }

  /// The rest of a string whose first escape, or whose flaw, stands at the current place.
  private mutating func stringWithEscapes(from start: Int) throws(ArchiveError) -> String {
    isPlain = false
    scratch.removeAll(keepingCapacity: true)
    var run = start
    while true {
      let byte = bytes[place]
      guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 else {
        place += 1
        continue
      }
      guard byte >= 0x20 else { throw controlCharacter() }
      guard scratch.count + (place - run) <= limits.stringLength else { throw tooLong(at: start) }
      scratch.append(contentsOf: bytes[run..<place])
      if byte == UInt8(ascii: "\"") { break }
      try escape()
      run = place
    }
    guard scratch.count <= limits.stringLength else { throw tooLong(at: start) }
    guard let string = String(validating: scratch, as: UTF8.self) else {
      throw invalidUTF8(in: start..<place)
    }
    place += 1
    return string
  }

  /// Appends what the escape at the current place stands for.
  private mutating func escape() throws(ArchiveError) {
    place += 1
    switch bytes[place] {
    case UInt8(ascii: "\""): scratch.append(0x22)
    case UInt8(ascii: "\\"): scratch.append(0x5C)
    case UInt8(ascii: "/"): scratch.append(0x2F)
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "n"): scratch.append(0x0A)
    case UInt8(ascii: "r"): scratch.append(0x0D)
    case UInt8(ascii: "t"): scratch.append(0x09)
    case UInt8(ascii: "u"):
      place += 1
      append(try scalar())
      return
    default:
      throw failure(
        "\(found) follows a backslash; one of the quote, backslash, slash, b, f, n, r, t and u must follow",
        at: place)
    }
    place += 1
  }

  /// The scalar of one `\u` escape, or of two that are a surrogate pair. The current place is behind the first u.
  private mutating func scalar() throws(ArchiveError) -> Unicode.Scalar {
    let start = place - 2
    let unit = try codeUnit()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00 else {
      throw failure("an escape is a low surrogate; a high surrogate must precede it", at: start)
    }
    guard bytes[place] == UInt8(ascii: "\\"), bytes[place + 1] == UInt8(ascii: "u") else {
      throw failure("an escape is a high surrogate; the escape of a low surrogate must follow", at: start)
    }
    place += 2
    let low = try codeUnit()
    guard 0xDC00..<0xE000 ~= low,
      let scalar = Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
    else {
      throw failure("an escape is a high surrogate; the escape of a low surrogate must follow", at: start)
    }
    return scalar
  }

  /// The four hexadecimal digits at the current place.
  private mutating func codeUnit() throws(ArchiveError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      let byte = bytes[place]
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default:
        throw failure("\(found) stands in a \\u escape; four hexadecimal digits must follow the u", at: place)
      }
      unit = unit << 4 | UInt32(digit)
      place += 1
    }
    return unit
  }

  private mutating func append(_ scalar: Unicode.Scalar) {
    scratch.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
  }

  private func controlCharacter() -> ArchiveError {
    place == end
      ? failure("the text ends inside a string; a double quote must end it", at: place)
      : failure("a control character stands in a string; it must be written as an escape", at: place)
  }

  private func tooLong(at start: Int) -> ArchiveError {
    exceeded(.stringLength, "a string has more than \(limits.stringLength) bytes", at: start)
  }

  /// The error for a string that is not UTF-8, at the first byte that makes it so.
  private func invalidUTF8(in range: Range<Int>) -> ArchiveError {
    var parser = UTF8.ForwardParser()
    var rest = bytes[range].makeIterator()
    var place = range.lowerBound
    scan: while true {
      switch parser.parseScalar(from: &rest) {
      case .valid(let units): place += units.count
      case .error, .emptyInput: break scan
      }
    }
    return failure("a string is not valid UTF-8 here; JSON text must be UTF-8 throughout", at: place)
  }
}
