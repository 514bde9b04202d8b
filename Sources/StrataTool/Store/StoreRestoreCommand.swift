internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreRestoreCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Restore an earlier state of a key by adding a new revision.",
    discussion: """
      Example:

        strata store restore models.store issue/7 2
      """)

  @OptionGroup var change: StoreChange

  @Argument(help: "The revision to restore: \(StorePointArgument.help).")
  var point: StorePointArgument

  func run(on console: Console) throws -> Int32 {
    try change.run(on: console) {
      try $0.restore(change.key.name, to: point.point, author: change.attribution.author, note: change.attribution.note)
    }
  }
}
