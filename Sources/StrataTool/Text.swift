extension String {
  /// Returns the text, cut to `width` columns with an ellipsis at the end if it is wider.
  func cut(to width: Int) -> String {
    guard width > 0 else { return "" }
    // A character is never wider than its number of bytes, so text with at most `width` bytes need not be cut.
    if utf8.count <= width { return self }
    var (columns, end) = (0, startIndex)
    var place = startIndex
    while place < endIndex {
      columns += self[place].terminalWidth
      if columns > width { return self[..<end] + "…" }
      formIndex(after: &place)
      // The text before this index leaves one column for the ellipsis.
      if columns < width { end = place }
    }
    return self
  }

  /// The number of columns that the text occupies on a terminal.
  var terminalWidth: Int { reduce(0) { $0 + $1.terminalWidth } }

  /// Returns the text padded with leading spaces to a width.
  func indented(to width: Int) -> String {
    String(repeating: " ", count: max(width - terminalWidth, 0)) + self
  }

  func padded(to width: Int) -> String {
    let length = terminalWidth
    return length < width ? self + String(repeating: " ", count: width - length) : self
  }
}

extension Character {
  /// The blocks of wide East Asian characters, which occupy two columns (Unicode Standard Annex 11).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
    0x20000...0x3FFFD,
  ]

  /// The number of columns that the character occupies on a terminal, which is 2 for wide characters and emoji and 1
  /// for all others.
  var terminalWidth: Int {
    guard let first = unicodeScalars.first, first.value >= 0x1100 else { return 1 }
    if first.properties.isEmojiPresentation || unicodeScalars.contains("\u{FE0F}") { return 2 }
    return Self.wide.contains { $0.contains(first.value) } ? 2 : 1
  }
}

extension BinaryInteger {
  /// The number with separators between thousands, such as `1,234,567`, independent of the locale.
  var grouped: String {
    let digits = Array(String(magnitude))
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// Returns the number followed by a noun in the singular or plural, such as `1 value` or `2,000 values`.
  func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }
}

/// Returns the quotient with the given number of decimal places, independent of the locale; `–` if the divisor is 0.
func ratio(_ dividend: UInt64, _ divisor: UInt64, places: Int = 2) -> String {
  guard divisor > 0 else { return "–" }
  let scale = (0..<places).reduce(UInt64(1)) { scale, _ in scale * 10 }
  let (scaled, overflow) = dividend.multipliedReportingOverflow(by: scale)
  guard !overflow else { return (dividend / divisor).grouped }
  let rounded = scaled / divisor + (scaled % divisor * 2 >= divisor ? 1 : 0)
  guard places > 0 else { return rounded.grouped }
  let fraction = String(rounded % scale)
  return (rounded / scale).grouped + "." + String(repeating: "0", count: places - fraction.count) + fraction
}

/// Returns a fingerprint as 16 hexadecimal digits.
func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
