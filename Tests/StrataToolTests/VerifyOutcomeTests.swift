import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Tests the status words and the summary that `verify` prints.
struct VerifyOutcomeTests {
  let scratch: Scratch
  let good: String

  init() throws {
    scratch = try Scratch()
    good = try scratch.file(
      "good.strata",
      ArchiveEncoder().encode(ModelRecord(typeName: "Issue", modelVersion: 3, fields: [("title", "text")])))
  }

  private func damaged(_ name: String) -> String { Repository.fixtures.appending(path: "damaged/\(name).strata").path }

  /// The first word of each line.
  private func words(_ files: String...) -> [String] {
    Run(["verify"] + files).text.split(separator: "\n").map { $0.prefix { $0 != " " }.description }
  }

  @Test("verify distinguishes missing, unsupported and damaged files")
  func outcomes() throws {
    #expect(words(good) == ["intact"])
    #expect(words(scratch.path("none")) == ["missing"])
    #expect(words(scratch.path("none/at/all")) == ["missing"])
    try FileManager.default.createSymbolicLink(atPath: scratch.path("link"), withDestinationPath: "nowhere")
    #expect(words(scratch.path("link")) == ["missing"])
    for name in ["flipped", "truncated", "empty"] { #expect(words(damaged(name)) == ["damaged"], "\(name)") }
    for name in ["newer-format", "plain-gzip"] { #expect(words(damaged(name)) == ["unsupported"], "\(name)") }
    for (text, found) in [("{\"a\": 1}", "JSON"), ("hello", "text"), ("SQLite format 3\0", "SQLite")] {
      let file = try scratch.file("other", text)
      #expect(words(file) == ["unsupported"] && Run("verify", file).text.contains(found), "\(Run("verify", file).text)")
      #expect(Run("verify", file).code == 1)
    }
    #expect(words(good + "/below") == ["missing"])
  }

  @Test func columns() throws {
    let list = Repository.fixtures.appending(path: "legacy/bookmarks.plist").path
    let lines = Run("verify", good, list, scratch.path("none")).text.split(separator: "\n").map(String.init)
    try #require(lines.count == 4, "\(lines)")
    let intact = lines.prefix(2).map { $0.split(separator: "  ", omittingEmptySubsequences: true) }
    #expect(intact.map(\.first) == ["intact", "intact"])
    // Numbers are right-aligned, and words are left-aligned.
    #expect(Set(lines.prefix(2).map(\.count)).count == 1, "\(lines)")
    #expect(lines[2].hasPrefix("missing  \(scratch.path("none"))  "), "\(lines)")
    #expect(lines[3] == "3 files: 2 intact, 1 missing")
    // A single file needs no summary.
    #expect(Run("verify", good).text.split(separator: "\n").count == 1)
  }

  @Test func sums() throws {
    let bad = try scratch.file("bad.strata", Data(contentsOf: URL(fileURLWithPath: good)).dropLast())
    let run = Run("verify", good, good, bad, scratch.path("none"), try scratch.file("t.txt", "text"))
    #expect(
      run.code == 1 && run.text.hasSuffix("\n5 files: 2 intact, 1 damaged, 1 missing, 1 unsupported\n"), "\(run.text)")
    let folder = Run("verify", scratch.url.path)
    #expect(folder.text.hasSuffix("\n3 files: 1 intact, 1 damaged, 1 other\n"), "\(folder.text)")
  }

  @Test("verify --quiet lists only files that are missing or not intact", arguments: ["-q", "--quiet"])
  func quiet(option: String) throws {
    #expect(Run("verify", option, good, good).text.isEmpty && Run("verify", option, good).code == 0)
    let run = Run("verify", option, good, scratch.path("none"), good)
    #expect(
      run.code == 1 && run.text.split(separator: "\n").count == 1 && run.text.hasPrefix("missing  "), "\(run.text)")
    _ = try scratch.file("t.txt", "text")
    #expect(Run("verify", option, scratch.url.path).text.isEmpty)
  }

  @Test func json() throws {
    let list = Repository.fixtures.appending(path: "legacy/bookmarks.plist").path
    let run = Run("verify", "--json", good, list, scratch.path("none"), damaged("newer-format"))
    #expect(run.code == 1 && run.error.isEmpty)
    let value = try JSONReader().read(run.output)
    let files = try #require(value["files"]?.arrayValue)
    try #require(files.count == 4)
    #expect(files.map { $0["outcome"] } == ["intact", "intact", "missing", "unsupported"])
    #expect(files[0]["type"] == "Issue" && files[0]["modelVersion"] == 3 && files[0]["count"] == 1)
    #expect(files[0]["kind"] == "archive" && files[0]["message"] == nil && files[0]["file"] == .string(good))
    #expect(files[1]["kind"] == "keyed archive, binary" && files[1]["size"] == 601 && files[1]["count"] == 14)
    #expect(files[2]["message"]?.stringValue?.contains("No such file") == true && files[2]["code"] == "fileSystem")
    #expect(files[3]["code"] == "newerFormat")
    #expect(value["counts"]?["intact"] == 2 && value["counts"]?["damaged"] == 0 && value["counts"]?["missing"] == 1)
    #expect(try JSONReader().read(Run("verify", "--json", "-q", good, list).output)["files"] == [])
  }
}
