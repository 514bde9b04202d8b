internal import ArgumentParser
internal import StrataCore
internal import StrataTesting

struct SchemaDiffCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "List the differences between two recorded versions of a model, or of each model.",
    discussion: """
      By default, the last recorded version is compared with the previous one. The exit code is 0 if there are no \
      differences, 1 if there are differences, and 2 if the command fails.

      Example:

        strata schema diff Tests/AppTests/Schemas Issue --from 1 --to 3
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var folder: SchemaFolderArgument

  @Argument(help: "The name of the model. By default, all models are compared.")
  var model: String?

  @Option(help: "The older version. By default, the last recorded version before --to.")
  var from: Int?

  @Option(help: "The newer version. By default, the last recorded version.")
  var to: Int?

  @OptionGroup var format: SchemaFormat

  func validate() throws {
    if model == nil, from != nil || to != nil { throw ValidationError("--from and --to require the name of a model") }
  }

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path).intact()
    let models = folder.models.filter { model == nil || $0.name == model }
    guard !models.isEmpty else {
      throw ToolError(
        "\(folder.path): the model \(model ?? "") is not recorded; the recorded models are "
          + "\(folder.models.map(\.name).joined(separator: ", "))"
      )
    }
    var (lines, documents, notices) = ([String](), [ArchiveValue](), [SchemaAnnotation]())
    for model in models {
      guard let (old, new) = try pair(model) else { continue }
      let changes = folder.changes(of: model, from: old, to: new)
      let steps = model.versions.filter { (old.version + 1...new.version).contains($0.version) }.flatMap(\.steps)
      documents.append([
        "model": .string(model.name), "from": .integer(old.version), "to": .integer(new.version),
        "changes": .array(changes.map { ["text": .string($0.text), "needsStepFor": .orNull($0.key)] }),
        "steps": .array(steps.map { .string($0) }),
      ])
      guard !changes.isEmpty else { continue }
      lines.append("\(model.name) \(old.version) → \(new.version)".onOneLine)
      lines += changes.map { "  " + $0.text.onOneLine + ($0.key == nil ? "" : " (needs a step)") }
      lines += steps.map { "  step: " + $0.onOneLine }
      notices += changes.map {
        SchemaAnnotation(level: .notice, file: folder.file(of: model.name, new.version), message: $0.text)
      }
    }
    try format.show(lines, ["folder": .string(folder.path), "models": .array(documents)], notices, console)
    return lines.isEmpty ? 0 : 1
  }

  /// Returns the versions to compare, or `nil` if only one version is recorded.
  private func pair(_ model: LockFolder.Model) throws -> (old: RecordedSchema, new: RecordedSchema)? {
    func find(_ version: Int?, _ otherwise: RecordedSchema?) throws -> RecordedSchema? {
      guard let version else { return otherwise }
      guard let found = model.versions.first(where: { $0.version == version }) else {
        let recorded = model.versions.map { "\($0.version)" }.joined(separator: ", ")
        throw ToolError("version \(version) of \(model.name) is not recorded; the recorded versions are \(recorded)")
      }
      return found
    }
    guard let new = try find(to, model.versions.last),
      let old = try find(from, model.versions.last { $0.version < new.version })
    else { return nil }
    guard old.version < new.version else {
      throw ToolError("--from \(old.version) --to \(new.version): --from must be the older version")
    }
    return (old, new)
  }
}
