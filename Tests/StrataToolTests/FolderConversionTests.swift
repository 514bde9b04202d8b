import Foundation
import StrataCore
import StrataTestSupport
import Testing

struct FolderConversionTests {
  let scratch: Scratch
  let input: String
  let output: String

  init() throws {
    scratch = try Scratch()
    input = scratch.path("old")
    output = scratch.path("new")
    try FileManager.default.createDirectory(atPath: scratch.path("old/deep/er"), withIntermediateDirectories: true)
    _ = try scratch.file("old/a.plist", Legacy.data("bookmarks.plist"))
    _ = try scratch.file("old/a.bplist", Legacy.data("settings.bplist"))
    _ = try scratch.file("old/deep/er/b", Legacy.data("everything.plist"))
    _ = try scratch.file("old/bad.plist", Legacy.data("bookmarks.plist").dropLast(9))
    _ = try scratch.file("old/notes.txt", "text\twith a tab")
    _ = try scratch.file("old/.hidden.plist", Legacy.data("settings.plist"))
    _ = try scratch.file("old/done.strata", ArchiveEncoder().encode(ArchiveValue.null))
    _ = try scratch.file("old/empty", "")
    try FileManager.default.createSymbolicLink(atPath: scratch.path("old/link"), withDestinationPath: "a.plist")
    try FileManager.default.createSymbolicLink(atPath: scratch.path("old/deep/loop"), withDestinationPath: "..")
  }

  private func tree(_ folder: String) throws -> [String: Data] {
    let names = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
    return Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        FileManager.default.contents(atPath: folder + "/" + name).map { (name, $0) }
      })
  }

  private static let journal = ".strata-convert.jsonl"

  private func archives() throws -> [String: Data] {
    try tree(output).filter { $0.key != Self.journal }
  }

  @Test(arguments: [1, 2, 8])
  func everything(jobs: Int) throws {
    let before = try tree(input)
    let report = scratch.path("report.json")
    let run = Run("convert", input, "-o", output, "--report", report, "--jobs", String(jobs))
    #expect(run.code == 1 && run.error.isEmpty)
    let lines = run.text.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("failed  bad.plist  "), "\(run.text)")
    #expect(lines.last == "4 converted, 0 already converted, 5 ignored, 1 failed")
    #expect(
      try archives().keys.sorted() == [
        ".hidden.plist.strata", "a.bplist.strata", "a.plist.strata", "deep/er/b.strata",
      ])
    #expect(try tree(input) == before)
    #expect(Run("verify", output).code == 0)
    #expect(
      try archives()["deep/er/b.strata"] == Run("convert", Legacy.path("everything.plist"), "-o", "-").output)

    let value = try JSONReader().read(scratch.data("report.json"))
    #expect(value["converted"] == 4 && value["done"] == 0 && value["ignored"] == 5 && value["failed"] == 1)
    let files = try #require(value["files"]?.arrayValue)
    #expect(
      files.map { $0["file"]?.stringValue } == [
        ".hidden.plist", "a.bplist", "a.plist", "bad.plist", "deep/er/b", "deep/loop", "done.strata", "empty", "link",
        "notes.txt",
      ])
    let bad = try #require(files.first { $0["file"] == "bad.plist" })
    #expect(bad["outcome"] == "failed" && bad["code"] == "damaged" || bad["code"] == "truncated")
    #expect(bad["message"]?.stringValue?.isEmpty == false)
    #expect(files.first { $0["file"] == "done.strata" }?["message"] == "an archive")
    #expect(files.first { $0["file"] == "link" }?["message"] == "a symbolic link")
  }

  @Test("A repeated run converts only new or changed files, missing archives and files with new options")
  func repeatedRuns() throws {
    func summary(_ arguments: String...) -> String {
      Run(["convert", input, "-o", output] + arguments).text.split(separator: "\n").last.map(String.init) ?? ""
    }
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    let first = try archives()
    #expect(summary() == "0 converted, 4 already converted, 5 ignored, 1 failed")
    try FileManager.default.removeItem(atPath: output + "/a.plist.strata")
    #expect(summary() == "1 converted, 3 already converted, 5 ignored, 1 failed")
    #expect(try archives() == first)
    _ = try scratch.file("old/bad.plist", Legacy.data("bookmarks.plist"))
    _ = try scratch.file("old/a.bplist", Legacy.data("settings.plist"))
    #expect(summary() == "2 converted, 3 already converted, 5 ignored, 0 failed")
    #expect(summary("--rename", "Bookmarks.Folder=Folder") == "5 converted, 0 already converted, 5 ignored, 0 failed")
    #expect(try Stamp(ofFile: URL(fileURLWithPath: output + "/a.plist.strata")).typeName == "Folder")
    #expect(
      summary("--dry-run")
        == "5 converted, 0 already converted, 5 ignored, 0 failed; no archives were written because of --dry-run")
    #expect(try Stamp(ofFile: URL(fileURLWithPath: output + "/a.plist.strata")).typeName == "Folder")
  }

  @Test("A run with a truncated journal converts only the files missing from the journal", .tags(.long))
  func killedRuns() throws {
    #expect(Run("convert", input, "-o", output).code == 1)
    let whole = try archives()
    let journal = try Data(contentsOf: URL(fileURLWithPath: output + "/" + Self.journal))
    for length in stride(from: 0, through: journal.count, by: Effort.rounds(40, long: 15)) {
      try journal.prefix(length).write(to: URL(fileURLWithPath: output + "/" + Self.journal))
      let run = Run("convert", input, "-o", output)
      let done = journal.prefix(length).count { $0 == UInt8(ascii: "\n") }
      let last = run.text.split(separator: "\n").last ?? ""
      // If only the newline of the journal's last line is missing, the line may still count as complete.
      #expect(
        last == "\(4 - done) converted, \(done) already converted, 5 ignored, 1 failed"
          || last == "\(3 - done) converted, \(done + 1) already converted, 5 ignored, 1 failed", "\(length)")
      #expect(try archives() == whole)
    }
  }

  private func summary(_ arguments: String...) -> String {
    Run(["convert", input, "-o", output] + arguments).text.split(separator: "\n").last.map(String.init) ?? ""
  }

  @Test("X-30: an archive that does not match its checksum in the journal is converted again", .tags(.long))
  func damagedArchives() throws {
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    let whole = try archives()
    let path = output + "/a.plist.strata"
    let archive = try #require(whole["a.plist.strata"])
    var random = SeededRandom(seed: 11)
    for round in 0..<Effort.rounds(10, long: 20) {
      var damaged = archive
      switch round {
      case 0: damaged = Data(repeating: 0, count: archive.count)
      case 1: damaged = archive.dropLast()
      default:
        damaged[Int.random(in: 0..<archive.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      try damaged.write(to: URL(fileURLWithPath: path))
      #expect(
        summary("--dry-run")
          == "1 converted, 3 already converted, 5 ignored, 1 failed; no archives were written because of --dry-run")
      #expect(summary() == "1 converted, 3 already converted, 5 ignored, 1 failed", "\(random)")
      #expect(try archives() == whole)
    }
    #expect(summary() == "0 converted, 4 already converted, 5 ignored, 1 failed")
  }

  @Test("An archive that another program has replaced is kept and reported as failed")
  func changedArchives() throws {
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    let own = try ArchiveEncoder().encode(ArchiveValue.string("written again by an app"))
    _ = try scratch.file("new/a.plist.strata", own)
    let run = Run("convert", input, "-o", output)
    #expect(run.text.contains("failed  a.plist  a.plist.strata: the file was changed"), "\(run.text)")
    #expect(run.text.hasSuffix("0 converted, 3 already converted, 5 ignored, 2 failed\n"))
    #expect(try scratch.data("new/a.plist.strata") == own)
  }

  @Test("Files listed in a journal without checksums are converted again")
  func oldJournals() throws {
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    let whole = try archives()
    let journal = try String(decoding: scratch.data("new/" + Self.journal), as: UTF8.self)
    let old = journal.replacing(#/,"checksum":[^,}]*/#, with: "")
    #expect(old != journal)
    _ = try scratch.file("new/" + Self.journal, old)
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    #expect(summary() == "0 converted, 4 already converted, 5 ignored, 1 failed")
    #expect(try archives() == whole)
    _ = try scratch.file("new/" + Self.journal, old)
    #expect(summary("--rename", "Bookmarks.Folder=Folder") == "4 converted, 0 already converted, 5 ignored, 1 failed")
  }

  @Test("A user's files are kept, even if they are named like temporary files")
  func filesOfTheUser() throws {
    try FileManager.default.createDirectory(atPath: output + "/deep", withIntermediateDirectories: true)
    _ = try scratch.file("new/.strata-notes.tmp", "precious")
    _ = try scratch.file("new/deep/.strata-1f.tmp", "precious")
    #expect(summary() == "4 converted, 0 already converted, 5 ignored, 1 failed")
    #expect(try scratch.data("new/.strata-notes.tmp") == Data("precious".utf8))
    #expect(try scratch.data("new/deep/.strata-1f.tmp") == Data("precious".utf8))
    // An input file with such a name is converted like any other.
    _ = try scratch.file("old/.strata-a.tmp", Legacy.data("settings.plist"))
    #expect(summary() == "1 converted, 4 already converted, 5 ignored, 1 failed")
  }

  @Test func dryRuns() throws {
    let run = Run("convert", input, "-o", output, "--dry-run", "--report", scratch.path("r.tsv"))
    #expect(
      run.code == 1
        && run.text.hasSuffix(
          "4 converted, 0 already converted, 5 ignored, 1 failed; no archives were written because of --dry-run\n")
    )
    #expect(try scratch.names == ["old", "r.tsv"])
    let rows = try String(decoding: scratch.data("r.tsv"), as: UTF8.self).split(separator: "\n")
    #expect(rows.count == 11 && rows[0] == "file\toutcome\toutput\tcode\tmessage")
    #expect(rows.contains("a.plist\tconverted\ta.plist.strata\t\t"))
    #expect(rows.contains("notes.txt\tignored\t\t\ttext"))
    #expect(rows.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 5 })
  }

  @Test("Output files from other programs are not replaced, and symbolic links are not followed")
  func foreignFiles() throws {
    try FileManager.default.createDirectory(atPath: output + "/deep", withIntermediateDirectories: true)
    _ = try scratch.file("new/a.plist.strata", "precious")
    let victim = try scratch.file("victim", "precious")
    try FileManager.default.createSymbolicLink(atPath: output + "/a.bplist.strata", withDestinationPath: victim)
    try FileManager.default.createSymbolicLink(atPath: output + "/deep/er", withDestinationPath: input)
    let run = Run("convert", input, "-o", output)
    #expect(run.code == 1)
    let failures = run.text.split(separator: "\n").filter { $0.hasPrefix("failed") }
    #expect(failures.count == 4)
    #expect(failures.contains { $0.hasPrefix("failed  a.plist  a.plist.strata: the file already exists") })
    #expect(failures.contains { $0.hasPrefix("failed  a.bplist  a.bplist.strata: the file already exists") })
    #expect(failures.contains { $0.hasPrefix("failed  deep/er/b  ") && $0.contains("is not a folder") })
    #expect(try scratch.data("new/a.plist.strata") == Data("precious".utf8))
    #expect(try scratch.data("victim") == Data("precious".utf8))
    #expect(!FileManager.default.fileExists(atPath: input + "/b.strata"))
  }

  @Test func foldersInEachOther() throws {
    let before = try tree(input)
    try FileManager.default.createSymbolicLink(atPath: scratch.path("way"), withDestinationPath: "old/deep")
    for output in [
      input, input + "/new", input + "/deep/", scratch.url.path, scratch.path("way/new"), input + "/../old/x",
    ] {
      Run("convert", input, "-o", output).expectFailure("must be outside the input folder")
    }
    Run("convert", input, "-o", output, "--report", input + "/r.json").expectFailure(
      "r.json", "must not be in the input folder")
    Run("convert", input, "-o", scratch.path("way/../../x.txt/y") + "", "--report", scratch.path("way/r.json"))
      .expectFailure("r.json", "must not be in the input folder")
    let file = try scratch.file("file", "x")
    Run("convert", input, "-o", file).expectFailure("is a file")
    Run("convert", input, "-o", "-").expectFailure(code: 64, "folder")
    #expect(try tree(input) == before)
  }

  @Test func emptyFolders() throws {
    try FileManager.default.createDirectory(atPath: scratch.path("nothing"), withIntermediateDirectories: true)
    let run = Run("convert", scratch.path("nothing"), "-o", output)
    #expect(run.code == 0 && run.text == "0 converted, 0 already converted, 0 ignored, 0 failed\n")
  }

  @Test func namesThatAreNoText() throws {
    let path = Array((input + "/").utf8) + [0xFF, 0x2E, 0x70] + [0]
    let file = path.withUnsafeBufferPointer { bytes in
      bytes.baseAddress.map { start in start.withMemoryRebound(to: CChar.self, capacity: path.count) { fopen($0, "w") }
      }
    }
    // Some file systems reject names that are not valid UTF-8. The test then ends here.
    guard let file = file ?? nil else { return }
    fclose(file)
    let run = Run("convert", input, "-o", output)
    #expect(run.code == 1 && run.text.contains("not valid UTF-8"))
  }
}
