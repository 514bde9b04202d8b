internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreLabelCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "label", abstract: "Add a label to a revision of a key, or remove a label.",
    discussion: """
      If another revision of the key already has the label, the label is moved. Pruning never removes a revision that \
      has a label.

      Example:

        strata store label models.store issue/7 approved
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "The label to add or remove.")
  var label: String

  @Option(help: ArgumentHelp("The revision to label: \(StorePointArgument.help).", valueName: "point"))
  var revision = StorePointArgument.latest

  @Flag(help: "Remove the label, but keep the revision.")
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
