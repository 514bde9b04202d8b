internal import ArgumentParser
internal import Foundation

/// The command-line tool.
public enum Tool {
  /// The version of the library and the tool.
  package static let version = "0.1.0"

  static let wrongUsage: Int32 = 64
  /// The exit code that a shell reports if a process is ended by SIGPIPE.
  static let brokenPipe: Int32 = 128 + 13

  /// Runs the command that the arguments name. The arguments do not include the name of the program.
  ///
  /// - Returns: the exit code, which is 0 for success, 64 for invalid arguments, and 141 if the reader of the output
  ///   has closed the pipe. A failure returns 1, or 2 in commands that return 1 for differences or conflicts.
  package static func run(_ arguments: [String], on console: Console) -> Int32 {
    var (arguments, console) = (arguments, console)
    if let name = console.models.ambiguousName {
      console.errorLine("two models of this program have the name \(name); rename one of the models")
      return wrongUsage
    }
    do { console.colours = try ColourChoice.extract(from: &arguments) } catch {
      console.errorLine(ToolError.message(of: error))
      return wrongUsage
    }
    let command: any ParsableCommand
    do { command = try parse(arguments) } catch {
      if StrataCommand.exitCode(for: error) != .success, let unknown = UnknownCommand.find(in: arguments) {
        console.errorLine(unknown.message)
        return wrongUsage
      }
      return stop(error, console)
    }
    let failure = (type(of: command) as? any ToolCommand.Type)?.failureCode ?? 1
    do {
      guard let command = command as? any ToolCommand else {
        // This is the root command or a request for help. In both cases, `run` throws the text to print.
        var command = command
        try command.run()
        return 0
      }
      return try command.run(on: console)
    } catch is BrokenPipe {
      return brokenPipe
    } catch let error as ToolError {
      console.errorLine(error.message)
      return failure
    } catch  where isOfParser(error) {
      return stop(error, console)
    } catch {
      console.errorLine(ToolError.message(of: error))
      return failure
    }
  }

  /// Parses the arguments as a command.
  static func parse(_ arguments: [String]) throws -> any ParsableCommand { try StrataCommand.parseAsRoot(arguments) }

  private static func isOfParser(_ error: any Error) -> Bool {
    error is CleanExit || error is ExitCode || StrataCommand.exitCode(for: error) != .failure
  }

  /// Prints the help if it was requested, and otherwise the error in the arguments.
  private static func stop(_ error: any Error, _ console: Console) -> Int32 {
    guard StrataCommand.exitCode(for: error) != .success else {
      do { try console.line(UsageLine.shortened(in: StrataCommand.fullMessage(for: error))) } catch is BrokenPipe {
        return brokenPipe
      } catch {
        console.errorLine(ToolError.message(of: error))
        return 1
      }
      return 0
    }
    let message = StrataCommand.message(for: error).split(separator: "\n").first.map(String.init)
    // The full message ends with the command that shows the relevant help, such as `See 'strata decode --help'`.
    let help = StrataCommand.fullMessage(for: error).firstMatch(of: /See '([^'\n]+ --help)'/).map { String($0.1) }
    console.errorLine((message ?? "the arguments are invalid") + " (see \(help ?? "strata --help"))")
    return wrongUsage
  }
}
