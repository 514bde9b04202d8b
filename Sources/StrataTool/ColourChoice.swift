internal import ArgumentParser

/// The value of `--color`, which determines whether output is coloured.
enum ColourChoice: String, CaseIterable, ExpressibleByArgument {
  /// Output is coloured on a terminal, unless the environment turns colours off.
  case auto
  case always, never

  /// Removes every `--color` before `--` from the arguments, because all commands accept this option. The last
  /// occurrence takes effect.
  ///
  /// - Throws: `ToolError` for a missing or unknown value.
  static func extract(from arguments: inout [String]) throws -> ColourChoice {
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
          throw ToolError("--color requires a value: auto, always or never")
        }
        value = arguments.remove(at: place)
      }
      guard let found = ColourChoice(rawValue: value) else { throw ToolError("--color must be auto, always or never") }
      choice = found
    }
    return choice
  }

  /// Returns whether the output to a stream is coloured.
  ///
  /// - Parameter environment: with `auto`, a nonempty `NO_COLOR` or `TERM=dumb` turns colours off (no-color.org).
  func isColoured(onTerminal isTerminal: Bool, _ environment: [String: String]) -> Bool {
    switch self {
    case .always: true
    case .never: false
    case .auto: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }
  }
}
