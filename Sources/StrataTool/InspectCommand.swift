internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct InspectCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Show what an archive says of itself and what is in it.")

  @Argument(help: "The archive.")
  var file: String

  @Flag(help: "Print JSON, and all of it.")
  var json = false

  @Flag(help: "Read the stamp only; nothing is inflated.")
  var stamp = false

  @Option(help: "Levels of the tree.")
  var depth = 4

  @Option(help: "Elements of each array or object of the tree.")
  var elements = 20

  func validate() throws {
    if depth < 0 || elements < 0 { throw ValidationError("--depth and --elements are 0 or more.") }
  }

  func run(on console: Console) throws -> Int32 {
    let inspection = try Inspection(
      DataFile(file), readsBody: !stamp, mostValues: json ? .max : elements, console)
    if json {
      var data = try ToolError.at(file) { try JSONWriter(isPretty: true).write(inspection.json) }
      data.append(UInt8(ascii: "\n"))
      try console.write(data)
      return 0
    }
    var lines = inspection.lines
    if let values = inspection.values {
      var tree = ValueTree(width: console.width, depth: depth, elements: elements)
      if inspection.stamp.kind == .single {
        for value in values { tree.add(value) }
      } else {
        tree.add(elements: values, of: Int(clamping: inspection.count))
      }
      lines += [""] + tree.lines
    }
    try console.write(Data((lines.map { $0.cut(to: console.width) }.joined(separator: "\n") + "\n").utf8))
    return 0
  }
}
