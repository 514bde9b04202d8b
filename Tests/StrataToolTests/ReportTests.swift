import Foundation
import StrataCore
import StrataTestSupport
import Testing

/// Tests the reports that commands write to standard output.
struct ReportTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test("merge --report - prints only the report on standard output and the table on standard error")
  func merge() throws {
    let local = try scratch.file("l.json", #"{"a": 1}"#)
    let server = try scratch.file("s.json", #"{"a": 2}"#)
    let output = scratch.path("m.json")
    let run = Run("merge", "--local", local, "--server", server, "-o", output, "--report", "-")
    #expect(run.code == 0, "\(run.error)")
    let value = try JSONReader().read(run.output)
    #expect(value["counts"]?["server"] == 1 && value["entries"]?.arrayValue?.count == 1)
    #expect(run.error.contains("path") && run.error.contains("1 server"))
    #expect(try String(decoding: scratch.data("m.json"), as: UTF8.self) == "{\"a\":2}\n")
    let quiet = Run("merge", "--local", local, "--server", server, "-o", output, "--report", "-", "-q")
    #expect(quiet.output == run.output && quiet.error.isEmpty)
    // The merged document and the report cannot both go to standard output.
    Run("merge", "--local", local, "--server", server, "--report", "-").expectFailure(code: 64, "--report", "-o FILE")
    // A merge that fails because of conflicts writes only the report.
    let base = try scratch.file("b.json", #"{"a": 0}"#)
    let failed = Run(
      "merge", "--local", local, "--server", server, "--base", base, "-o", output, "--conflicts", "fail", "--report",
      "-")
    #expect(failed.code == 1)
    #expect(try JSONReader().read(failed.output)["counts"]?["conflict"] == 1)
  }

  @Test("convert --report - prints only the report on standard output and the other lines on standard error")
  func convert() throws {
    try FileManager.default.createDirectory(atPath: scratch.path("in"), withIntermediateDirectories: true)
    _ = try scratch.file("in/a.plist", Legacy.data("bookmarks.plist"))
    _ = try scratch.file("in/b.plist", Legacy.data("bookmarks.plist").dropLast(9))
    let run = Run("convert", scratch.path("in"), "-o", scratch.path("out"), "--report", "-")
    #expect(run.code == 1)
    let value = try JSONReader().read(run.output)
    #expect(value["files"]?.arrayValue?.map { $0["outcome"] } == ["converted", "failed"])
    #expect(run.error.contains("failed  b.plist  ") && run.error.contains("1 converted, "), "\(run.error)")
    Run("convert", scratch.path("in/a.plist"), "-o", "-", "--report", "-").expectFailure(code: 64, "--report")
    Run("convert", scratch.path("in"), "-o", scratch.path("out"), "--report", "report.txt").expectFailure(
      code: 64, "or -")
  }
}
