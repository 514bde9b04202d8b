import Foundation
import StrataCore
import StrataTestSupport
import Testing

@Suite("The process and the operating system")
struct ProcessTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test("An argument that is not valid UTF-8 is rejected")
  func argumentsThatAreNoText() throws {
    _ = try scratch.file("in.json", "1")
    for script in [
      #""$0" encode in.json -o "$(printf 'a\377')""#, #""$0" verify "$(printf 'a\377')" in.json"#,
      #""$0" "$(printf '\200')""#, #""$0" convert in.json "-o$(printf '\303')""#,
    ] {
      try Executable.shell(script, in: scratch.url).expectFailure(code: 64, "UTF-8", "argument ")
    }
    #expect(try scratch.names == ["in.json"])
  }

  @Test("A current folder whose path is not valid UTF-8 is rejected")
  func foldersThatAreNoText() throws {
    try Executable.shell(
      #"""
      own=$(printf 'a\377'); other=$(printf 'a\357\277\275'); mkdir "$own" "$other"; echo 1 >"$own/in.json"
      cp "$own/in.json" "$other"; cd "$own"; "$0" encode in.json -o out; code=$?
      cd ..; ls "$other"/out 2>/dev/null && code=99; rm -r "$own"; exit $code
      """#, in: scratch.url
    ).expectFailure(code: 64, "current folder", "UTF-8")
  }

  @Test("Exceeding the file size limit of the system fails and keeps the old file")
  func limitsOfFiles() throws {
    // The text is random, so that it does not compress.
    var random = SeededRandom(seed: 1)
    let text = (0..<4000).map { _ in String(random.next(), radix: 36) }.joined()
    _ = try scratch.file("in.json", "\"\(text)\"")
    _ = try scratch.file("out", "old")
    // The test runner may ignore SIGXFSZ. Child processes inherit this, so `env` restores the default.
    let start =
      #"r=; env --default-signal=XFSZ true 2>/dev/null && r="env --default-signal=XFSZ"; ulimit -f 4; exec $r "$0""#
    try Executable.shell(start + " encode in.json -o out", in: scratch.url)
      .expectFailure("out", "large")
    #expect(try scratch.data("out") == Data("old".utf8))
    #expect(try scratch.names == ["in.json", "out"])
    try Executable.shell(start + " encode in.json -o - >new", in: scratch.url)
      .expectFailure("standard output", "large")
  }

  @Test(
    "A merge that cannot print its table fails and leaves its files unchanged",
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")), arguments: [">/dev/full", ">&-"])
  func mergingToAFullOutput(_ redirection: String) throws {
    _ = try scratch.file("local.json", #"{"a": 1}"#)
    _ = try scratch.file("server.json", #"{"a": 2}"#)
    _ = try scratch.file("report.json", "old")
    _ = try scratch.file("out.json", "old")
    let script = #"exec "$0" merge --local local.json --server server.json -o out.json --report report.json"#
    try Executable.shell(script + " " + redirection, in: scratch.url)
      .expectFailure(code: 2, "cannot write to standard output", redirection == ">&-" ? "descriptor" : "space")
    #expect(try scratch.data("out.json") == Data("old".utf8))
    #expect(try scratch.data("report.json") == Data("old".utf8))
    #expect(try scratch.names == ["local.json", "out.json", "report.json", "server.json"])
    #expect(try Executable.shell(script, in: scratch.url).code == 0)
    #expect(try scratch.data("out.json") == Data("{\"a\":2}\n".utf8))
  }

  @Test(
    "Closed standard streams never redirect output into a file",
    arguments: ["2>&-", ">&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
  func closedStreams(_ redirection: String) throws {
    try FileManager.default.createDirectory(atPath: scratch.path("old"), withIntermediateDirectories: true)
    _ = try scratch.file("old/a.plist", Legacy.data("bookmarks.plist"))
    _ = try scratch.file("old/b.plist", "<plist>")
    let run = try Executable.shell(#"exec "$0" convert old -o new "# + redirection, in: scratch.url)
    #expect(!run.isSignal && run.code == 1)
    let journal = try String(decoding: scratch.data("new/.strata-convert.jsonl"), as: UTF8.self)
    #expect(journal.hasPrefix(#"{"file":"a.plist","#) && journal.filter { $0 == "\n" }.count == 1, "\(journal)")
    #expect(Run("verify", scratch.path("new/a.plist.strata")).code == 0)
  }

  @Test("A merge that writes to a closed pipe is ended by SIGPIPE and leaves the output unchanged")
  func brokenPipes() throws {
    let keys = (0..<20_000).map { #""key\#($0)": "# }
    _ = try scratch.file("local.json", "{" + keys.map { $0 + "1" }.joined(separator: ",") + "}")
    _ = try scratch.file("server.json", "{" + keys.map { $0 + "2" }.joined(separator: ",") + "}")
    _ = try scratch.file("out.json", "old")
    let before = try scratch.names
    let run = try Executable.shell(
      #"{ "$0" merge --local local.json --server server.json -o out.json; echo $? >code; } | head -n 1"#,
      in: scratch.url)
    #expect(run.error.isEmpty && String(decoding: run.output, as: UTF8.self).hasPrefix("path "))
    #expect(try scratch.data("code") == Data("141\n".utf8))
    #expect(try scratch.data("out.json") == Data("old".utf8))
    #expect(try scratch.names == (before + ["code"]).sorted())
  }

  @Test(
    "--help fails if standard output cannot be written",
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func helpToAFullOutput() throws {
    try Executable.shell(#"exec "$0" --help >/dev/full"#, in: scratch.url).expectFailure("standard output")
  }
}
