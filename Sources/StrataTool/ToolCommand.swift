internal import ArgumentParser

/// A command that is told where to read and write.
protocol ToolCommand: ParsableCommand {
  /// The exit code of a failure.
  static var failureCode: Int32 { get }

  /// - Returns: the exit code.
  func run(on console: Console) throws -> Int32
}

extension ToolCommand {
  static var failureCode: Int32 { 1 }
}
