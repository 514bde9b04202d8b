import Foundation
import StrataTestSupport
import Testing

/// The system's Python, which runs the readers and writers in Tests/Interop and the scripts in Tests/Scripts.
enum Python {
  static let path = "/usr/bin/python3"

  /// Whether Python is installed. The scripts need only its standard library.
  static let isInstalled = succeeds("import plistlib; plistlib.UID")
  /// Whether Python has the cbor2 module, an independent CBOR decoder from the Debian package python3-cbor2.
  static let hasCBOR = succeeds("import cbor2")

  /// Runs a script and checks that it exits with 0.
  ///
  /// - Parameter folder: the folder in which the script runs.
  @discardableResult
  static func run(
    _ script: URL, _ arguments: [String], in folder: URL? = nil, at location: SourceLocation = #_sourceLocation
  ) throws -> Executable.Result {
    let run = try Executable.run(path, [script.path] + arguments, nil, in: folder)
    #expect(!run.isSignal && run.code == 0, "\(run.text)\(run.error)", sourceLocation: location)
    return run
  }

  /// The URL of a script in Tests/Interop.
  static func interop(_ name: String) -> URL { Repository.root.appending(path: "Tests/Interop/" + name) }

  private static func succeeds(_ statement: String) -> Bool {
    // If Python cannot be started, it counts as not installed.
    (try? Executable.run(path, ["-c", statement], nil, in: nil).code == 0) ?? false
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test on a machine without Python.
  static var runsPython: Self { .enabled(if: Python.isInstalled, "there is no /usr/bin/python3") }

  /// Skips a test if cbor2 is missing. CI installs it, but other machines may not have it.
  static var readsCBOR: Self { .enabled(if: Python.hasCBOR, "the Debian package python3-cbor2 is not installed") }
}
