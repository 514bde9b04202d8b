internal import ArgumentParser
internal import StrataCore

struct EncodeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "encode", abstract: "Convert a JSON document to an archive.",
    discussion: """
      With --type Issue, the tool of an app decodes the document with the JSON mapping of the model Issue, and writes \
      the same archive as the app would.

      Example:

        strata encode issue.json -o issue.strata --type Issue --model-version 3
      """)

  @Argument(help: "The JSON document to encode, or - for standard input.", completion: .file(extensions: ["json"]))
  var input: String

  @Option(name: .shortAndLong, help: "The archive to write, or - for standard output.", completion: .file())
  var output: String

  @Option(
    help: "How to handle a key that occurs twice in an object: refuse reports an error, and last uses the last value.")
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
