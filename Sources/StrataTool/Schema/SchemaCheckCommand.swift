internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataTesting

struct SchemaCheckCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check recorded schemas, also against a revision of git.",
    discussion: """
      Fails if a recorded file was edited, if a golden archive was changed, if a version is skipped, or if a change needs a \
      step that is not recorded; with --against also if a version of that revision was changed or removed. The tool of an app \
      also runs the schema lock of its models. The exit code is 0 if all is well, 1 if there are problems, and 2 for a failure.

      Example:

        strata schema check Tests/AppTests/Schemas --against origin/main --format github
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var folder: SchemaFolderArgument

  @Option(help: "A revision of git, such as origin/main, whose versions must be unchanged.")
  var against: String?

  @Option(help: "A model whose hook (KeyMigrating) changes keys, which recorded steps do not show; may be repeated.")
  var hook: [String] = []

  @OptionGroup var format: SchemaFormat

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path)
    let revision = try against.map { try GitFolder($0, of: folder.path) }
    let models = console.models.types
    // The lock of models compares the steps itself, and knows the hooks.
    let hooked = Set(models.isEmpty ? hook : folder.models.map(\.name))
    var problems = try folder.problems(against: revision, hooked: hooked)
    if !models.isEmpty {
      do { try SchemaLock(models, folder: URL(fileURLWithPath: folder.path), records: false).check() } catch let error
        as SchemaLockError
      {
        problems += error.problems.map { SchemaAnnotation(file: nil, message: $0) }
      }
    }
    let versions = folder.models.reduce(0) { $0 + $1.versions.count }
    let sum = "\(folder.models.count.counted("model")), \(versions.counted("version"))"
    try format.show(
      problems.map(\.line) + [
        problems.isEmpty ? "\(sum): no problems" : "\(sum): \(problems.count.counted("problem"))"
      ],
      [
        "folder": .string(folder.path), "against": .orNull(against), "clean": .bool(problems.isEmpty),
        "models": .integer(folder.models.count), "versions": .integer(versions),
        "problems": .array(problems.map(\.json)),
      ], problems, console)
    return problems.isEmpty ? 0 : 1
  }
}

struct SchemaRecordCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Record the versions of the models of an app that are not recorded yet.",
    discussion: """
      Only the tool of an app has models (Docs/Tool.md, A tool of your own). It never changes a recorded version, and records \
      nothing if the lock has a problem.

      Example:

        strata schema record Tests/AppTests/Schemas
      """)

  @OptionGroup var folder: SchemaFolderArgument

  func run(on console: Console) throws -> Int32 {
    let models = console.models.types
    guard !models.isEmpty else {
      throw ToolError(
        "schema record needs the types of the models, and this program has none; run the test with SchemaLock and STRATA_RECORD=1, or "
          + "the app's own tool (Docs/Tool.md, A tool of your own)")
    }
    let folder = SchemaFolder(url: URL(fileURLWithPath: folder.path))
    func recorded() throws -> Set<String> {
      Set(try folder.names().flatMap { name in try folder.versions(of: name).map { "\(name)@\($0)" } })
    }
    let before = try recorded()
    do { try SchemaLock(models, folder: URL(fileURLWithPath: self.folder.path), records: true).check() } catch let error
      as SchemaLockError
    {
      throw ToolError(error.problems.joined(separator: "; "))
    }
    let new = try recorded().subtracting(before).sorted()
    try console.lines(new.isEmpty ? ["all versions are recorded"] : new.map { "recorded  " + $0.onOneLine })
    return 0
  }
}
