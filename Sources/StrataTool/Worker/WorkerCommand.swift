internal import ArgumentParser
internal import StrataCore

struct WorkerCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker", abstract: "Upgrade, verify, convert and merge archives for another program.",
    discussion: """
      A worker reads requests from standard input, and writes a response to each request to standard output. \
      Docs/Worker.md describes the format of requests and responses. The Python package strata-workers starts workers \
      for folders, PostgreSQL and Spark (see Docs/Scaling.md).

      Example:

        strata-workers folder upgrade Documents Upgraded --tool ./apptool --workers 4
      """)

  @Option(
    name: .customLong("protocol"),
    help: ArgumentHelp("The version of the worker protocol that the other program uses.", valueName: "version"))
  var protocolVersion = Worker.protocolVersion

  @Option(help: ArgumentHelp("The maximum size of a request or response in bytes.", valueName: "bytes"))
  var maxFrame = 1 << 26

  @Option(
    help: ArgumentHelp(
      "A merge rule for a path, or for all paths without their own rule. This option can be repeated.",
      valueName: "[path=]rule"))
  var policy: [String] = []

  @Option(
    help:
      "The side that wins if no rule resolves a conflict in a merge: local or server."
  )
  var conflicts = MergeCommand.Conflicts.local

  @Flag(help: "Treat the server's document in a merge as partial, so that keys missing from it stay unchanged.")
  var partial = false

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  func validate() throws {
    guard protocolVersion == Worker.protocolVersion else {
      throw ValidationError(
        "--protocol \(protocolVersion): the version is not supported; use version \(Worker.protocolVersion)")
    }
    guard maxFrame >= 1024, maxFrame < 1 << 31 else {
      throw ValidationError("--max-frame must be between 1,024 and 2,147,483,647, not \(maxFrame)")
    }
    guard conflicts != .fail else { throw ValidationError("--conflicts must be local or server") }
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
