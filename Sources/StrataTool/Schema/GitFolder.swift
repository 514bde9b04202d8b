internal import Foundation
internal import StrataCore

/// A folder in a Git revision, compared with the folder's current files.
struct GitFolder {
  let name: String
  /// The paths of the files in the revision, relative to the folder.
  let files: Set<String>
  /// The files of the revision that have since been changed or removed.
  let changes: [(path: String, isRemoved: Bool)]

  /// - Throws: `ToolError` if Git cannot be run or does not know the revision.
  init(_ name: String, of folder: String) throws {
    // Git would interpret a name with a leading hyphen as an option.
    guard !name.isEmpty, !name.hasPrefix("-") else {
      throw ToolError("--against \(name): the name is not a valid Git revision")
    }
    let (revision, reason) = try Self.git(["rev-parse", "--verify", name + "^{commit}"], in: folder)
    guard let revision else {
      throw ToolError(
        "--against \(name): git cannot find the revision in \(folder) (\(reason)); if it is remote, run git fetch"
      )
    }
    func words(_ arguments: [String]) throws -> [String] {
      let (output, reason) = try Self.git(arguments, in: folder)
      guard let output else { throw ToolError("\(folder): git failed: \(reason)") }
      return output.split(separator: "\0").map(String.init)
    }
    let commit = revision.trimmingCharacters(in: .newlines)
    self.name = name
    files = Set(try words(["ls-tree", "-r", "-z", "--name-only", commit]))
    // Git compares contents in their stored form, so line endings that differ only in the working tree are not reported
    // as changes.
    let lines = try words([
      "-c", "core.fileMode=false", "diff", "--no-renames", "--no-ext-diff", "--name-status", "-z", "--relative", commit,
      "--", ".",
    ])
    changes = stride(from: 0, to: lines.count - 1, by: 2).compactMap { index in
      lines[index] == "A" ? nil : (lines[index + 1], lines[index] == "D")
    }
  }

  /// Runs Git in a folder.
  ///
  /// - Returns: the output, which is `nil` if Git failed, and the first line of Git's messages.
  private static func git(_ arguments: [String], in folder: String) throws -> (output: String?, message: String) {
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      throw ToolError("git cannot be run on this platform; omit --against")
    #else
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["git", "--no-optional-locks", "-C", folder] + arguments
      let output = Pipe()
      // Git's messages are written to a file. A second pipe could fill up while the first pipe is read, and Git would
      // then wait forever.
      return try TemporaryFiles.withFolder(beside: FileManager.default.temporaryDirectory.appending(path: "git")) {
        temporary in
        let messages = temporary.appending(path: "messages")
        try Data().write(to: messages)
        let errors = try FileHandle(forWritingTo: messages)
        (process.standardOutput, process.standardError, process.standardInput) = (output, errors, FileHandle.nullDevice)
        do { try process.run() } catch {
          throw ToolError("git cannot be run (\(ToolError.reason(of: error))); install git, or omit --against")
        }
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try errors.close()
        let message = String(decoding: try Data(contentsOf: messages), as: UTF8.self)
        let first = message.split(separator: "\n").first.map(String.init) ?? "no error message"
        return (process.terminationStatus == 0 ? String(decoding: data, as: UTF8.self) : nil, first)
      }
    #endif
  }
}
