import Foundation
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@Suite("Store commands in a separate process")
struct StoreProcessCommandTests {
  let scene: StoreScene

  init() throws { scene = try StoreScene() }

  private func random(_ seed: UInt64) -> String {
    var random = SeededRandom(seed: seed)
    return (0..<40_000).map { _ in String(random.next(), radix: 36) }.joined()
  }

  @Test("store save reads standard input, and store commands use the tool's exit codes")
  func standardStreams() throws {
    let saved = try Executable.run(["store", "save", scene.store, "k", "-"], input: Data("[1,2]".utf8))
    #expect(saved.code == 0 && saved.output == Data("saved  k  revision 1\n".utf8), "\(saved.error)")
    try Executable.run(["store", "show", scene.store, "none"]).expectFailure("no key “none”")
    try Executable.run(["store", "diff", scene.store, "none"]).expectFailure(code: 2, "no key “none”")
    try Executable.run(["store", "save", scene.store, "k"]).expectFailure(code: 64)
    try Executable.run(["store", "nothing"]).expectFailure(code: 64)
  }

  @Test("Exceeding the file size limit fails a save and keeps the store intact")
  func limitsOfFiles() throws {
    _ = try scene.scratch.file("small.json", "[1]")
    _ = try scene.scratch.file("large.json", "\"\(random(1))\"")
    try scene.save("k", "[0]")
    // The test runner may ignore SIGXFSZ. Child processes inherit this, so `env` restores the default.
    let start = #"r=; env --default-signal=XFSZ true 2>/dev/null && r="env --default-signal=XFSZ"; "#
    let script = start + #"ulimit -f 300; exec $r "$0" store save models.store k "#
    #expect(try Executable.shell(script + "small.json", in: scene.scratch.url).code == 0)
    try Executable.shell(script + "large.json", in: scene.scratch.url).expectFailure("models.store: ", "SQLite")
    #expect(try scene.json("history", "k")["revisions"]?.arrayValue?.count == 2)
    #expect(try scene.json("show", "k")["value"] == [1])
    #expect(try Executable.shell(#"exec "$0" store save models.store k large.json"#, in: scene.scratch.url).code == 0)
    #expect(try scene.json("show", "k")["value"] == .string(random(1)))
  }

  @Test("Concurrent saves from two processes wait for each other and both succeed")
  func twoProcesses() throws {
    // The script runs the processes in a pipeline instead of using `wait`, which never returns if SIGCHLD is blocked.
    let script = #"""
      save() { for i in 1 2 3 4 5 6 7 8; do echo $i | "$0" store save models.store "k$1" - >/dev/null || echo $i >>failed; done; }
      save 1 | save 2
      ! cat failed 2>/dev/null
      """#
    let run = try Executable.shell(script, in: scene.scratch.url)
    #expect(run.code == 0, "\(run.error)")
    for key in ["k1", "k2"] {
      #expect(try scene.json("history", key)["revisions"]?.arrayValue?.count == 8)
      #expect(try scene.json("show", key)["value"] == 8)
    }
  }

  private static let tracer = "/usr/bin/strace"

  /// Whether strace is installed and may trace processes.
  private static var canTrace: Bool {
    guard FileManager.default.isExecutableFile(atPath: tracer) else { return false }
    // If strace cannot be started, it counts as unavailable.
    return (try? withFolder { try Executable.shell("exec \(tracer) -o trace true", in: $0).code == 0 }) ?? false
  }

  @Test(
    "store save syncs the journal after its last write and before it prints the result",
    .enabled(if: canTrace, "needs strace, which may trace"))
  func syncing() throws {
    let script =
      #"exec strace -f -y -o trace -e trace=fsync,fdatasync,write,pwrite64,writev "$0" store save models.store k -"#
    for value in ["1", "\"\(random(2))\""] {
      _ = try scene.scratch.file("in", value)
      let run = try Executable.shell(script + " <in", in: scene.scratch.url)
      #expect(run.code == 0, "\(run.error)")
      let calls = try String(decoding: scene.scratch.data("trace"), as: UTF8.self).split(separator: "\n")
      func last(before end: Int, _ names: [String], _ file: String) -> Int? {
        calls[..<end].lastIndex { call in
          call.contains(file) && names.contains { call.contains($0 + "(") }
        }
      }
      let acknowledged = try #require(calls.lastIndex { $0.contains("\"saved  k  revision") })
      let written = try #require(last(before: acknowledged, ["write", "pwrite64"], "models.store-wal>"))
      let synced = try #require(last(before: acknowledged, ["fdatasync", "fsync"], "models.store-wal>"))
      #expect(written < synced, "\(calls[written])")
    }
  }
}
