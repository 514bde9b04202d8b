package import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Nobody reads standard output any more.
struct BrokenPipe: Error {}

/// Where a command reads and writes: the standard streams, or what a test gives it.
package struct Console {
  package var read: () throws -> Data
  package var write: (Data) throws -> Void
  package var writeError: (Data) -> Void
  /// Columns of the terminal, or of what stands for one.
  package var width: Int
  /// Whether standard output is a terminal.
  package var isTerminal: Bool
  /// Whether somebody watches standard error.
  package var showsProgress: Bool
  /// The variables that say how a terminal is to be used.
  package var environment: [String: String]
  /// What `--color` says.
  var colours = ColourChoice.auto

  package init(
    read: @escaping () throws -> Data, write: @escaping (Data) throws -> Void,
    writeError: @escaping (Data) -> Void, width: Int = 100, isTerminal: Bool = false, showsProgress: Bool = false,
    environment: [String: String] = [:]
  ) {
    self.read = read
    self.write = write
    self.writeError = writeError
    self.width = width
    self.isTerminal = isTerminal
    self.showsProgress = showsProgress
    self.environment = environment
  }

  /// The streams of the process.
  package static var standard: Console {
    Console(
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
        // Where this cannot be told, there is no place left to tell it; the exit code still does.
        try? FileHandle.standardError.write(contentsOf: data)
      },
      width: terminalWidth ?? 100, isTerminal: isatty(STDOUT_FILENO) == 1, showsProgress: isatty(STDERR_FILENO) == 1,
      environment: ProcessInfo.processInfo.environment)
  }

  /// What `COLUMNS` says, or else the terminal.
  private static var terminalWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    if let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 {
      return max(columns, 20)
    }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return size.ws_col > 0 ? max(Int(size.ws_col), 20) : nil
  }

  /// How wide lines may be that are cut for a terminal alone: in a pipe nothing is.
  var lineWidth: Int { isTerminal ? width : .max }

  /// Whether what goes to standard output has colours.
  var isColoured: Bool { colours.isColoured(onTerminal: isTerminal, environment) }

  /// Text for standard output in an ink.
  func paint(_ text: String, _ ink: Ink?) -> String { text.painted(ink, isColoured) }

  func line(_ text: String = "") throws { try write(Data((text + "\n").utf8)) }

  /// Tells on standard error what went wrong.
  func errorLine(_ text: String) { tell(text, .red) }

  /// Tells on standard error what is good to know, and no failure.
  func noteLine(_ text: String) { tell(text, .yellow) }

  private func tell(_ text: String, _ ink: Ink) {
    let name = "strata:".painted(ink, colours.isColoured(onTerminal: showsProgress, environment))
    writeError(Data((name + " " + text + "\n").utf8))
  }

  /// Shows a line that the next one replaces, where somebody watches.
  func progress(_ text: String) {
    guard showsProgress else { return }
    writeError(Data(("\r\u{1B}[K" + text.cut(to: max(width - 1, 1))).utf8))
  }

  func clearProgress() {
    if showsProgress { writeError(Data("\r\u{1B}[K".utf8)) }
  }
}
