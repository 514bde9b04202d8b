internal import Foundation

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension Tool {
  /// Runs the command that this process was started with.
  ///
  /// - Returns: the exit code, as ``run(_:on:)`` gives it; 64 for an argument that is not UTF-8.
  package static func runProcess() -> Int32 {
    openStandardStreams()
    // Who writes beyond the size that the system allows for a file gets an error (EFBIG), as from a full disk. The signal
    // would end the process, and leave behind what is half written.
    signal(SIGXFSZ, SIG_IGN)
    // The same holds for a reader of standard output that goes away. Other programs say no word then, and are ended by the
    // signal; so is this one, once everything is cleaned up.
    signal(SIGPIPE, SIG_IGN)
    let console = Console.standard
    guard isCurrentFolderText else {
      console.errorLine("the path of the current folder is not UTF-8; go to another one, and name files from there")
      return wrongUsage
    }
    var arguments: [String] = []
    for place in 1..<max(Int(CommandLine.argc), 1) {
      // `CommandLine.arguments` puts the same character in place of all that is not UTF-8, and two files become one.
      guard let argument = CommandLine.unsafeArgv[place].flatMap({ String(validatingCString: $0) })
      else {
        console.errorLine("argument \(place) is not UTF-8; a file of such a name must be renamed")
        return wrongUsage
      }
      arguments.append(argument)
    }
    let code = run(arguments, on: console)
    if code == brokenPipe {
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
    }
    return code
  }

  /// Whether Foundation can name the current folder, which it puts before paths: else it would name another one.
  private static var isCurrentFolderText: Bool {
    // Where there is none any more, each file that is looked for there says so.
    guard let path = getcwd(nil, 0) else { return true }
    defer { free(path) }
    return String(validatingCString: path) != nil
  }

  /// Puts something in the place of standard streams that are closed: the next file that is opened would take it, and what
  /// is printed would go into that file.
  private static func openStandardStreams() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is taken. Using it in the other direction fails, as it does with one that is closed.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
