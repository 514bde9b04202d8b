/// The line of a help that begins with `USAGE:`. The argument parser names every option in it, in the order of their declaration
/// and however long that becomes; they are listed below it anyway.
struct UsageLine {
  private static let start = "USAGE: "

  /// A help whose line of usage has what must be given, arguments first, and the options as one.
  static func shortened(in help: String) -> String {
    help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix(start)
        ? start + shortened(parts(of: line.dropFirst(start.count))).joined(separator: " ") : String(line)
    }.joined(separator: "\n")
  }

  /// The words of a line, and what stands in brackets as one; an option that must be given has its value with it.
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
