internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct InspectCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Show the metadata and the content of a file.",
    discussion: """
      The file can be an archive, a keyed archive, or a property list in binary or XML format. The format is detected \
      from the content of the file, not from its name. For a store, the output is the same as for strata store status. \
      Docs/Tool.md describes the JSON output.

      Example:

        strata inspect issue.strata --depth 2
      """)

  @Argument(help: "The file to inspect, or - for standard input.", completion: .file())
  var file: String

  @Flag(help: "Print the complete content as JSON.")
  var json = false

  @Flag(help: "Read only the stamp of an archive, without decompressing the archive.")
  var stamp = false

  @OptionGroup var treeOptions: TreeOptions

  @OptionGroup var page: PageOption

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func run(on console: Console) throws -> Int32 {
    let named = DataFile(file)
    guard !stamp else {
      guard !named.isStandard else {
        throw ToolError(
          "--stamp cannot be used with standard input; specify a file")
      }
      try show(Inspection(stampOf: named), console)
      return 0
    }
    let input = try InputFile(named, console)
    switch input.format {
    case .archive:
      let isWhole = json || page.path != nil
      try show(Inspection(input, mostValues: isWhole ? .max : treeOptions.elements, limits: limits.limits), console)
    case .propertyList(let isBinary):
      let document = try input.legacyDocument(isBinary: isBinary, limits: limits.limits, leniently: true)
      try page.write(named.name, console) { page in
        page.add(document.rows(of: named.name))
        page.addTree(document.value)
      }
      if json {
        try document.writeJSON(to: console.write)
      } else {
        try console.lines(
          document.lines(
            of: named.name, width: console.lineWidth, depth: treeOptions.depth, elements: treeOptions.elements,
            isColoured: console.isColoured))
      }
    case .other where input.isStore:
      return try StoreStatusCommand.parse([file] + (json ? ["--json"] : [])).run(on: console)
    case .other(let found):
      throw ToolError(named.name, InputFile.unknown(found))
    }
    return 0
  }

  private func show(_ inspection: Inspection, _ console: Console) throws {
    try page.write(file, console) { page in
      page.add(inspection.rows + inspection.typeRows)
      for (index, value) in (inspection.values ?? []).enumerated() {
        page.addTree(value, label: inspection.stamp.kind == .single ? "" : "[\(index)] ", graph: index)
      }
    }
    if json { return try console.write(ToolError.at(file) { try inspection.json.jsonText() }) }
    var lines = inspection.lines(width: console.lineWidth, isColoured: console.isColoured)
    if let values = inspection.values {
      var tree = ValueTree(
        width: console.lineWidth, depth: treeOptions.depth, elements: treeOptions.elements,
        isColoured: console.isColoured)
      if inspection.stamp.kind == .single {
        for value in values { tree.add(value) }
      } else {
        tree.add(elements: Array(values.prefix(treeOptions.elements)), of: Int(clamping: inspection.count))
      }
      lines += [""] + tree.lines
    }
    try console.lines(lines)
  }
}
