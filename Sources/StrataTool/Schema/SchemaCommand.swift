internal import ArgumentParser
internal import StrataCore

/// The `strata schema` command, which groups the commands for recorded schemas.
struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "List, compare, check, record and draw the schemas of a schema lock.",
    discussion: "Docs/Evolving.md describes schema locks. Docs/Tool.md describes these commands and their JSON output.",
    subcommands: [
      SchemaListCommand.self, SchemaDiffCommand.self, SchemaCheckCommand.self, SchemaProofCommand.self,
      SchemaRecordCommand.self, SchemaHTMLCommand.self,
    ])
}

/// The folder of recorded schemas that a command reads.
struct SchemaFolderArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The folder of the recorded schemas.", valueName: "folder"), completion: .directory)
  var path: String
}

/// The option for the format of the output.
struct SchemaFormat: ParsableArguments {
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, json, github }

  @Option(help: "The output format: text, json, or github for annotations in a GitHub workflow.")
  var format = Format.text

  func show(
    _ lines: @autoclosure () -> [String], _ json: @autoclosure () -> ArchiveValue, _ annotations: [SchemaAnnotation],
    _ console: Console
  ) throws {
    switch format {
    case .text: try console.lines(lines())
    case .json: try console.write(json().jsonText())
    case .github: try console.lines(annotations.map(\.command))
    }
  }
}

/// A message about recorded schemas, with the path of the file that it is about, if any.
struct SchemaAnnotation {
  enum Level: String { case notice, error }

  var level = Level.error
  /// The path of the file, or `nil` if the message is not about a single file.
  let file: String?
  let message: String

  var line: String { (file.map { $0 + ": " } ?? "").onOneLine + message }

  var json: ArchiveValue { ["file": .orNull(file), "message": .string(message)] }

  /// The GitHub workflow command that annotates the file with the message.
  var command: String {
    let place = file.map { " file=\(Self.escaped($0, isProperty: true)),line=1" } ?? ""
    return "::\(level)\(place)::\(Self.escaped(message))"
  }

  private static func escaped(_ text: String, isProperty: Bool = false) -> String {
    let text = text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    return isProperty ? text.replacing(":", with: "%3A").replacing(",", with: "%2C") : text
  }
}
