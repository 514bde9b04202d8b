internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreListCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the keys with their last revisions, sorted by the bytes of the keys.",
    discussion: """
      Example:

        strata store list models.store
      """)

  @OptionGroup var store: StoreFile

  @Option(help: "List only keys that begin with this prefix.")
  var prefix = ""

  @Flag(help: "Also list deleted keys.")
  var deleted = false

  func run(on console: Console) throws -> Int32 {
    let revisions = try store.use(.reads) { store in
      try store.read { try $0.revisions(prefix: prefix, deleted: deleted) }
    }
    try store.show(["keys": .array(revisions.map(\.json))], lines(revisions), console)
    return 0
  }

  private func lines(_ revisions: [StoreRevision]) -> [String] {
    var table = TextTable(columns: 4, header: ["key", "revision", "type", "time", "author"])
    for revision in revisions {
      table.add([
        revision.key.onOneLine, "\(revision.number)", revision.mark, revision.timeText,
        revision.author?.onOneLine ?? "",
      ])
    }
    return table.lines
  }
}
