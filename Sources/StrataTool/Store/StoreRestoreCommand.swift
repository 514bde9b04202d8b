internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreRestoreCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Make an earlier state the last one again, as a new revision.",
    discussion: """
      Example:

        strata store restore models.store issue/7 2
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "Which one: \(StorePointArgument.help).")
  var point: StorePointArgument

  @OptionGroup var who: StoreNote

  func run(on console: Console) throws -> Int32 {
    let revision = try store.use(.writes) { store in
      try store.write { try $0.restore(key.name, to: point.point, author: who.author, note: who.note) }
    }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
