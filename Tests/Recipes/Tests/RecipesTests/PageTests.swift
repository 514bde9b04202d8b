import Foundation
import Testing

/// Compares the code of Docs/Recipes.md with the code of this package. Each code block of the page must equal one part of a source
/// file, and each part must be on the page.
@Suite("Docs/Recipes.md")
struct PageTests {
  private static let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

  /// Returns the parts by their names. A part is the code between `// Recipes:begin` with a name and `// Recipes:end`.
  private static func parts() throws -> [String: String] {
    var parts: [String: String] = [:]
    let folder = package.appending(path: "Sources/Recipes")
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let text = try String(contentsOf: file, encoding: .utf8)
      let found = text.components(separatedBy: "// Recipes:begin ").dropFirst()
      #expect(!found.isEmpty, "\(file.lastPathComponent) contains no part for the page")
      for part in found {
        let lines = try #require(part.components(separatedBy: "// Recipes:end\n").first).split(
          separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        parts[String(lines[0])] = String(lines[1])
      }
    }
    return parts
  }

  @Test("Each code block equals a part of a source file, and each part is on the page")
  func blocks() throws {
    let page = try String(
      contentsOf: Self.package.appending(path: "../../Docs/Recipes.md").standardized, encoding: .utf8)
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```\n").first
    }
    let parts = try Self.parts()
    #expect(parts.count == 10)
    let missing = parts.filter { !blocks.contains($0.value) }.keys.sorted()
    #expect(missing.isEmpty, "the page does not contain the code of these parts")
    let unknown = blocks.filter { !parts.values.contains($0) }.map { $0.prefix(60) }
    #expect(unknown.isEmpty, "no source file contains the code blocks that begin like this")
    #expect(blocks.count == parts.count)
  }
}
