import Foundation
import StrataTestSupport
import Testing

extension EndToEnd {
  /// Compares the executable with readers and writers in Python that share no code with this package.
  @Suite(.runsPython) struct OtherLanguages {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// Checks that the independent reader and cbor2 can read every archive in a folder.
    ///
    /// - Parameter count: the expected number of archives.
    private func read(_ folder: String, count: Int, at location: SourceLocation = #_sourceLocation) throws {
      let run = try Python.run(Python.interop("check.py"), [folder], in: workspace.scratch.url, at: location)
      #expect(run.lines.last == "\(count) archives, 0 failures", "\(run.text)", sourceLocation: location)
      #expect(run.text.contains("cbor2 agrees"), "\(run.text)", sourceLocation: location)
    }

    @Test("An independent reader reads the archives of tour and encode", .readsCBOR)
    func readingNewArchives() throws {
      try workspace.strata("tour", "--output", "tour")
      try workspace.encode(to: "tour/a.strata")
      try read("tour", count: 5)
    }

    @Test("An independent reader reads converted keyed archives", .readsCBOR)
    func readingConvertedArchives() throws {
      try workspace.copy(Repository.fixtures.appending(path: "legacy"), to: "old")
      try workspace.strata("convert", "old", "-o", "new")
      try read("new", count: 5)
    }

    @Test("An independent reader reads all archives in Fixtures", .readsCBOR)
    func readingFixtures() throws {
      let fixtures = Repository.fixtures.appending(path: "archives")
      let names = try #require(FileManager.default.enumerator(atPath: fixtures.path)).compactMap { $0 as? String }
      try read(fixtures.path, count: names.filter { $0.hasSuffix(".strata") }.count)
    }

    @Test("An independent writer reproduces the bytes of the archives in Fixtures")
    func writingFixtures() throws {
      try Python.run(Python.interop("write.py"), [Repository.fixtures.appending(path: "archives").path])
    }

    @Test("An independent writer reproduces the bytes of documents that fill the string table")
    func writingGeneratedDocuments() throws {
      try Python.run(Python.interop("write.py"), ["--made", Executable.path()])
    }

    @Test("An independent writer reproduces the bytes of real documents", .readsCorpus)
    func writingRealDocuments() throws {
      // encode rejects some documents, because they have duplicate keys.
      let paths = Corpus.jsonFiles(in: "json").spread(Effort.rounds(40, long: .max))
      let documents = workspace.scratch.url.appending(path: "documents")
      try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
      for path in paths {
        try FileManager.default.createSymbolicLink(
          at: documents.appending(path: path.replacing("/", with: ":")), withDestinationURL: Corpus.url(path))
      }
      let least = Effort.rounds(25, long: 500)
      try Python.run(Python.interop("write.py"), ["--encode", Executable.path(), String(least), documents.path])
    }

    @Test("An independent script reproduces the keyed archives in Fixtures")
    func writingKeyedArchives() throws {
      try Python.run(Python.interop("keyed_fixtures.py"), [workspace.scratch.path("legacy")])
      let names = try Legacy.names
      #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.scratch.path("legacy")).sorted() == names)
      for name in names {
        #expect(try workspace.scratch.data("legacy/" + name) == Legacy.data(name), "\(name)")
      }
    }

    @Test("An independent reader and inspect print the same JSON for the legacy fixtures")
    func readingKeyedArchives() throws { try compare(Legacy.names.map(Legacy.path)) }

    @Test("An independent reader and inspect print the same JSON for real keyed archives", .readsCorpus)
    func readingRealKeyedArchives() throws {
      let paths = try Corpus.index.compactMap { cells -> String? in
        guard cells.count > 8, cells[4].hasPrefix("keyed:"), cells[7] == "ok" else { return nil }
        guard !cells[4].hasSuffix("-bad"), !cells[4].hasSuffix("-hostile") else { return nil }
        return try Corpus.url(cells[0]).path
      }
      #expect(paths.count > 190)
      try compare(paths.spread(Effort.rounds(20, long: .max)))
    }

    private func compare(_ paths: [String], at location: SourceLocation = #_sourceLocation) throws {
      let run = try Python.run(
        Python.interop("keyed_json.py"), ["--compare", Executable.path()] + paths, at: location)
      #expect(run.lines.last == "\(paths.count) of \(paths.count) the same", "\(run.text)", sourceLocation: location)
    }
  }
}

extension [String] {
  /// Returns about `number` elements at equal distances.
  fileprivate func spread(_ number: Int) -> [String] {
    stride(from: 0, to: count, by: Swift.max(1, count / number)).map { self[$0] }
  }
}
