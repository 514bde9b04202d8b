internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StorePruneCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove the revisions that no rule keeps, and give their space back.",
    discussion: """
      The last revision of each key is always kept, and each one with a label. Exits with 1 where a key could not be pruned.

      Example:

        strata store prune models.store --keep-last 10 --dry-run
      """)

  @OptionGroup var store: StoreFile

  @Option(help: "Keep the last N revisions.")
  var keepLast: Int?

  @Option(help: "Keep the last revision of each of the last N days on which something was saved.")
  var daily: Int?

  @Option(help: "Keep the last revision of each of the last N weeks in which something was saved.")
  var weekly: Int?

  @Option(help: ArgumentHelp("Keep what is not older than so many days.", valueName: "days"))
  var within: Int?

  @Option(help: "Only keys that begin with this.")
  var prefix = ""

  @Flag(help: "Remove nothing, and tell what would be removed.")
  var dryRun = false

  @Flag(help: "Go on where the rules keep nothing but last revisions and labels.")
  var force = false

  func validate() throws {
    for (option, number) in [("keep-last", keepLast), ("daily", daily), ("weekly", weekly), ("within", within)] {
      if let number, !(0...1_000_000_000).contains(number) {
        throw ValidationError("--\(option) must be between 0 and 1000000000.")
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
