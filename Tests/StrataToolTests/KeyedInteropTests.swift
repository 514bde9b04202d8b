import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Whether a Python that can read property lists is installed.
private let hasPython: Bool = {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["python3", "-c", "import plistlib; plistlib.UID"]
  process.standardError = FileHandle.nullDevice
  guard (try? process.run()) != nil else { return false }
  process.waitUntilExit()
  return process.terminationStatus == 0
}()

@Suite(
  "Legacy files read by an independent program", .enabled(if: hasPython, "python3 with plistlib is not installed"))
struct KeyedInteropTests {
  @Test("An independent reader prints the same JSON for the legacy fixtures")
  func fixtures() throws {
    let names = ["bookmarks.plist", "bookmarks-xml.plist", "everything.plist", "settings.plist", "settings.bplist"]
    try compare(names.map(Legacy.path))
  }

  @Test(
    "An independent reader prints the same JSON for the corpus's keyed archives and property lists", .tags(.long),
    .readsCorpus)
  func corpusFiles() throws {
    let paths = try Corpus.index.compactMap { cells -> String? in
      guard cells.count > 8, cells[4].hasPrefix("keyed:"), cells[7] == "ok" else { return nil }
      guard cells[4] != "keyed:parser-fixture-bad", cells[4] != "keyed:plist-hostile" else { return nil }
      return try Corpus.url(cells[0]).path
    }
    #expect(paths.count > 190)
    try compare(Effort.sample(24, of: paths))
  }

  private func compare(_ paths: [String]) throws {
    let lines = try documents(paths)
    #expect(lines.count == paths.count)
    for (path, line) in zip(paths, lines) {
      let run = Run("inspect", "--json", path)
      #expect(run.code == 0, "\(run.error)")
      // Both documents are parsed and written again, so that the order of keys matters but the notation of numbers does not.
      let ours = try JSONWriter().write(JSONReader().read(run.output))
      let theirs = try JSONWriter().write(JSONReader().read(Data(line.utf8)))
      #expect(ours == theirs, "\(path)")
    }
  }

  /// Returns the documents that `Tests/Interop/keyed_json.py` prints for the files.
  private func documents(_ paths: [String]) throws -> [Substring] {
    let scratch = try Scratch()
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", Repository.root.appending(path: "Tests/Interop/keyed_json.py").path, "-"]
    process.standardInput = FileHandle(forReadingAtPath: try scratch.file("in", paths.joined(separator: "\n")))
    process.standardOutput = FileHandle(forWritingAtPath: try scratch.file("out", ""))
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try String(decoding: scratch.data("out"), as: UTF8.self).split(separator: "\n")
  }
}
