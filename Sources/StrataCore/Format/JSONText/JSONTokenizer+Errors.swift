extension JSONTokenizer {
  /// Returns the error for a text that is not valid JSON.
  @inline(never)
  func failure(_ text: String, at offset: Int) -> ArchiveError {
    var text = text
    if offset == 0, let other = ForeignFormat(bytes), other != .json { text += "; \(other.advice)" }
    return ArchiveError(.invalidJSON, text, byteOffset: offset).located(in: bytes)
  }

  /// Returns the error for a text that exceeds a limit.
  @inline(never)
  private func exceeded(_ limit: ArchiveLimits.Limit, _ text: String, at offset: Int) -> ArchiveError {
    // If the text exceeds the fixed maximum depth, the message must not suggest raising the limit.
    let isFixed = limit == .depth && (depthLimit < limits.depth || depthLimit == Self.maximumDepth)
    let advice = isFixed ? "the limit cannot be raised" : "raise the limit only if the source is trusted"
    return ArchiveError(.limitExceeded, "\(text); \(advice)", limit: limit, byteOffset: offset).located(in: bytes)
  }

  func tooDeep(_ place: Int) -> ArchiveError {
    exceeded(.depth, "the JSON is nested deeper than the limit of \(depthLimit) levels", at: place)
  }

  func tooMany(_ isObject: Bool, _ place: Int) -> ArchiveError {
    let text =
      isObject
      ? "an object has more than the limit of \(limits.count) entries"
      : "an array has more than the limit of \(limits.count) elements"
    return exceeded(.count, text, at: place)
  }

  func tooManyValues(_ place: Int) -> ArchiveError {
    exceeded(.values, "the JSON has more than the limit of \(limits.values) values and keys", at: place)
  }

  func tooLong(_ start: Int, _ what: String = "a string") -> ArchiveError {
    exceeded(.stringLength, "\(what) is longer than the limit of \(limits.stringLength) bytes", at: start)
  }

  func notClosed(_ isObject: Bool, _ place: Int) -> ArchiveError {
    isObject
      ? failure("found \(found(place)) after a value in an object; a comma or \"}\" must follow the value", at: place)
      : failure("found \(found(place)) after a value in an array; a comma or \"]\" must follow the value", at: place)
  }

  func noKey(_ isFirst: Bool, _ place: Int) -> ArchiveError {
    if isFirst { return failure("found \(found(place)) where a key in double quotes or \"}\" is expected", at: place) }
    if byte(place) == UInt8(ascii: "}") {
      return failure("an object has a comma after its last value; remove the comma", at: place)
    }
    return failure("found \(found(place)) where a key in double quotes is expected", at: place)
  }

  func controlCharacter(_ place: Int) -> ArchiveError {
    place == end
      ? failure("the text ends inside a string; end the string with a double quote", at: place)
      : failure("a string contains a control character; write the character as an escape sequence", at: place)
  }

  func invalidUTF8(_ place: Int) -> ArchiveError {
    failure("a string is not valid UTF-8; JSON text must be UTF-8", at: place)
  }

  /// Describes the byte at an offset of the text for a message. Only punctuation is quoted. Any other byte could be
  /// part of the user's content.
  func found(_ place: Int) -> String {
    guard place < end else { return "the end of the text" }
    switch byte(place) {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return "a digit"
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return "a letter"
    case UInt8(ascii: "\""): return "a double quote"
    case 0x20, 0x09, 0x0A, 0x0D: return "whitespace"
    case 0x21...0x7E: return "\"\(Unicode.Scalar(byte(place)))\""
    case 0x80...: return "a non-ASCII byte"
    default: return "a control character"
    }
  }
}

extension ArchiveError {
  /// Returns the error with its line and column at the front of its reason, if it has a byte offset. Lines are counted only when an error
  /// leaves the reader, because counting them earlier would slow down reading.
  package func located(in bytes: RawSpan) -> ArchiveError {
    // Errors of validation rules get no position, because they refer to the decoded object, not to the text.
    guard let byteOffset, code != .invalid else { return self }
    var line = 1
    var start = 0
    for place in 0..<min(byteOffset, bytes.byteCount)
    where bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) == 0x0A {
      line += 1
      start = place + 1
    }
    let place = "line \(line), column \(byteOffset - start + 1) (in bytes)"
    return changed { $0.reason = "\(place): \(reason)" }
  }
}
