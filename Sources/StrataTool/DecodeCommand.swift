internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct DecodeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "decode", abstract: "Print an archive as JSON, a stream of models as an array.",
    discussion: """
      Example:

        strata decode issue.strata --pretty
      """)

  @Argument(help: "The archive; - is standard input.", completion: .file(extensions: ["strata"]))
  var input: String

  @Option(name: .shortAndLong, help: "The JSON file to write; - is standard output.", completion: .file())
  var output = "-"

  @Flag(help: "Indent the text.")
  var pretty = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run(on console: Console) throws -> Int32 {
    // Printed output cannot be taken back, so nothing is printed before everything is decoded.
    var text = JSONText(isPretty: pretty)
    let file = try InputFile(DataFile(input), console)
    switch file.kind {
    case .archive: break
    case .propertyList:
      throw ToolError(
        "\(DataFile(input).name): is a property list; inspect --json prints it, and convert makes an archive of it")
    case .other(let found): throw ToolError(DataFile(input).name, InputFile.unknown(found))
    }
    let walk = try file.walk(limits: limits.limits) { stamp, values in
      for value in values { try text.append(value, inArray: stamp.kind == .member) }
    }
    // The array is closed after the last member: a stream that was appended to has an end member in the middle, too.
    if walk.first?.kind != .single { text.closeArray() }
    text.data.append(UInt8(ascii: "\n"))
    try DataFile(output).write(text.data, console)
    if text.cycleCount > 0 {
      let (what, them) =
        text.cycleCount == 1
        ? ("1 reference back to an object that holds it is", "it")
        : ("\(text.cycleCount.grouped) references back to objects that hold them are", "them")
      console.noteLine("\(what) null here, since JSON has no form for \(them)")
    }
    return 0
  }
}
