internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreRedoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "redo", abstract: "Redo the last undone change of a key by adding a new revision.",
    discussion: """
      Example:

        strata store redo models.store issue/7
      """)

  @OptionGroup var change: StoreChange

  func run(on console: Console) throws -> Int32 {
    try change.run(on: console) {
      try $0.redo(change.key.name, author: change.attribution.author, note: change.attribution.note)
    }
  }
}
