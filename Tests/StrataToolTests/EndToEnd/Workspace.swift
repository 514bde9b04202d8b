import Foundation
import StrataTestSupport
import Testing

/// A temporary folder in which the executable runs. Relative paths in its arguments refer to files in this folder.
struct Workspace {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Runs the executable.
  func run(_ arguments: [String], input: Data? = nil) throws -> Executable.Result {
    try Executable.run(Executable.path(), arguments, input, in: scratch.url)
  }

  /// Runs the executable and checks its exit code.
  @discardableResult
  func strata(_ arguments: String..., code: Int32 = 0, at location: SourceLocation = #_sourceLocation) throws
    -> Executable.Result
  {
    try strata(arguments, code: code, at: location)
  }

  @discardableResult
  func strata(
    _ arguments: [String], input: Data? = nil, code: Int32 = 0, at location: SourceLocation = #_sourceLocation
  ) throws -> Executable.Result {
    let run = try run(arguments, input: input)
    #expect(
      !run.isSignal && run.code == code, "strata \(arguments.joined(separator: " ")): \(run.code) \(run.error)",
      sourceLocation: location)
    return run
  }

  /// Copies a file or a folder into the workspace.
  func copy(_ original: URL, to name: String) throws {
    try FileManager.default.copyItem(atPath: original.path, toPath: scratch.path(name))
  }

  /// Returns the sorted names of the archives in a folder.
  func archives(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path(folder)).filter { $0.hasSuffix(".strata") }
      .sorted()
  }

  /// A JSON file that contains one object.
  static let json = Repository.fixtures.appending(path: "json/tour/1-issue.json")

  /// Encodes the JSON file.
  func encode(to name: String) throws {
    try strata("encode", Self.json.path, "-o", name, "--type", "Document", "--model-version", "3")
  }
}

extension Executable.Result {
  var lines: [Substring] { text.split(separator: "\n") }

  /// The JSON object on standard output, as Foundation reads it.
  func object(at location: SourceLocation = #_sourceLocation) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: output) as? NSDictionary, "\(text)", sourceLocation: location)
  }
}
