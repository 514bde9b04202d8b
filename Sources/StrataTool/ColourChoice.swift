internal import ArgumentParser

/// What `--color` says: whether colours are printed.
enum ColourChoice: String, CaseIterable, ExpressibleByArgument {
  /// On a terminal, unless its user wants none.
  case auto
  case always, never

  /// Takes `--color` out of the arguments, since every command has it, at any place before `--`. The last one counts.
  ///
  /// - Throws: `ToolError` for a value that is none of the three.
  static func take(from arguments: inout [String]) throws -> ColourChoice {
    var choice = ColourChoice.auto
    var place = 0
    while place < arguments.count, arguments[place] != "--" {
      let argument = arguments[place]
      guard argument == "--color" || argument.hasPrefix("--color=") else {
        place += 1
        continue
      }
      arguments.remove(at: place)
      let value: String
      if argument.hasPrefix("--color=") {
        value = String(argument.dropFirst("--color=".count))
      } else {
        guard place < arguments.count else {
          throw ToolError("--color is auto, always or never; there is no word behind it")
        }
        value = arguments.remove(at: place)
      }
      guard let found = ColourChoice(rawValue: value) else { throw ToolError("--color is auto, always or never") }
      choice = found
    }
    return choice
  }

  /// Whether there are colours on a stream.
  ///
  /// - Parameter environment: `NO_COLOR` with any text in it, and `TERM=dumb`, say that there are none (no-color.org).
  func isColoured(onTerminal isTerminal: Bool, _ environment: [String: String]) -> Bool {
    switch self {
    case .always: true
    case .never: false
    case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
  }
}
