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
  /// Whether somebody watches standard error.
  package var showsProgress: Bool

  package init(
    read: @escaping () throws -> Data, write: @escaping (Data) throws -> Void,
    writeError: @escaping (Data) -> Void, width: Int = 100, showsProgress: Bool = false
  ) {
    self.read = read
    self.write = write
    self.writeError = writeError
    self.width = width
    self.showsProgress = showsProgress
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
      width: terminalWidth ?? 100, showsProgress: isatty(STDERR_FILENO) == 1)
  }

  private static var terminalWidth: Int? {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return size.ws_col > 0 ? max(Int(size.ws_col), 20) : nil
  }

  func line(_ text: String = "") throws { try write(Data((text + "\n").utf8)) }

  func errorLine(_ text: String) { writeError(Data(("strata: " + text + "\n").utf8)) }

  /// Shows a line that the next one replaces, where somebody watches.
  func progress(_ text: String) {
    guard showsProgress else { return }
    writeError(Data(("\r\u{1B}[K" + text.cut(to: max(width - 1, 1))).utf8))
  }

  func clearProgress() {
    if showsProgress { writeError(Data("\r\u{1B}[K".utf8)) }
  }
}
