extension JSONParser {
  /// The error for text that is not JSON.
  func failure(_ text: String, at offset: Int) -> ArchiveError {
    ArchiveError(.invalidJSON, "\(position(of: offset)): \(text)", byteOffset: offset)
  }

  /// The error for text that goes beyond a limit.
  func exceeded(_ limit: ArchiveLimits.Limit, _ text: String, at offset: Int) -> ArchiveError {
    // No setting of the limit helps beyond the maximum depth.
    let isFixed = limit == .depth && depthLimit == JSONReader.maximumDepth
    let advice = isFixed ? "no document may be deeper" : "raise the limit only if the source is trusted"
    let reason = "\(position(of: offset)): \(text); \(advice)"
    return ArchiveError(.limitExceeded, reason, limit: limit, byteOffset: offset)
  }

  /// The line and the column of a byte. They are counted here, and only here, to keep reading fast.
  private func position(of offset: Int) -> String {
    var line = 1
    var start = 0
    for place in 0..<min(offset, end) where bytes[place] == 0x0A {
      line += 1
      start = place + 1
    }
    return "line \(line), column \(offset - start + 1) (in bytes)"
  }

  /// What stands at the current place. Only punctuation is quoted, since anything else could be content.
  var found: String {
    guard place < end else { return "the end of the text" }
    switch bytes[place] {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return "a digit"
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): return "a letter"
    case UInt8(ascii: "\""): return "a double quote"
    case 0x20, 0x09, 0x0A, 0x0D: return "white space"
    case 0x21...0x7E: return "\"\(Unicode.Scalar(bytes[place]))\""
    case 0x80...: return "a byte outside ASCII"
    default: return "a control character"
    }
  }
}
