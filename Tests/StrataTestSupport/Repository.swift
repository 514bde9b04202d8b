package import Foundation

/// The files of the repository that tests read.
package enum Repository {
  /// The folder that contains Package.swift.
  package static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
  package static let fixtures = root.appending(path: "Fixtures")
  /// The folder of scripts for developers and CI.
  package static let scripts = root.appending(path: "Tests/Scripts")

  /// Returns the text of a file. The path is relative to the root.
  package static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Returns the parts of a source file that a documentation page shows: the lines between the comments `name:begin` and `name:end`.
  package static func examples(_ name: String, in file: String = #filePath) throws -> [Substring] {
    let begin = "begin\n"
    return try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "// \(name):")
      .filter { $0.hasPrefix(begin) }.map { $0.dropFirst(begin.count) }
  }

  /// Returns the code blocks of a page that are in the given language. A block without a language has the empty string as its language.
  package static func blocks(_ language: String = "swift", in page: String) -> [String] {
    let parts = ("\n" + page).components(separatedBy: "\n```")
    return stride(from: 1, to: parts.count, by: 2).compactMap { index in
      let lines = parts[index].split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      return lines[0] == language ? lines.dropFirst().joined() : nil
    }
  }

  /// Splits code blocks at empty lines and returns the parts that a program does not contain. Ignores indentation.
  package static func parts(of blocks: [String], missingFrom program: String) -> [String] {
    func trimmed(_ text: String) -> String {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n") + "\n"
    }
    let program = "\n" + trimmed(program)
    return blocks.flatMap { $0.components(separatedBy: "\n\n") }
      .filter { !program.contains("\n" + trimmed($0)) }
  }
}
