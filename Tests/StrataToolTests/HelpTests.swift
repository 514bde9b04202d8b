import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataTool

/// Tests the help texts and the messages for mistyped commands.
struct HelpTests {
  static let commands = [
    "tour", "encode", "decode", "inspect", "verify", "upgrade", "salvage", "convert", "diff", "merge", "index",
  ]
  static let storeCommands = [
    "init", "import", "save", "show", "list", "history", "diff", "label", "restore", "undo", "redo", "delete", "export",
    "check", "salvage", "backup", "status", "upgrade", "prune",
  ]

  static let schemaCommands = ["list", "diff", "check", "record", "html"]

  @Test(
    "The help of each command has an example that parses", .tags(.long),
    arguments: Effort.sample(
      10, of: commands + storeCommands.map { "store " + $0 } + schemaCommands.map { "schema " + $0 }))
  func examples(command: String) throws {
    let help = Run(command.split(separator: " ").map(String.init) + ["--help"]).text
    let lines = help.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let start = try #require(lines.firstIndex(of: "Example:"))
    // The help wraps long lines, so an example may span several lines.
    let end = try #require(lines[start...].firstIndex { $0.hasPrefix("USAGE:") })
    let example = lines[(start + 1)..<end].joined(separator: " ").replacing("\\ ", with: "")
    #expect(example.hasPrefix("strata \(command) ") || example == "strata \(command)")
    var arguments: [String] = []
    for (place, part) in example.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      if place.isMultiple(of: 2) {
        arguments += part.split(separator: " ").map(String.init)
      } else {
        arguments.append(String(part))
      }
    }
    #expect(throws: Never.self) { _ = try Tool.parse(Array(arguments.dropFirst())) }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test(
    "The usage line lists required arguments and abbreviates options as [<options>]",
    arguments: [
      (["tour"], "strata tour [<files> ...] [<options>]"),
      (["convert"], "strata convert <input> --output <output> [<options>]"),
      (["merge"], "strata merge --local <local> [<options>]"),
      (["store", "diff"], "strata store diff <store> <key> [<old>] [<new>] [<options>]"),
      (["store", "export"], "strata store export <store> <key> --output <output> [<options>]"),
      ([], "strata <subcommand> [<options>]"),
    ])
  func usage(command: [String], usage: String) {
    #expect(Run(command + ["--help"]).text.split(separator: "\n").contains("USAGE: \(usage)"))
  }

  @Test func rules() {
    let help = Run("merge", "--help").text.replacing(/\s+/, with: " ")
    for rule in MergePolicy.names { #expect(help.contains(rule), "\(rule)") }
  }

  @Test(
    "A mistyped command or option is reported with a suggestion or the help to consult",
    arguments: [
      (["verfy", "a"], "did you mean “verify”?"), (["mereg"], "did you mean “merge”?"),
      (["store", "histroy", "a", "b"], "did you mean “history”?"), (["store", "hist"], "did you mean “history”?"),
      (["frobnicate"], "strata has no command “frobnicate”; use strata --help"),
      (["store", "frob"], "strata store has no command “frob”; use strata store --help"),
      (["verify", "--jsn", "a"], "Did you mean '--json'?"), (["verify"], "(see strata verify --help)"),
      (["store", "save", "a"], "(see strata store save --help)"),
    ])
  func mistyped(arguments: [String], fragment: String) { Run(arguments).expectFailure(code: 64, fragment) }

  @Test(
    "Shell completion scripts contain commands and merge rules", .tags(.long),
    arguments: Effort.sample(1, of: ["bash", "zsh", "fish"]))
  func completion(shell: String) {
    let script = Run("--generate-completion-script", shell).text
    for word in ["strata", "sumOfDeltas", "serverWins", "history"] { #expect(script.contains(word), "\(word)") }
  }

  @Test("Every argument that accepts a file or folder has file completion")
  func completedFiles() throws {
    let help = try JSONReader().read(Run("--experimental-dump-help").output)
    var files = 0
    func visit(_ command: ArchiveValue, _ path: String) {
      for argument in command["arguments"]?.arrayValue ?? [] where argument["kind"] != "flag" {
        let name = argument["valueName"]?.stringValue ?? ""
        guard
          ["path", "file", "folder", "store", "output", "report", "files", "input", "local", "server", "base"].contains(
            name)
        else {
          continue
        }
        let kind = argument["completionKind"]
        files += 1
        #expect(kind?["file"] != nil || kind?["directory"] != nil, "\(path) \(name)")
      }
      for inner in command["subcommands"]?.arrayValue ?? [] {
        visit(inner, path + " " + (inner["commandName"]?.stringValue ?? ""))
      }
    }
    visit(try #require(help["command"]), "strata")
    #expect(files > 30)
  }
}
