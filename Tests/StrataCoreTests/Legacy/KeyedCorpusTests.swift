import Foundation
import StrataCore
import Testing

private let corpus = ProcessInfo.processInfo.environment["STRATA_CORPUS"].map {
  URL(fileURLWithPath: $0, isDirectory: true)
}

/// A keyed archive of the corpus, as its index tells of it.
private struct CorpusArchive: Sendable, CustomTestStringConvertible {
  let path: String
  let isRight: Bool

  var testDescription: String { path }

  static let all: [CorpusArchive] = {
    guard let file = corpus?.appendingPathComponent("INDEX.tsv"),
      let text = try? String(contentsOf: file, encoding: .utf8)
    else { return [] }
    return text.split(separator: "\n").dropFirst().compactMap { line in
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count >= 9, cells[4].hasPrefix("keyed:"), cells[7] == "ok" else { return nil }
      let isBad = cells[4] == "keyed:parser-fixture-bad"
      guard cells[8] == "yes" || isBad else { return nil }
      return CorpusArchive(path: cells[0], isRight: !isBad)
    }
  }()

  func data() throws -> Data { try Data(contentsOf: #require(corpus).appendingPathComponent(path)) }
}

@Suite("Keyed archives of the corpus", .enabled(if: corpus != nil, "STRATA_CORPUS is not set"))
struct KeyedCorpusTests {
  @Test("Every keyed archive opens without its classes, and is the same graph in an archive of its own")
  func right() throws {
    let archives = CorpusArchive.all.filter(\.isRight)
    #expect(archives.count > 100)
    for archive in archives {
      do {
        let keyed = try KeyedArchive(archive.data())
        #expect(!keyed.top.isEmpty, "\(archive.path)")
        for root in keyed.top.values {
          let graph = ObjectGraph(objects: keyed.graph.objects, root: root)
          let data = try ArchiveEncoder().encode(graph, typeName: "Keyed", modelVersion: nil)
          guard case .graph(let again) = try ArchiveDecoder().decodeValue(from: data) else {
            Issue.record("\(archive.path) is no graph")
            continue
          }
          // Sets and maps have an order of their own in an archive, so bytes are compared and not values.
          #expect(again.objects.count == graph.objects.count)
          #expect(
            try ArchiveEncoder().encode(again, typeName: "Keyed", modelVersion: nil) == data, "\(archive.path)")
        }
      } catch { Issue.record("\(archive.path): \(error)") }
    }
  }

  /// What other readers refuse, and what is a graph here: circles, another top key than `root`, an object without class.
  private static let openHere = [
    "circularReference", "circular_archive", "missingRoot", "missing_uid_archive",
  ]

  @Test("Every broken keyed archive is refused with an error that tells why")
  func broken() throws {
    let archives = CorpusArchive.all.filter { !$0.isRight }
    #expect(archives.count > 10)
    for archive in archives {
      if Self.openHere.contains(where: archive.path.contains) {
        #expect(throws: Never.self) { try KeyedArchive(archive.data()) }
        continue
      }
      let error = #expect(throws: ArchiveError.self, "\(archive.path)") { try KeyedArchive(archive.data()) }
      #expect(error?.description.isEmpty == false)
    }
  }
}
