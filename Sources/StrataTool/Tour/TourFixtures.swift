internal import Foundation

/// The responses that come with the sources.
enum TourFixtures {
  /// Their paths in order, from the current folder or from where the sources were when this was built.
  static func paths() throws -> [String] {
    let sources = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent()
    }
    for root in ["", sources.path + "/"] {
      let folder = root + "Fixtures/json/tour"
      guard FileTree.isFolder(folder) else { continue }
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
        throw ToolError("cannot read the folder “\(folder)”: " + ToolError.reason(of: error))
      }
      let paths = names.filter { $0.hasSuffix(".json") }.sorted().map { folder + "/" + $0 }
      if !paths.isEmpty { return paths }
    }
    throw ToolError(
      "Fixtures/json/tour is not here: run the tour in the repository, or name responses for one GitHub issue"
    )
  }
}
