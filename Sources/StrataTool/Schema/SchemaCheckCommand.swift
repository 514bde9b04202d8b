internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataTesting

struct SchemaCheckCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check recorded schemas, optionally against a Git revision.",
    discussion: """
      The command reports recorded files that were edited, golden archives that were changed, skipped versions, and \
      changes that lack a required step. With --against, it also reports versions that were changed or removed since \
      the Git revision. The tool of an app also runs the schema lock of the app's models. The exit code is 0 if there \
      are no problems, 1 if there are problems, and 2 if the command fails.

      Example:

        strata schema check Tests/AppTests/Schemas --against origin/main --format github
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var folder: SchemaFolderArgument

  @Option(help: "A Git revision, such as origin/main, whose recorded versions must be unchanged.")
  var against: String?

  @Option(
    help:
      "A model with a hook (KeyMigrating), whose missing steps are not reported. This option can be repeated."
  )
  var hook: [String] = []

  @OptionGroup var format: SchemaFormat

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path)
    let revision = try against.map { try GitFolder($0, of: folder.path) }
    let models = console.models.types
    // If the program contains the models, the schema lock checks their steps, because it knows which models have hooks.
    // The folder then reports no missing steps.
    let hooked = Set(models.isEmpty ? hook : folder.models.map(\.name))
    var problems = try folder.problems(against: revision, hooked: hooked)
    if !models.isEmpty { problems += try console.models.problems(in: folder.path) { try $0.check() } }
    return try format.report(problems, of: folder, [.init(key: "against", value: .orNull(against))], console)
  }
}

struct SchemaProofCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "proof", abstract: "Open random archives of each recorded version with the models of an app.",
    discussion: """
      The command reports steps that lose a value, and archives that have different values if they are opened in \
      different ways (see “Prove the steps” in Docs/Evolving.md). It needs the models of an app, so it works only in \
      the app's own tool (see “A tool of your own” in Docs/Tool.md). The exit code is 0 if there are no problems, 1 if \
      there are problems, and 2 if the command fails.

      Example:

        strata schema proof Tests/AppTests/Schemas --archives 5000
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var folder: SchemaFolderArgument

  @Option(help: "The number of random archives for each version.")
  var archives = 200

  @Option(help: "The seed of the random values. To repeat a run, pass its seed; by default, each run uses a new seed.")
  var seed: UInt64?

  @OptionGroup var format: SchemaFormat

  func validate() throws {
    guard archives > 0 else { throw ValidationError("--archives must be 1 or greater") }
  }

  func run(on console: Console) throws -> Int32 {
    let folder = try LockFolder(folder.path)
    let seed = seed ?? .random(in: 0..<1 << 32)
    let problems = try console.models.problems(in: folder.path) { try $0.prove(archives: archives, seed: seed) }
    return try format.report(
      problems, of: folder,
      [.init(key: "archives", value: .integer(archives)), .init(key: "seed", value: .integer(seed))], console)
  }
}

struct SchemaRecordCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Record the current versions of an app's models that are not recorded yet.",
    discussion: """
      The command needs the models of an app, so it works only in the app's own tool (see “A tool of your own” in \
      Docs/Tool.md). It never changes a recorded version. If the schema lock finds a problem, nothing is recorded.

      Example:

        strata schema record Tests/AppTests/Schemas
      """)

  @OptionGroup var folder: SchemaFolderArgument

  func run(on console: Console) throws -> Int32 {
    let folder = SchemaFolder(url: URL(fileURLWithPath: folder.path))
    func recorded() throws -> Set<String> {
      Set(try folder.names().flatMap { name in try folder.versions(of: name).map { "\(name)@\($0)" } })
    }
    let before = try recorded()
    let problems = try console.models.problems(in: self.folder.path, records: true) { try $0.check() }
    guard problems.isEmpty else { throw ToolError(problems.map(\.message).joined(separator: "; ")) }
    let new = try recorded().subtracting(before).sorted()
    try console.lines(new.isEmpty ? ["all versions are already recorded"] : new.map { "recorded  " + $0.onOneLine })
    return 0
  }
}

extension ToolModels {
  /// Runs `body` with a schema lock of the models and returns the problems that the lock finds.
  fileprivate func problems(
    in folder: String, records: Bool = false, _ body: (SchemaLock) throws -> Void
  ) throws -> [SchemaAnnotation] {
    guard !types.isEmpty else {
      throw ToolError(
        "the command needs your model types, which this program does not contain; run the test that uses "
          + "SchemaLock (set STRATA_RECORD=1 to record), or use the app's own tool (see “A tool of your own” in "
          + "Docs/Tool.md)")
    }
    do { try body(SchemaLock(types, folder: URL(fileURLWithPath: folder), records: records)) } catch let error
      as SchemaLockError
    {
      return error.problems.map { SchemaAnnotation(file: nil, message: $0) }
    }
    return []
  }
}

extension SchemaFormat {
  /// - Returns: the exit code.
  fileprivate func report(
    _ problems: [SchemaAnnotation], of folder: LockFolder, _ details: [ArchiveObject.Entry],
    _ console: Console
  ) throws -> Int32 {
    let versions = folder.models.reduce(0) { $0 + $1.versions.count }
    let sum = "\(folder.models.count.counted("model")), \(versions.counted("version"))"
    try show(
      problems.map(\.line) + [
        problems.isEmpty ? "\(sum): no problems" : "\(sum): \(problems.count.counted("problem"))"
      ],
      .object(
        ArchiveObject(
          [.init(key: "folder", value: .string(folder.path))] + details + [
            .init(key: "clean", value: .bool(problems.isEmpty)),
            .init(key: "models", value: .integer(folder.models.count)),
            .init(key: "versions", value: .integer(versions)),
            .init(key: "problems", value: .array(problems.map(\.json))),
          ])), problems, console)
    return problems.isEmpty ? 0 : 1
  }
}
