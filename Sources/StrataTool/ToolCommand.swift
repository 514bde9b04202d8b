internal import ArgumentParser

/// A command that is told where to read and write.
protocol ToolCommand: ParsableCommand {
  /// - Returns: the exit code.
  func run(on console: Console) throws -> Int32
}
