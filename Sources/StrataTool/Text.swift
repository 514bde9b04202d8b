extension String {
  /// The text, or its beginning and an ellipsis where it has more characters than `width`.
  func cut(to width: Int) -> String {
    guard let end = index(startIndex, offsetBy: width, limitedBy: endIndex), end != endIndex else {
      return self
    }
    return width < 1 ? "" : String(self[..<index(before: end)]) + "…"
  }

  func padded(to width: Int) -> String {
    let length = count
    return length < width ? self + String(repeating: " ", count: width - length) : self
  }
}

extension BinaryInteger {
  /// `1,234,567`, whatever the locale.
  var grouped: String {
    let digits = Array(String(magnitude))
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `1 value`, `2,000 values`.
  func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }
}

/// The quotient with a number of decimal places, whatever the locale; `–` where there is none.
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

/// A fingerprint as 16 digits.
func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}
