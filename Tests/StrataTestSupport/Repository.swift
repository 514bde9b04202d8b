package import Foundation

/// The files of the repository that tests read.
package enum Repository {
  /// The folder of Package.swift.
  package static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
  package static let fixtures = root.appending(path: "Fixtures")
  /// The executables for developers and CI.
  package static let scripts = root.appending(path: "Tests/Scripts")

  /// The text of a file, by its path from the root.
  package static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The parts of a source file that a page shows: the lines between the comments `name:begin` and `name:end`.
  package static func examples(_ name: String, in file: String = #filePath) throws -> [Substring] {
    let begin = "begin\n"
    return try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "// \(name):")
      .filter { $0.hasPrefix(begin) }.map { $0.dropFirst(begin.count) }
  }
}
