internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct DecodeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "decode", abstract: "Print an archive as JSON, and a stream as a JSON array.",
    discussion: """
      With --type Issue, the tool of an app decodes the archive as the model Issue, and prints the same JSON as the \
      app would write.

      Example:

        strata decode issue.strata --pretty
      """)

  @Argument(help: "The archive to decode, or - for standard input.", completion: .file(extensions: ["strata"]))
  var input: String

  @Option(name: .shortAndLong, help: "The JSON file to write, or - for standard output.", completion: .file())
  var output = "-"

  @Option(help: "Decode the archive as this model of the app, and use the model's JSON mapping.")
  var type: String?

  @Flag(help: "Indent the JSON.")
  var pretty = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run(on console: Console) throws -> Int32 {
    // Printed output cannot be undone, so nothing is printed before everything has been decoded.
    var text = JSONText(isPretty: pretty)
    let file = try InputFile(DataFile(input), console)
    switch file.format {
    case .archive: break
    case .propertyList:
      throw ToolError(
        "\(DataFile(input).name): the file is a property list; print it with strata inspect --json, or convert it to "
          + "an archive with strata convert")
    case .other(let found): throw ToolError(DataFile(input).name, InputFile.unknown(found))
    }
    let first: Stamp?
    if let type {
      let stamp = try ToolError.at(input) { try file.stamp() }
      let model = try console.models.type(ofOption: type, stampedAs: stamp.typeName)
      _ = try console.models.decode(file, as: model, limits: limits.limits) {
        try text.append(model: $0, inArray: stamp.kind != .single)
      }
      first = stamp
    } else {
      first = try file.walk(limits: limits.limits) { stamp, values in
        for value in values { try text.append(value, inArray: stamp.kind == .member) }
      }.first
    }
    // The array is closed after the last member of the file, because a stream to which models were appended also has an
    // end member in the middle.
    if first?.kind != .single { text.closeArray() }
    text.data.append(UInt8(ascii: "\n"))
    try DataFile(output).write(text.data, console)
    if text.cycleCount > 0 {
      console.noteLine(
        text.cycleCount == 1
          ? "1 reference to an enclosing object was written as null because JSON cannot represent cycles"
          : "\(text.cycleCount.grouped) references to enclosing objects were written as null because JSON cannot "
            + "represent cycles"
      )
    }
    return 0
  }
}
