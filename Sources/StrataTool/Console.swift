package import Foundation

/// The error that is thrown when the reader of standard output has closed the pipe.
struct BrokenPipe: Error {}

/// The input and output of a command: the standard streams, or replacements in tests.
package struct Console {
  package var read: () throws -> Data
  /// Returns the next bytes of standard input as soon as some are available; empty at the end of the input.
  package var readSome: () throws -> Data
  package var write: (Data) throws -> Void
  package var writeError: (Data) -> Void
  /// The line width in columns: the width of the terminal, or a default.
  package var width: Int
  /// Whether standard output is a terminal.
  package var isTerminal: Bool
  /// Whether progress is shown. This is the case if standard error is a terminal.
  package var showsProgress: Bool
  /// The environment, for `NO_COLOR` and `TERM`.
  package var environment: [String: String]
  /// The models of the program.
  package var models = ToolModels()
  /// The value of `--color`.
  var colours = ColourChoice.auto

  package init(
    read: @escaping () throws -> Data, write: @escaping (Data) throws -> Void,
    writeError: @escaping (Data) -> Void, width: Int = 100, isTerminal: Bool = false, showsProgress: Bool = false,
    environment: [String: String] = [:]
  ) {
    self.read = read
    var isRead = false
    readSome = {
      guard !isRead else { return Data() }
      isRead = true
      return try read()
    }
    self.write = write
    self.writeError = writeError
    self.width = width
    self.isTerminal = isTerminal
    self.showsProgress = showsProgress
    self.environment = environment
  }

  /// A console that uses the standard streams of the process.
  package static var standard: Console {
    var console = Console(
      read: {
        do { return try FileHandle.standardInput.readToEnd() ?? Data() } catch {
          throw ToolError("cannot read standard input: " + ToolError.reason(of: error))
        }
      },
      write: { data in
        do { try FileHandle.standardOutput.write(contentsOf: data) } catch {
          let cause = ToolError.cause(of: error)
          if cause.domain == NSPOSIXErrorDomain, cause.code == Int(EPIPE) { throw BrokenPipe() }
          throw ToolError("cannot write to standard output: " + ToolError.reason(of: error))
        }
      },
      writeError: { data in
        // A failure to write to standard error cannot be reported. The exit code still shows that the command failed.
        try? FileHandle.standardError.write(contentsOf: data)
      },
      width: terminalWidth ?? 100, isTerminal: isatty(STDOUT_FILENO) == 1, showsProgress: isatty(STDERR_FILENO) == 1,
      environment: ProcessInfo.processInfo.environment)
    console.readSome = nextInput
    return console
  }

  /// The value of `COLUMNS`, or else the width of the terminal; at least 20. `nil` if standard output is not a
  /// terminal.
  private static var terminalWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    if let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 {
      return max(columns, 20)
    }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return size.ws_col > 0 ? max(Int(size.ws_col), 20) : nil
  }

  /// The width to which lines are cut on a terminal. Lines are never cut if the output is not a terminal.
  var lineWidth: Int { isTerminal ? width : .max }

  /// Whether standard output is coloured.
  var isColoured: Bool { colours.isColoured(onTerminal: isTerminal, environment) }

  /// Returns the text in a style, or unchanged if standard output is not coloured.
  func paint(_ text: String, _ style: TextStyle?) -> String { text.painted(style, isColoured) }

  func line(_ text: String = "") throws { try write(Data((text + "\n").utf8)) }

  /// Prints lines in a single write. Prints nothing if there are no lines.
  func lines(_ lines: [String]) throws { if !lines.isEmpty { try line(lines.joined(separator: "\n")) } }

  /// Prints an error to standard error.
  func errorLine(_ text: String) { printStatus(text, .red) }

  /// Prints a note to standard error. A note does not mean that the command fails.
  func noteLine(_ text: String) { printStatus(text, .yellow) }

  private func printStatus(_ text: String, _ style: TextStyle) {
    let name = "strata:".painted(style, colours.isColoured(onTerminal: showsProgress, environment))
    writeError(Data((name + " " + text + "\n").utf8))
  }

  /// Shows a line on standard error that the next progress line replaces. Does nothing unless progress is shown.
  func progress(_ text: String) {
    guard showsProgress else { return }
    writeError(Data(("\r\u{1B}[K" + text.cut(to: max(width - 1, 1))).utf8))
  }

  func clearProgress() {
    if showsProgress { writeError(Data("\r\u{1B}[K".utf8)) }
  }
}

/// Returns the next bytes of standard input, at most 64 KiB.
private func nextInput() throws -> Data {
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = buffer.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, $0.count) }
    if count >= 0 { return Data(buffer[..<count]) }
    guard errno == EINTR else { throw ToolError("cannot read standard input: " + String(cString: strerror(errno))) }
  }
}
