internal import ArgumentParser

/// A command that uses a console for its input and output.
protocol ToolCommand: ParsableCommand {
  /// The exit code if the command fails.
  static var failureCode: Int32 { get }

  /// - Returns: the exit code.
  func run(on console: Console) throws -> Int32
}

extension ToolCommand {
  static var failureCode: Int32 { 1 }
}
