internal import ArgumentParser

/// A command that reads and writes through a console.
protocol ToolCommand: ParsableCommand {
  /// The exit code of a failure.
  static var failureCode: Int32 { get }

  /// - Returns: the exit code.
  func run(on console: Console) throws -> Int32
}

extension ToolCommand {
  static var failureCode: Int32 { 1 }
}
