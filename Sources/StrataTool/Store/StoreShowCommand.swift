internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreShowCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a revision of a key, with its value and its author.",
    discussion: """
      Example:

        strata store show models.store issue/7
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Option(help: ArgumentHelp("The revision to show: \(StorePointArgument.help).", valueName: "point"))
  var revision = StorePointArgument.latest

  @OptionGroup var treeOptions: TreeOptions

  func run(on console: Console) throws -> Int32 {
    let (found, value) = try store.use(.reads) { store in
      try store.read { transaction in
        guard let found = try transaction.revision(of: key.name, at: revision.point) else {
          throw ToolError("\(self.store.path): the store has no key “\(key.name)”")
        }
        guard let value = try transaction.untypedValue(for: key.name, at: revision.point) else {
          throw ToolError(
            "\(self.store.path): revision \(found.number) deleted the value of the key “\(key.name)”; show an earlier "
              + "revision with --revision")
        }
        return (found, value)
      }
    }
    if store.json {
      try store.show(found.json(adding: [("value", value)]), console)
    } else {
      var tree = ValueTree(width: console.width, depth: treeOptions.depth, elements: treeOptions.elements)
      tree.add(value)
      var lines = [
        "key       \(found.key.onOneLine)", "revision  \(found.number)", "type      \(found.mark)",
        "time      \(found.timeText)",
      ]
      if let author = found.author { lines.append("author    \(author.onOneLine)") }
      if let note = found.note { lines.append("note      \(note.onOneLine)") }
      try store.show(.null, lines + [""] + tree.lines, console)
    }
    return 0
  }
}
