internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreInitCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Make an empty store.",
    discussion: """
      A store that is there already stays as it is, and any other file is refused.

      Example:

        strata store init models.store
      """)

  @OptionGroup var store: StoreFile

  func run(on console: Console) throws -> Int32 {
    let existed = try store.exists
    try store.use(.makes) { _ in }
    try store.show(
      ["store": .string(store.path), "made": .bool(!existed)],
      ["\(existed ? "there already" : "made")  \(store.path.onOneLine)"], console)
    return 0
  }
}
