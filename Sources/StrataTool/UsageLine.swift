/// Shortens the `USAGE:` line of a help text. The argument parser lists every option in that line, although the rest of
/// the help text also lists the options.
struct UsageLine {
  private static let start = "USAGE: "

  /// Returns the help with a shorter usage line, which lists the arguments, the required options, and `[<options>]` for
  /// all other options.
  static func shortened(in help: String) -> String {
    help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix(start)
        ? start + shortened(parts(of: line.dropFirst(start.count))).joined(separator: " ") : String(line)
    }.joined(separator: "\n")
  }

  /// Splits a usage line into parts. A group in brackets is a single part, and so is a required option with its value.
  private static func parts(of line: Substring) -> [String] {
    var parts: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      if depth > 0 || word.hasPrefix("<") && parts.last?.hasPrefix("--") == true && parts.last?.contains(" ") == false {
        parts[parts.count - 1] += " " + word
      } else if word == "...", !parts.isEmpty {
        parts[parts.count - 1] += " " + word
      } else {
        parts.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return parts
  }

  private static func shortened(_ parts: [String]) -> [String] {
    let options = parts.filter { $0.hasPrefix("[-") || $0 == "[<options>]" }
    let needed = parts.filter { $0.hasPrefix("-") }
    let others = parts.filter { !$0.hasPrefix("[-") && !$0.hasPrefix("-") && $0 != "[<options>]" }
    return others + needed + (options.isEmpty ? [] : ["[<options>]"])
  }
}
