internal import ArgumentParser
internal import Foundation

/// The command line tool.
package enum Tool {
  /// Of the library and the tool.
  package static let version = "0.1.0"

  static let wrongUsage: Int32 = 64
  /// What a shell makes of the signal SIGPIPE.
  static let brokenPipe: Int32 = 128 + 13

  /// Runs the command that the arguments name, without the name of the program.
  ///
  /// - Returns: the exit code: 0 where all went well, 64 for arguments that make no sense, and for a failure 1,
  ///   or 2 of those commands whose 1 says that there are differences or conflicts. 141 where nobody reads the output any
  ///   more.
  package static func run(_ arguments: [String], on console: Console) -> Int32 {
    var (arguments, console) = (arguments, console)
    do { console.colours = try ColourChoice.take(from: &arguments) } catch {
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
        // No command, or a request for help, which throws the text to print.
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

  /// The command that arguments name.
  static func parse(_ arguments: [String]) throws -> any ParsableCommand { try StrataCommand.parseAsRoot(arguments) }

  private static func isOfParser(_ error: any Error) -> Bool {
    error is CleanExit || error is ExitCode || StrataCommand.exitCode(for: error) != .failure
  }

  /// Prints help where that was asked for, or else what is wrong with the arguments.
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
    // The whole message ends with the command whose help has more.
    let help = StrataCommand.fullMessage(for: error).firstMatch(of: /See '([^'\n]+ --help)'/).map { String($0.1) }
    console.errorLine((message ?? "the arguments make no sense") + " (\(help ?? "strata --help") tells more)")
    return wrongUsage
  }
}
