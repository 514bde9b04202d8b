internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreUndoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Go back to the state before the last change of a key, as a new revision.",
    discussion: """
      Example:

        strata store undo models.store issue/7
      """)

  @OptionGroup var change: StoreChange

  func run(on console: Console) throws -> Int32 {
    try change.run(on: console) {
      try $0.undo(change.key.name, author: change.attribution.author, note: change.attribution.note)
    }
  }
}
