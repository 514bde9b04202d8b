import Foundation
import Testing

/// The code of Docs/Recipes.md equals the code of this package: each block of the page is one part of a source file, and each
/// part is on the page.
@Suite("Docs/Recipes.md")
struct PageTests {
  private static let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

  /// The code between `// Recipes:begin` with a name and `// Recipes:end`.
  private static func parts() throws -> [String: String] {
    var parts: [String: String] = [:]
    let folder = package.appending(path: "Sources/Recipes")
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let text = try String(contentsOf: file, encoding: .utf8)
      let found = text.components(separatedBy: "// Recipes:begin ").dropFirst()
      #expect(!found.isEmpty, "\(file.lastPathComponent) has no part for the page")
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
    #expect(missing.isEmpty, "the page has other code than these parts")
    let unknown = blocks.filter { !parts.values.contains($0) }.map { $0.prefix(60) }
    #expect(unknown.isEmpty, "no source file has what begins so on the page")
    #expect(blocks.count == parts.count)
  }
}
