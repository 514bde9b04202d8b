import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataTool

/// Tests how the tool behaves at a terminal, which differs from its behavior with pipes and files.
struct TerminalTests {
  let scratch: Scratch
  let archive: String
  static let escape = "\u{1B}["

  init() throws {
    scratch = try Scratch()
    archive = try scratch.file(
      "a.strata",
      ArchiveEncoder().encode(
        ModelRecord(typeName: "Issue", modelVersion: 3, fields: [("title", "text"), ("votes", 3)])))
  }

  @Test("--version prints only the version constant")
  func version() {
    let run = Run("--version")
    #expect(run.code == 0 && run.text == "strata \(Tool.version)\n" && run.error.isEmpty)
    #expect(Tool.version == "0.1.0")
    #expect(Run("verify", "--version").text == run.text)
  }

  @Test("Output is colored only on a terminal, unless --color is passed", arguments: ["verify", "inspect"])
  func colours(command: String) throws {
    func isColoured(_ arguments: [String] = [], terminal: Int? = 100, _ environment: [String: String] = [:]) -> Bool {
      let run = Run([command, archive] + arguments, terminal: terminal, environment: environment)
      #expect(run.code == 0)
      return run.text.contains(Self.escape)
    }
    #expect(isColoured() && isColoured([], ["TERM": "xterm-256color", "NO_COLOR": ""]))
    #expect(!isColoured(terminal: nil))
    #expect(!isColoured([], ["NO_COLOR": "1"]) && !isColoured([], ["TERM": "dumb"]))
    #expect(isColoured(["--color", "always"], terminal: nil, ["NO_COLOR": "1"]))
    #expect(isColoured(["--color=never", "--color=always"], terminal: nil) && !isColoured(["--color", "never"]))
    // JSON is never colored, because programs read it.
    #expect(!isColoured(["--json", "--color=always"]))
  }

  @Test("Colored and plain output contain the same text", arguments: ["verify", "inspect"])
  func coloursAlone(command: String) throws {
    for file in [archive, Repository.fixtures.appending(path: "legacy/everything.plist").path] {
      let plain = Run([command, file]).text
      let coloured = Run([command, file, "--color=always"]).text
      #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
    }
  }

  @Test func colouredErrors() throws {
    let missing = scratch.path("missing")
    #expect(Run(["decode", missing], terminal: 100).error.hasPrefix("\u{1B}[31mstrata:\u{1B}[0m "))
    #expect(Run(["decode", missing]).error.hasPrefix("strata: "))
    #expect(Run(["--color", "always", "frobnicate"]).error.hasPrefix("\u{1B}[31mstrata:\u{1B}[0m "))
    Run("verify", archive, "--color").expectFailure(code: 64, "--color requires a value: auto, always or never")
    Run("verify", archive, "--color=red").expectFailure(code: 64, "--color must be auto, always or never")
    // After `--`, `--color` is the name of a file.
    #expect(Run("verify", "--", "--color").text.contains("--color"))
    #expect(Run("--help").text.contains("--color"))
  }

  @Test("Commands never print an archive on a terminal")
  func archivesOnATerminal() throws {
    let json = try scratch.file("a.json", #"{"a": 1}"#)
    let list = try scratch.file("a.plist", Legacy.data("bookmarks.plist"))
    let store = scratch.path("a.store")
    #expect(Run("store", "save", store, "key", archive).code == 0 || Run("store", "init", store).code == 0)
    #expect(Run("store", "save", store, "key", archive).code == 0)
    let commands: [(Int32, [String])] = [
      (1, ["encode", json, "-o", "-"]), (1, ["convert", list, "-o", "-"]),
      (1, ["store", "export", store, "key", "-o", "-"]),
      (2, ["merge", "--local", archive, "--server", archive]),
      (2, ["merge", "--local", json, "--server", json, "--format", "strata"]),
    ]
    for (code, command) in commands {
      let run = Run(command, terminal: 100, environment: ["NO_COLOR": "1"])
      run.expectFailure(code: code, "cannot be printed on a terminal", "-o FILE", "pipe")
      #expect(Run(command).code == 0 && Run(command).output.starts(with: [0x1F, 0x8B]))
    }
    #expect(Run(["merge", "--local", json, "--server", json], terminal: 100).output == Data("{\"a\":1}\n".utf8))
    #expect(Run(["decode", archive], terminal: 100).code == 0)
  }

  @Test("The executable adapts its output to a terminal with 60 columns")
  func process() throws {
    let long = try scratch.file("long.json", #"{"key": "\#(String(repeating: "long ", count: 50))"}"#)
    let made = scratch.path("long.strata")
    #expect(try Executable.run(["encode", long, "-o", made]).code == 0)
    let refused = try Executable.terminal(["encode", long, "-o", "-"], columns: 60)
    #expect(refused.contains("cannot be printed on a terminal"), "\(refused)")
    let verified = try Executable.terminal(["verify", made], columns: 60)
    #expect(verified.contains("\u{1B}[32mintact\u{1B}[0m"), "\(verified)")
    let inspected = try Executable.terminal(["inspect", made, "--color", "never"], columns: 60)
    let lines = inspected.split(separator: "\r\n")
    #expect(lines.map(\.count).max() == 60 && inspected.contains("…"), "\(inspected)")
  }
}
