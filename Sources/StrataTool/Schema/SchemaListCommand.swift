internal import ArgumentParser
internal import StrataCore
internal import StrataTesting

struct SchemaListCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the recorded versions of all models.",
    discussion: """
      Example:

        strata schema list Tests/AppTests/Schemas
      """)

  @OptionGroup var folder: SchemaFolderArgument

  @OptionGroup var format: SchemaFormat

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path).intact()
    var table = TextTable(columns: 5, header: ["model", "kind", "keys", "steps", "archive"])
    var notices: [SchemaAnnotation] = []
    for schema in folder.models.flatMap(\.versions) {
      table.add([
        "\(schema.name)@\(schema.version)".onOneLine, "\(schema.kind)", "\(schema.keys.count)",
        "\(schema.steps.count)", schema.archive == nil ? "none" : "recorded",
      ])
      notices.append(
        SchemaAnnotation(
          level: .notice, file: folder.file(of: schema.name, schema.version), message: table.lines.last ?? ""))
    }
    let models = folder.models.map { model in
      ["name": .string(model.name), "versions": .array(model.versions.map(\.summary))] as ArchiveValue
    }
    try format.show(table.lines, ["folder": .string(folder.path), "models": .array(models)], notices, console)
    return 0
  }
}

extension RecordedSchema {
  fileprivate var summary: ArchiveValue {
    [
      "version": .integer(version), "kind": .string(kind.rawValue), "keys": .array(keys.sorted().map { .string($0) }),
      "steps": .array(steps.map { .string($0) }), "archive": .bool(archive != nil),
    ]
  }
}
