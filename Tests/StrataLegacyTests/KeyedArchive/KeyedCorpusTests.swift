import Foundation
import StrataCore
import StrataLegacy
import StrataTestSupport
import Testing

/// A keyed archive of the corpus, as its index describes it.
private struct CorpusArchive: Sendable, CustomTestStringConvertible {
  let path: String
  let isRight: Bool

  var testDescription: String { path }

  static let all: [CorpusArchive] = Corpus.index.compactMap { cells in
    guard cells.count >= 9, cells[4].hasPrefix("keyed:"), cells[7] == "ok" else { return nil }
    let isBad = cells[4] == "keyed:parser-fixture-bad"
    guard cells[8] == "yes" || cells[8].hasPrefix("subclass") || isBad else { return nil }
    return CorpusArchive(path: cells[0], isRight: !isBad)
  }

  func data() throws -> Data { try Corpus.data(path) }
}

@Suite("Keyed archives of the corpus", .readsCorpus)
struct KeyedCorpusTests {
  @Test("Every keyed archive opens without its classes and round-trips through a Strata archive")
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
          // Archives sort sets and maps, so bytes are compared instead of values.
          #expect(again.objects.count == graph.objects.count)
          #expect(
            try ArchiveEncoder().encode(again, typeName: "Keyed", modelVersion: nil) == data, "\(archive.path)")
        }
      } catch { Issue.record("\(archive.path): \(error)") }
    }
  }

  /// Archives whose objects get different numbers when they are rewritten. In one, some dictionaries have keys that are objects stored
  /// after the values. In the other, only a date refers to a time zone, which the library does not keep.
  private static let numberedAnew = ["twitterDMUsers", "SinaCloudStorage__03bd41c0"]

  /// Classes that change when they are rewritten, because the library decodes them to the same values as other classes. For example, a date
  /// loses its time zone. `NSNull` becomes nil in a field, as in the fields listed below.
  private static let otherAgain = [
    "NSOrderedSet", "NSCalendarDate", "NSTimeZone", "NSDecimalNumberPlaceholder", "NSNull", "NSURL",
  ]
  private static let nullFields: Set = ["linked_fb_page false", "linked_fb_user false"]

  @Test(
    "Every keyed archive that is rewritten has the same graph and keys", .tags(.long))
  func written() throws {
    for archive in Effort.sample(60, of: CorpusArchive.all.filter(\.isRight)) {
      do {
        let data = try archive.data()
        let keyed = try KeyedArchive(data)
        let written = try keyed.data()
        let again = try KeyedArchive(written)
        #expect(again.top.keys.sorted() == keyed.top.keys.sorted(), "\(archive.path)")
        #expect(again.archiver == keyed.archiver)
        // Reading and writing the archive again results in the same bytes, so the graph is the same apart from its numbers.
        #expect(try again.data() == written, "\(archive.path)")
        if keyed.archiver != "MSArchiver", !Self.numberedAnew.contains(where: archive.path.contains) {
          let old = try ArchiveEncoder().encode(ArchiveValue.graph(keyed.graph))
          #expect(try ArchiveEncoder().encode(ArchiveValue.graph(again.graph)) == old, "\(archive.path)")
        }
        let (was, now) = try (KeyedWritingTests.shape(data), KeyedWritingTests.shape(written))
        for (name, keys) in was where !Self.otherAgain.contains(name) && !name.hasPrefix("NSMutable") {
          // Older archivers wrote collections with one key for each element.
          if keys.contains("NS.object.0 false") { continue }
          let lost = keys.symmetricDifference(now[name] ?? []).subtracting(Self.nullFields)
          #expect(lost.isEmpty, "\(archive.path): \(name) \(lost.sorted())")
        }
      } catch { Issue.record("\(archive.path): \(error)") }
    }
  }

  @Test("Nested archives are opened on request, and other data stays data")
  func nested() throws {
    var holders: [String] = []
    for archive in CorpusArchive.all.filter(\.isRight) {
      do {
        let data = try archive.data()
        let (plain, opened) = try (KeyedArchive(data), KeyedArchive(data, opensNested: true))
        if plain.graph.objects.count != opened.graph.objects.count { holders.append(archive.path) }
        #expect(try KeyedArchive(opened.data()).graph.objects.count <= opened.graph.objects.count)
      } catch { Issue.record("\(archive.path): \(error)") }
    }
    // The author of this file archived the color of each material into separate data.
    #expect(holders == ["keyed/scene/xamarin__a11d0e56__scene.scn"])
  }

  /// Archives that other readers reject but the library accepts. Some contain cycles, which a graph can represent. One has a top-level key
  /// other than `root`, and any key is allowed.
  private static let openHere = ["circularReference", "circular_archive", "missingRoot"]

  @Test("Every broken keyed archive throws an error with a description")
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
