import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("strata merge")
struct MergeTests {
  let scratch: Scratch
  let base: String
  let local: String
  let server: String

  init() throws {
    scratch = try Scratch()
    base = try scratch.file(
      "base.json",
      #"{"title": "t", "votes": 10, "gone": 1, "labels": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}"#)
    local = try scratch.file(
      "local.json",
      #"{"title": "mine", "votes": 12, "gone": 1, "labels": [{"id": 1, "name": "A"}, {"id": 2, "name": "b"}], "x": null}"#
    )
    server = try scratch.file(
      "server.json", #"{"title": "theirs", "votes": 15, "labels": [{"id": 2, "name": "b"}, {"id": 3, "name": "c"}]}"#)
  }

  private func json(_ data: Data) throws -> ArchiveValue { try JSONReader().read(data) }

  @Test("A three-way merge takes one-sided changes and keeps the local value for conflicts")
  func threeWays() throws {
    let run = Run("merge", "--local", local, "--base", base, "--server", server)
    #expect(run.code == 1)
    #expect(
      run.text
        == #"{"title":"mine","votes":12,"labels":[{"id":1,"name":"A"},{"id":2,"name":"b"}],"x":null}"# + "\n")
    #expect(
      run.error == """
        strata: note: labels: the elements have ids; to match them, add --policy 'labels=byID(id)'
        path    outcome   rule
        title   conflict  changed by both sides
        votes   conflict  changed by both sides
        gone    server    changed only by the server
        labels  conflict  changed by both sides
        x       local     changed only locally

        1 server, 1 local, 0 merged, 3 conflicts; for conflicts, the local values are kept (see --policy and --conflicts)

        """)
    let again = Run("merge", "--local", local, "--base", base, "--server", server)
    #expect(again.output == run.output && again.error == run.error)
  }

  @Test func policies() throws {
    let run = Run(
      "merge", "--local", local, "--base", base, "--server", server, "--policy", "byID(id)", "--policy",
      "votes=sumOfDeltas", "--policy", "title=serverWins", "--policy", "labels=byID(id,remove)", "-o",
      scratch.path("out.json"))
    #expect(run.code == 0 && run.error.isEmpty, "\(run.error)")
    #expect(run.text.contains("votes         merged   sumOfDeltas\n"), "\(run.text)")
    #expect(
      try json(scratch.data("out.json"))
        == [
          "title": "theirs", "votes": 17, "labels": [["id": 2, "name": "b"], ["id": 3, "name": "c"]], "x": .null,
        ])
  }

  @Test("--conflicts local and server choose a side, and --conflicts fail writes only the report")
  func conflicts() throws {
    func run(_ side: String) -> Run {
      Run(
        "merge", "--local", local, "--base", base, "--server", server, "--conflicts", side, "-o",
        scratch.path("out.json"), "--report", scratch.path("report.json"))
    }
    #expect(run("fail").code == 1)
    #expect(try scratch.names == ["base.json", "local.json", "report.json", "server.json"])
    let failure = run("fail")
    #expect(
      failure.output.isEmpty
        && failure.error.contains("strata: the merge has 3 conflicts, so no document was written; "))
    #expect(run("server").code == 0)
    #expect(try json(scratch.data("out.json"))["title"] == "theirs")
    #expect(run("local").code == 0)
    #expect(try json(scratch.data("out.json"))["title"] == "mine")
  }

  @Test func reports() throws {
    func report(_ more: String...) throws -> ArchiveValue {
      let run = Run(
        ["merge", "--local", local, "--base", base, "--server", server, "-q", "--report", scratch.path("r.json")] + more
      )
      #expect(run.code == 1 && run.error.isEmpty)
      return try json(scratch.data("r.json"))
    }
    let plain = try report()
    #expect(plain["counts"] == ["server": 1, "local": 1, "merged": 0, "conflict": 3])
    #expect(
      plain["entries"]?.arrayValue?.first == ["path": "title", "outcome": "conflict", "rule": "changed by both sides"])
    #expect(
      try report("--values")["entries"]?.arrayValue?.first
        == [
          "path": "title", "outcome": "conflict", "rule": "changed by both sides", "base": "t", "local": "mine",
          "server": "theirs", "result": "mine",
        ])
    let table = Run("merge", "--local", local, "--base", base, "--server", server, "--values")
    #expect(table.error.contains("\"theirs\""))
  }

  @Test("Without a base, merge takes the server's values and keeps keys that the server omits")
  func twoWays() throws {
    let run = Run("merge", "--local", local, "--server", server, "-q")
    #expect(run.code == 0 && run.error.isEmpty)
    let value = try json(run.output)
    #expect(value["title"] == "theirs" && value["gone"] == 1 && value["labels"]?.arrayValue?.count == 2)
    let same = Run("merge", "--local", local, "--server", local)
    #expect(same.code == 0 && same.error == "no differences\n")
  }

  @Test("merge --partial keeps keys that the server's document omits")
  func partial() throws {
    let part = try scratch.file("part.json", #"{"title": "theirs"}"#)
    let whole = Run("merge", "--local", base, "--base", base, "--server", part, "-q")
    #expect(try json(whole.output) == ["title": "theirs"])
    let run = Run("merge", "--local", base, "--base", base, "--server", part, "-q", "--partial")
    #expect(run.code == 0)
    #expect(try json(run.output)["votes"] == 10 && json(run.output)["title"] == "theirs")
  }

  @Test("Applying a patch or merge patch from diff gives the other document", arguments: ["", "merge-"])
  func patches(kind: String) throws {
    let patch = try scratch.file("patch.json", Run("diff", base, server, "--\(kind)patch").output)
    let run = Run("merge", "--local", base, "--server-\(kind)patch", patch, "-o", scratch.path("out.json"))
    #expect(run.code == 0, "\(run.error)")
    #expect(Run("diff", scratch.path("out.json"), server).code == 0)
    // With a base, the patched base is the server's side of a three-way merge.
    let three = Run("merge", "--local", local, "--base", base, "--server-\(kind)patch", patch)
    let named = Run("merge", "--local", local, "--base", base, "--server", server)
    #expect(three.code == 1 && three.output == named.output && three.error == named.error)
  }

  @Test("Applying a patch from diff gives the other document for random documents", arguments: 0..<40)
  func randomPatches(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    func value(_ depth: Int) -> ArchiveValue {
      switch random.below(depth > 3 ? 5 : 8) {
      case 0: return .null
      case 1: return .bool(random.below(2) == 0)
      case 2: return .integer(random.below(4))
      case 3: return .double(Double(random.below(4)) / 2)
      case 4: return ["a", "b/c", "d~e", ""][random.below(4)]
      case 5, 6:
        let keys = ["a", "b/c", "d~e", "", "0"].filter { _ in random.below(2) == 0 }
        return .object(ArchiveObject(keys.map { .init(key: $0, value: value(depth + 1)) }))
      default: return .array((0..<random.below(5)).map { _ in value(depth + 1) })
      }
    }
    func object() -> ArchiveValue {
      ["x": value(0), "y": value(1), "list": .array((0..<random.below(6)).map { _ in value(2) })]
    }
    let one = try scratch.file("1.json", JSONWriter().write(object()))
    let two = try scratch.file("2.json", JSONWriter().write(object()))
    let patch = try scratch.file("p.json", Run("diff", one, two, "--patch").output)
    let run = Run("merge", "--local", one, "--server-patch", patch, "-q", "-o", scratch.path("3.json"))
    #expect(run.code == 0, "seed \(seed): \(run.error)")
    #expect(Run("diff", scratch.path("3.json"), two).text.isEmpty, "seed \(seed)")
  }

  @Test func failingPatches() throws {
    let other = try scratch.file("p.json", #"[{"op": "test", "path": "/title", "value": "other"}]"#)
    Run("merge", "--local", base, "--server-patch", other).expectFailure(
      code: 2, "p.json: ", #"a "test" operation failed"#)
    let none = try scratch.file("n.json", #"[{"op": "remove", "path": "/none"}]"#)
    Run("merge", "--local", base, "--server-patch", none).expectFailure(code: 2, "n.json: ", "no value at the path")
    let bad = try scratch.file("b.json", #"{"op": "remove"}"#)
    Run("merge", "--local", base, "--server-patch", bad).expectFailure(code: 2, "b.json: ", "array of operations")
    let whole = try scratch.file("w.json", "[]")
    Run("merge", "--local", base, "--server-merge-patch", whole).expectFailure(code: 2, "w.json", "of the same kind")
  }

  @Test("Arrays at the root are merged by identity with a byID policy")
  func roots() throws {
    let one = try scratch.file("1.json", #"[{"id": 1, "n": 1}, {"id": 2, "n": 2}]"#)
    let two = try scratch.file("2.json", #"[{"id": 1, "n": 1}, {"id": 2, "n": 3}, {"id": 4}]"#)
    let three = try scratch.file("3.json", #"[{"id": 1, "n": 5}, {"id": 2, "n": 2}, {"id": 3}]"#)
    #expect(Run("merge", "--local", two, "--base", one, "--server", three, "-q").code == 1)
    for policy in [".=byID(id)", "byID(id)"] {
      let run = Run("merge", "--local", two, "--base", one, "--server", three, "-q", "--policy", policy)
      #expect(run.code == 0)
      #expect(try json(run.output) == [["id": 1, "n": 5], ["id": 2, "n": 3], ["id": 3], ["id": 4]])
    }
  }

  @Test func unreadable() throws {
    Run("merge", "--local", scratch.path("missing"), "--server", server).expectFailure(code: 2, "missing")
    Run("merge", "--local", local, "--server", scratch.url.path).expectFailure(code: 2, "directory")
    Run("merge", "--local", local, "--server", server, "--base", try scratch.file("empty", ""))
      .expectFailure(code: 2, "empty: the file is empty")
    Run("merge", "--local", try scratch.file("bad.json", "{"), "--server", server).expectFailure(code: 2, "bad.json: ")
    let fixtures = Repository.fixtures.appending(path: "damaged").path
    for name in ["flipped", "newer-format", "plain-gzip", "truncated"] {
      Run("merge", "--local", local, "--server", "\(fixtures)/\(name).strata").expectFailure(
        code: 2, "\(name).strata: ")
    }
    Run("merge", "--local", Legacy.path("settings.plist"), "--server", server).expectFailure(code: 2, "convert")
    Run("merge", "--local", local, "--server", server, "-o", scratch.path("no/such/file"), "-q")
      .expectFailure(code: 2, "no/such/file")
    Run("merge", "--local", local, "--server", try scratch.file("list.json", "[]"))
      .expectFailure(code: 2, "contains an array", "object")
  }

  @Test func wrongUsage() {
    Run("merge", "--local", local).expectFailure(code: 64, "--server")
    Run("merge", "--server", server).expectFailure(code: 64, "--local")
    Run("merge", "--local", local, "--server", server, "--server-patch", server).expectFailure(code: 64, "one of")
    Run("merge", "--local", "-", "--server", "-").expectFailure(code: 64, "standard input")
    Run("merge", "--local", local, "--server", server, "--policy", "title=newest")
      .expectFailure(code: 64, "newest", "serverWins", "byID(key)")
    Run("merge", "--local", local, "--server", server, "--policy", "=max").expectFailure(code: 64, "path")
    Run("merge", "--local", local, "--server", server, "--policy", "labels[0].name=max").expectFailure(code: 64, "[*]")
    Run("merge", "--local", local, "--server", server, "--policy", "max", "--policy", "min")
      .expectFailure(code: 64, "twice")
    Run("merge", "--local", local, "--server", server, "--conflicts", "maybe").expectFailure(code: 64, "conflicts")
    Run("merge", "--local", local, "--server", server, "--format", "xml").expectFailure(code: 64, "--format")
    Run("merge", "--local", local, "--server", server, "--report", "r.txt").expectFailure(code: 64, "--report")
    Run("merge", "--local", local, "--server", server, "--report", "r.json", "-o", "r.json")
      .expectFailure(code: 64, "different files")
  }

  @Test("A report path that names an input or the output is rejected, even through links")
  func reportsOverDocuments() throws {
    try FileManager.default.createSymbolicLink(atPath: scratch.path("link.json"), withDestinationPath: "server.json")
    try FileManager.default.createSymbolicLink(atPath: scratch.path("way"), withDestinationPath: ".")
    try FileManager.default.createDirectory(atPath: scratch.path("deep"), withIntermediateDirectories: true)
    for (link, target) in [("fresh.json", "./way/none.json"), ("way.json", "deep/../fresh.json")] {
      try FileManager.default.createSymbolicLink(atPath: scratch.path(link), withDestinationPath: target)
    }
    let before = try (scratch.names, scratch.data("server.json"))
    for (output, report) in [
      ("out.json", "way/out.json"), ("out.json", "link.json"), ("out.json", "way/local.json"),
      ("link.json", "base.json"),
      ("way/report.json", "deep/../report.json"), ("none.json", "fresh.json"), ("fresh.json", "way.json"),
    ] {
      Run(
        "merge", "--local", local, "--base", base, "--server", server, "--conflicts", "local", "-o",
        scratch.path(output),
        "--report", scratch.path("") + "/" + report
      ).expectFailure(code: 2, report, "the report would overwrite")
    }
    #expect(try scratch.names == before.0)
    #expect(try scratch.data("server.json") == before.1)
  }

  @Test("merge leaves the output unchanged if the report cannot be written")
  func reportsThatCannotBeWritten() throws {
    let output = try scratch.file("out.json", "old")
    let run = Run(
      "merge", "--local", local, "--base", base, "--server", server, "-o", output, "--report",
      scratch.path("missing/r.json"))
    #expect(run.code == 2 && run.error.contains("missing/r.json"))
    #expect(try scratch.data("out.json") == Data("old".utf8))
    #expect(try scratch.names == ["base.json", "local.json", "out.json", "server.json"])
  }

  @Test func policiesThatLeadNowhere() {
    let run = Run("merge", "--local", local, "--server", server, "-q", "--policy", "labls[*].name=max")
    #expect(run.code == 0 && run.error == "strata: note: --policy labls[*].name: the path matches no value\n")
  }
}
