internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreInitCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create an empty store.",
    discussion: """
      If the path is an existing store, the store is not changed. If the path is any other existing file, the command \
      fails.

      Example:

        strata store init models.store
      """)

  @OptionGroup var store: StoreFile

  func run(on console: Console) throws -> Int32 {
    let existed = try store.exists
    try store.use(.makes) { _ in }
    try store.show(
      ["store": .string(store.path), "made": .bool(!existed)],
      ["\(existed ? "already exists" : "created")  \(store.path.onOneLine)"], console)
    return 0
  }
}
