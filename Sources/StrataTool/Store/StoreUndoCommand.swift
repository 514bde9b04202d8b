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

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @OptionGroup var who: StoreNote

  func run(on console: Console) throws -> Int32 {
    let revision = try store.use(.writes) { store in
      try store.write { try $0.undo(key.name, author: who.author, note: who.note) }
    }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
