internal import ArgumentParser
internal import StrataCore

struct EncodeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "encode", abstract: "Make an archive of a JSON document.",
    discussion: """
      The tool of an app reads the JSON of its models by their mappings: --type Issue makes the archive that the app would.

      Example:

        strata encode issue.json -o issue.strata --type Issue --model-version 3
      """)

  @Argument(help: "The JSON document; - is standard input.", completion: .file(extensions: ["json"]))
  var input: String

  @Option(name: .shortAndLong, help: "The archive to write; - is standard output.", completion: .file())
  var output: String

  @Option(
    help: "What becomes of an object that has a key twice: refuse ends with an error, last takes the last value.")
  var duplicateKeys = DuplicateKeys.refuse

  @OptionGroup var record: RecordOptions

  enum DuplicateKeys: String, ExpressibleByArgument, CaseIterable { case refuse, last }

  func run(on console: Console) throws -> Int32 {
    try DataFile(output).refuseTerminal(console)
    let file = DataFile(input)
    let document = try file.document(in: file.read(console), takesDuplicateKeys: duplicateKeys == .last)
    let archive = try ToolError.at(input) { try record.archive(of: document, file, console.models) }
    try DataFile(output).write(archive, console)
    return 0
  }
}
