import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("Tool with corpus files", .readsCorpus)
struct CorpusTests {
  /// Returns the given number of documents, spread evenly over a folder.
  private func documents(_ folder: String, _ count: Int) throws -> [String] {
    let paths = try Corpus.jsonFiles(in: "json/\(folder)").map { try Corpus.url($0).path }
    return stride(from: 0, to: paths.count, by: max(1, paths.count / count)).map { paths[$0] }
  }

  @Test(.tags(.long), arguments: ["github-rest", "mastodon", "tweets"])
  func documentsComeBack(folder: String) throws {
    let scratch = try Scratch()
    let paths = try documents(folder, Effort.rounds(5, long: 24))
    #expect(!paths.isEmpty)
    var refused = 0
    for path in paths {
      let archive = scratch.path("a.strata")
      let encoding = Run("encode", path, "-o", archive)
      // Some servers send duplicate keys, which encode rejects.
      if encoding.code != 0 {
        encoding.expectFailure("duplicate key")
        refused += 1
        continue
      }
      let back = Run("decode", archive)
      let document = try JSONReader().read(Data(contentsOf: URL(fileURLWithPath: path)))
      // This compares text, so that the order of keys is checked too.
      #expect(try back.output == JSONWriter().write(document) + Data("\n".utf8), "\(path)")
      #expect(Run("verify", archive).code == 0)
      #expect(Run("inspect", archive, "--json").code == 0)
    }
    #expect(refused < paths.count / 2)
  }

  @Test(.tags(.long)) func tours() throws {
    let scratch = try Scratch()
    let count = Effort.rounds(30, long: .max)
    for path in try documents("merge", count) + documents("github-rest", count) {
      let value = try JSONReader().read(Data(contentsOf: URL(fileURLWithPath: path)))
      let keys = Set(value.objectValue?.keys ?? [])
      let isIssue = keys.isSuperset(of: ["number", "title", "state", "user", "created_at"])
      let run = Run("tour", path, "-o", scratch.path("tour"))
      #expect(run.code == (isIssue ? 0 : 1), "\(path) \(run.error)")
    }
  }

  @Test(
    "Malformed and hostile files are either read or rejected with a one-line error",
    arguments: ["plist-hostile", "parser-fixture-bad"])
  func hostileFiles(folder: String) throws {
    let scratch = try Scratch()
    let root = try Corpus.url("keyed/" + folder)
    let paths = try FileManager.default.contentsOfDirectory(atPath: root.path).sorted().map { root.path + "/" + $0 }
    #expect(!paths.isEmpty)
    for path in paths {
      let output = scratch.path("a.strata")
      for arguments in [["inspect", path], ["inspect", "--json", path], ["convert", path, "-o", output]] {
        let run = Run(arguments)
        if run.code == 0 { #expect(run.error.isEmpty, "\(path)") } else { run.expectFailure("\(path): ") }
      }
      let run = Run("verify", path)
      let words = run.code == 0 ? ["intact"] : ["damaged", "unsupported"]
      #expect(words.contains { run.text.hasPrefix("\($0)  \(path)  ") }, "\(run.text)")
      #expect(FileManager.default.fileExists(atPath: output) == (run.code == 0), "\(path)")
      if run.code == 0 { #expect(Run("verify", output).code == 0, "\(path)") }
      try? FileManager.default.removeItem(atPath: output)
    }
  }
}
