internal import Foundation
public import StrataCore

extension Tool {
  /// Runs the tool with the arguments of this process and ends the process.
  ///
  ///     import StrataTool
  ///
  ///     @main enum Main {
  ///       static func main() { Tool.main(Issue.self, Settings.self) }
  ///     }
  ///
  /// - Parameter models: the models that the app archives, including subclasses. Optionals and collections of a model,
  ///   and models inside other models, need not be listed.
  public static func main(_ models: any VersionedModel.Type...) -> Never { exit(runProcess(ToolModels(models))) }

  /// Runs the tool with the arguments of this process.
  ///
  /// - Returns: the exit code of ``run(_:on:)``, or 64 if an argument or the path of the current folder is not UTF-8.
  private static func runProcess(_ models: ToolModels) -> Int32 {
    openStandardStreams()
    // Exceeding the system's file size limit must cause an error (EFBIG), like a full disk. Otherwise the signal would
    // end the process and leave partial files behind.
    signal(SIGXFSZ, SIG_IGN)
    // Writing to a closed pipe must cause an error (EPIPE), so that the tool can clean up first. It then ends with this
    // signal and without a message, like other programs.
    signal(SIGPIPE, SIG_IGN)
    var console = Console.standard
    console.models = models
    guard isCurrentFolderText else {
      console.errorLine("the path of the current folder is not valid UTF-8; run the command in a different folder")
      return wrongUsage
    }
    var arguments: [String] = []
    for place in 1..<max(Int(CommandLine.argc), 1) {
      // `CommandLine.arguments` replaces all invalid UTF-8 with the same character, so two different file names could
      // become the same.
      guard let argument = CommandLine.unsafeArgv[place].flatMap({ String(validatingCString: $0) })
      else {
        console.errorLine("argument \(place) is not valid UTF-8; if it is the name of a file, rename the file")
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

  /// Whether the path of the current folder is UTF-8. If it is not, Foundation resolves relative paths in a different
  /// folder.
  private static var isCurrentFolderText: Bool {
    // If the current folder no longer exists, the error is thrown when a file in it is opened.
    guard let path = getcwd(nil, 0) else { return true }
    defer { free(path) }
    return String(validatingCString: path) != nil
  }

  /// Opens `/dev/null` for each standard stream that is closed. Otherwise the next opened file would get the stream's
  /// descriptor, and output would be written into that file.
  private static func openStandardStreams() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) == -1 {
      // `open` uses the lowest free descriptor. Because of the wrong access mode, each use of the descriptor fails, as
      // if the stream were closed.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
