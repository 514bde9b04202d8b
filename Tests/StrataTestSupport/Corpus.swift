package import Foundation
package import Testing

/// The folder of real data to which `STRATA_CORPUS` points. It isn't part of the repository.
package enum Corpus {
  /// The folder, or `nil` if the variable is not set.
  package static let root = ProcessInfo.processInfo.environment["STRATA_CORPUS"].map {
    URL(filePath: $0, directoryHint: .isDirectory)
  }

  /// The cells of each row of the index, without the heading row.
  package static let index: [[String]] = {
    // Without the index there are no rows, so tests that check the number of rows fail.
    guard let text = try? String(contentsOf: url("INDEX.tsv"), encoding: .utf8) else { return [] }
    return text.split(separator: "\n").dropFirst().map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
  }()

  /// The URL of a file or folder, by its path in the corpus.
  package static func url(_ path: String) throws -> URL { try #require(root).appending(path: path) }

  package static func data(_ path: String) throws -> Data { try Data(contentsOf: url(path)) }

  /// The sorted paths of the JSON files in a folder and its subfolders.
  package static func jsonFiles(in folder: String) -> [String] {
    guard let root else { return [] }
    let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
    return (names?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".json") }.sorted().map {
      "\(folder)/\($0)"
    }
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test that reads real data if there is none.
  package static var readsCorpus: Self { .enabled(if: Corpus.root != nil, "STRATA_CORPUS is not set") }
}
