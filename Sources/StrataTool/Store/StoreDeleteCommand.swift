internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreDeleteCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a key, as a new revision without a value; undo brings it back.",
    discussion: """
      Example:

        strata store delete models.store issue/7
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @OptionGroup var who: StoreNote

  func run(on console: Console) throws -> Int32 {
    let revision = try store.use(.writes) { store in
      try store.write { try $0.delete(key.name, author: who.author, note: who.note) }
    }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
