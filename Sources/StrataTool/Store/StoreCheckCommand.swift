internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreCheckCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check a store for damage.",
    discussion: """
      The command does not change the store, and other processes can continue to save. Each finding includes advice on \
      what to do. The exit code is 0 if there are no findings, 1 if there are findings, and 2 if the command fails.

      Example:

        strata store check models.store --full
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var store: StoreFile

  @Flag(help: "Read and decode every revision.")
  var full = false

  @Option(help: ArgumentHelp("Also read this percentage of the revisions, chosen at random.", valueName: "percent"))
  var share: Double?

  func validate() throws {
    if full, share != nil { throw ValidationError("--full and --share cannot be combined") }
    if let share, !(0...100).contains(share) { throw ValidationError("--share must be between 0 and 100") }
  }

  func run(on console: Console) throws -> Int32 {
    let level: StoreCheckLevel = full ? .full : share.map { .share(percent: $0) } ?? .quick
    let report = try store.use(.reads) { try $0.check(level) }
    let result = report.isClean ? "clean" : (report.findings.count + report.omittedFindings).counted("finding")
    try store.show(
      [
        "store": .string(store.path), "clean": .bool(report.isClean),
        "checkedRevisions": .integer(report.checkedRevisions), "findings": .array(report.findings.map(\.json)),
        "omittedFindings": .integer(report.omittedFindings),
      ],
      report.findings.map { String(describing: $0).onOneLine }
        + ["\(result)  \(store.path.onOneLine)  \(report.checkedRevisions.counted("revision")) read"], console)
    return report.isClean ? 0 : 1
  }
}

extension StoreFinding {
  /// The finding as JSON, in which every key is always present.
  var json: ArchiveValue {
    [
      "kind": .string(kind.rawValue), "key": .orNull(key),
      "revision": .orNull(revision), "sequence": .orNull(sequence),
      "problem": .string(problem), "advice": .string(advice),
    ]
  }
}
