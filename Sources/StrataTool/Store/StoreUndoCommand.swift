internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreUndoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Undo the last change of a key by adding a new revision.",
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
