import Foundation
import StrataTestSupport
import Testing

/// Runs the program in a separate process.
enum Executable {
  struct Result {
    /// The exit code of the process, or the signal that ended it.
    let code: Int32
    let isSignal: Bool
    let output: Data
    let error: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// Checks that the process exited with the given code, and that it printed one line on standard error and nothing on standard output.
    func expectFailure(code: Int32 = 1, _ fragments: String..., at location: SourceLocation = #_sourceLocation) {
      #expect(!isSignal && self.code == code, "\(self.code) \(error)", sourceLocation: location)
      #expect(output.isEmpty, sourceLocation: location)
      #expect(
        error.hasPrefix("strata: ") && error.filter { $0 == "\n" }.count == 1, "\(error)", sourceLocation: location)
      for fragment in fragments { #expect(error.contains(fragment), "\(error)", sourceLocation: location) }
    }
  }

  /// The path of the executable. If `STRATA_EXECUTABLE` is set, it is that path, so that CI can test the release build. Otherwise it is the
  /// executable next to the test bundle.
  static func path() throws -> String {
    if let path = ProcessInfo.processInfo.environment["STRATA_EXECUTABLE"] {
      try #require(
        FileManager.default.isExecutableFile(atPath: path), "STRATA_EXECUTABLE is not an executable: \(path)")
      // The path must be absolute, because processes run in other folders.
      return URL(fileURLWithPath: path).path
    }
    return try Products.path("strata")
  }

  static func run(_ arguments: [String], input: Data? = nil) throws -> Result {
    try run(path(), arguments, input, in: nil)
  }

  /// Runs a shell script in a folder. In the script, `$0` is the path of the program.
  static func shell(_ script: String, in folder: URL) throws -> Result {
    try run("/bin/sh", ["-c", script, path()], nil, in: folder)
  }

  static func run(_ program: String, _ arguments: [String], _ input: Data?, in folder: URL?) throws -> Result {
    let scratch = try Scratch()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.environment = ["LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "PATH": "/usr/bin:/bin"]
    process.standardInput = try FileHandle(
      forReadingFrom: URL(fileURLWithPath: scratch.file("in", input ?? Data())))
    let outputPath = try scratch.file("out", Data())
    let errorPath = try scratch.file("err", Data())
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
    try process.run()
    process.waitUntilExit()
    return Result(
      code: process.terminationStatus, isSignal: process.terminationReason == .uncaughtSignal,
      output: try scratch.data("out"), error: try String(decoding: scratch.data("err"), as: UTF8.self))
  }
}
