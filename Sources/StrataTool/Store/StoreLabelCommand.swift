internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreLabelCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "label", abstract: "Give a revision of a key a name, or take one away.",
    discussion: """
      A label that another revision of the key has moves. Revisions with labels are kept.

      Example:

        strata store label models.store issue/7 approved
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "The label.")
  var label: String

  @Option(help: ArgumentHelp("Which revision: \(StorePointArgument.help).", valueName: "point"))
  var revision = StorePointArgument.latest

  @Flag(help: "Take the label away; the revision stays.")
  var remove = false

  func run(on console: Console) throws -> Int32 {
    let labels = try store.use(.writes) { store in
      try store.write { transaction in
        if remove {
          try transaction.removeLabel(label, of: key.name)
        } else {
          try transaction.setLabel(label, of: key.name, at: revision.point)
        }
        return try transaction.labels(of: key.name)
      }
    }
    let sorted = labels.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    try store.show(
      [
        "key": .string(key.name),
        "labels": .object(ArchiveObject(sorted.map { .init(key: $0.key, value: .integer($0.value)) })),
      ], ["\(remove ? "removed" : "labelled")  \(key.name.onOneLine)  \(label.onOneLine)"], console)
    return 0
  }
}
