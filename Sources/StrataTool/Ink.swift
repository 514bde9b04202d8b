/// How text looks on a terminal, by its number in ECMA-48, section 8.3.117 (“select graphic rendition”).
enum Ink: Int {
  case bold = 1
  case dim = 2
  case red = 31
  case green = 32
  case yellow = 33
  case magenta = 35
  case cyan = 36
}

extension String {
  /// The text in an ink, or as it is where there are no colours.
  func painted(_ ink: Ink?, _ isColoured: Bool) -> String {
    guard isColoured, let ink, !isEmpty else { return self }
    return "\u{1B}[\(ink.rawValue)m\(self)\u{1B}[0m"
  }
}
