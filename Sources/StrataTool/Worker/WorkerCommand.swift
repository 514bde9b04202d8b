internal import ArgumentParser
internal import StrataCore

struct WorkerCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Upgrade, verify, convert and merge archives for another program.",
    discussion: """
      Reads requests on standard input and writes an answer for each to standard output, in the frames of Docs/Worker.md. \
      The Python package strata-workers starts workers for folders, PostgreSQL and Spark (Docs/Scaling.md).

      Example:

        strata-workers folder upgrade Documents Upgraded --tool ./apptool --workers 4
      """)

  @Option(name: .customLong("protocol"), help: ArgumentHelp("The version of the protocol.", valueName: "version"))
  var protocolVersion = Worker.protocolVersion

  @Option(help: ArgumentHelp("The longest request and the longest answer.", valueName: "bytes"))
  var maxFrame = 1 << 26

  @Option(
    help: ArgumentHelp("What decides at a path, or everywhere, in a merge; may be repeated.", valueName: "[path=]rule"))
  var policy: [String] = []

  @Option(help: "Which side counts in a merge where both changed a value and no rule decides: local or server.")
  var conflicts = MergeCommand.Conflicts.local

  @Flag(help: "The server's document of a merge is partial: keys that it lacks stay unchanged.")
  var partial = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func validate() throws {
    guard protocolVersion == Worker.protocolVersion else {
      throw ValidationError(
        "--protocol \(protocolVersion): the version is not supported; use version \(Worker.protocolVersion).")
    }
    guard maxFrame >= 1024, maxFrame < 1 << 31 else {
      throw ValidationError("--max-frame must be between 1,024 and 2,147,483,647, not \(maxFrame).")
    }
    guard conflicts != .fail else { throw ValidationError("a worker supports only local or server for --conflicts.") }
    _ = try MergeOptions(policy: policy, conflicts: conflicts, partial: partial)
  }

  func run(on console: Console) throws -> Int32 {
    let worker = Worker(
      models: console.models, limits: limits.limits,
      mergeOptions: try MergeOptions(policy: policy, conflicts: conflicts, partial: partial), maxFrame: maxFrame)
    try worker.run(on: console)
    return 0
  }
}
