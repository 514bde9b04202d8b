internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StorePruneCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove the revisions that no rule keeps, and free their space.",
    discussion: """
      The last revision of each key and all revisions with a label are always kept. The exit code is 1 if a key could \
      not be pruned.

      Example:

        strata store prune models.store --keep-last 10 --dry-run
      """)

  @OptionGroup var store: StoreFile

  @Option(help: "Keep the last N revisions of each key.")
  var keepLast: Int?

  @Option(help: "Keep the last revision of each day, for the last N days on which the key was saved.")
  var daily: Int?

  @Option(help: "Keep the last revision of each week, for the last N weeks in which the key was saved.")
  var weekly: Int?

  @Option(help: ArgumentHelp("Keep the revisions that are not older than this number of days.", valueName: "days"))
  var within: Int?

  @Option(help: "Prune only keys that begin with this prefix.")
  var prefix = ""

  @Flag(help: "Show what would be removed, without removing it.")
  var dryRun = false

  @Flag(help: "Prune even if the rules would keep only the last revision of each key and the revisions with labels.")
  var force = false

  func validate() throws {
    for (option, number) in [("keep-last", keepLast), ("daily", daily), ("weekly", weekly), ("within", within)] {
      if let number, !(0...1_000_000_000).contains(number) {
        throw ValidationError("--\(option) must be between 0 and 1,000,000,000")
      }
    }
  }

  private var rules: [RetentionRule] {
    [
      keepLast.map { .keepLast($0) }, daily.map { .daily($0) }, weekly.map { .weekly($0) },
      within.map { .within(.seconds(86_400 * $0)) },
    ].compactMap(\.self)
  }

  func run(on console: Console) throws -> Int32 {
    guard !rules.isEmpty || force else {
      throw ToolError(
        "\(store.path): no option specifies the revisions to keep; use --keep-last, --daily, --weekly or --within, or "
          + "use --force to keep only the last and labeled revisions")
    }
    let report = try store.use(dryRun ? .reads : .writes) {
      try $0.prune(rules, prefix: prefix, dryRun: dryRun, force: force)
    }
    let removed = report.removed.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    try store.show(
      [
        "dryRun": .bool(report.isDryRun),
        "removed": .object(
          ArchiveObject(removed.map { .init(key: $0.key, value: .array($0.value.map { .integer($0) })) })),
        "removedCount": .integer(report.removedCount), "kept": .integer(report.kept),
        "skipped": .array(report.skipped.map(\.json)), "freedBytes": .integer(report.freedBytes),
      ],
      report.skipped.map { "skipped  " + String(describing: $0).onOneLine } + [
        "\(report.isDryRun ? "would remove" : "removed")  \(report.removedCount.counted("revision")) of "
          + "\(removed.count.counted("key")), \(report.kept.grouped) kept, \(report.freedBytes.counted("byte")) freed"
      ], console)
    return report.skipped.isEmpty ? 0 : 1
  }
}
