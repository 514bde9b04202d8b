import Foundation
import StrataTestSupport
import Testing

/// A temporary folder in which the executable runs. Relative paths in arguments refer to files in it.
struct Workspace {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

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
    let run = try Executable.run(Executable.path(), arguments, input, in: scratch.url)
    #expect(
      !run.isSignal && run.code == code, "strata \(arguments.joined(separator: " ")): \(run.code) \(run.error)",
      sourceLocation: location)
    return run
  }

  /// Creates a folder with a copy of each file of a folder.
  func copy(_ folder: URL, to name: String) throws {
    try FileManager.default.copyItem(atPath: folder.path, toPath: scratch.path(name))
  }

  /// The names of the archives in a folder, in order.
  func archives(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path(folder)).filter { $0.hasSuffix(".strata") }
      .sorted()
  }

  /// Creates an archive of a JSON file and returns the path of the JSON file.
  @discardableResult
  func encode(to name: String) throws -> String {
    let source = Self.json
    try strata("encode", source, "-o", name, "--type", "Document", "--model-version", "3")
    return source
  }

  /// The path of a JSON file with one object.
  static let json = Repository.fixtures.appending(path: "json/tour/1-issue.json").path
}

extension Executable.Result {
  var lines: [Substring] { text.split(separator: "\n") }

  /// The JSON object on standard output, as Foundation reads it.
  func object(at location: SourceLocation = #_sourceLocation) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: output) as? NSDictionary, "\(text)", sourceLocation: location)
  }
}
