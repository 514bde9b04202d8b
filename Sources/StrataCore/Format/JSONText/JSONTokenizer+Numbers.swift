extension JSONTokenizer {
  /// Scans a number and returns the offset after it. The digits are converted only when the value is accessed.
  @inline(__always)
  func number(_ start: Int, _ tokens: inout JSONTokenBuffer) throws(ArchiveError) -> Int {
    var place = start
    if byte(place) == UInt8(ascii: "-") {
      place &+= 1
      guard Self.isDigit(byte(place)) else {
        throw failure("found \(found(place)) after a minus sign; a digit must follow the sign", at: place)
      }
    }
    if byte(place) == UInt8(ascii: "0") {
      place &+= 1
      if Self.isDigit(byte(place)) {
        throw failure("a number has a leading zero; remove the zero", at: place)
      }
    } else {
      place = skipDigits(place)
    }
    let byte = byte(place)
    guard byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") else {
      guard place &- start <= limits.stringLength else { throw tooLong(start, "a number") }
      tokens.append(JSONToken(.integer, at: start, length: place &- start))
      return place
    }
    place = try fraction(place)
    guard place &- start <= limits.stringLength else { throw tooLong(start, "a number") }
    tokens.append(JSONToken(.fraction, at: start, length: place &- start))
    return place
  }

  /// Scans a fraction, an exponent, or both. Returns the offset after them.
  private func fraction(_ start: Int) throws(ArchiveError) -> Int {
    var place = start
    if byte(place) == UInt8(ascii: ".") {
      place &+= 1
      guard Self.isDigit(byte(place)) else {
        throw failure("found \(found(place)) after a decimal point; a digit must follow the point", at: place)
      }
      place = skipDigits(place)
    }
    guard byte(place) | 0x20 == UInt8(ascii: "e") else { return place }
    place &+= 1
    if byte(place) == UInt8(ascii: "-") || byte(place) == UInt8(ascii: "+") { place &+= 1 }
    guard Self.isDigit(byte(place)) else {
      throw failure("found \(found(place)) in an exponent where a digit is expected", at: place)
    }
    return skipDigits(place)
  }

  @inline(__always)
  private func skipDigits(_ start: Int) -> Int {
    var place = start
    while Self.isDigit(byte(place)) { place &+= 1 }
    return place
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
