/// A text style on a terminal. The raw value is the SGR parameter from ECMA-48, section 8.3.117.
enum TextStyle: Int {
  case bold = 1
  case dim = 2
  case red = 31
  case green = 32
  case yellow = 33
  case magenta = 35
  case cyan = 36
}

extension String {
  /// Returns the text wrapped in ANSI color codes, or unchanged if color is off.
  func painted(_ style: TextStyle?, _ isColoured: Bool) -> String {
    guard isColoured, let style, !isEmpty else { return self }
    return "\u{1B}[\(style.rawValue)m\(self)\u{1B}[0m"
  }
}
