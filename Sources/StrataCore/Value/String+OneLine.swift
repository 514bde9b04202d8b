extension String {
  /// The text with control characters escaped. A terminal prints this text on one line and in the expected column.
  ///
  /// Bidirectional formatting characters are also escaped. Characters that only affect the joining of letters are not
  /// escaped.
  package var onOneLine: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}",
        "\u{2028}"..."\u{202E}",
        "\u{2066}"..."\u{2069}":
        text += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
