internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreDeleteCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete the value of a key by adding a new revision without a value.",
    discussion: """
      The history of the key is kept, so strata store undo restores the value.

      Example:

        strata store delete models.store issue/7
      """)

  @OptionGroup var change: StoreChange

  func run(on console: Console) throws -> Int32 {
    try change.run(on: console) {
      try $0.delete(change.key.name, author: change.attribution.author, note: change.attribution.note)
    }
  }
}
