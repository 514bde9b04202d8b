internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreRedoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "redo", abstract: "Take the last undo of a key back, as a new revision.",
    discussion: """
      Example:

        strata store redo models.store issue/7
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @OptionGroup var who: StoreNote

  func run(on console: Console) throws -> Int32 {
    let revision = try store.use(.writes) { store in
      try store.write { try $0.redo(key.name, author: who.author, note: who.note) }
    }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
