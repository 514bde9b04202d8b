internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreExportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Export a revision of a key as an ordinary archive.",
    discussion: """
      Example:

        strata store export models.store issue/7 -o issue.strata
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Option(name: .shortAndLong, help: "The archive to write, or - for standard output.", completion: .file())
  var output: String

  @Option(help: ArgumentHelp("The revision to export: \(StorePointArgument.help).", valueName: "point"))
  var revision = StorePointArgument.latest

  func validate() throws {
    if store.json, output == "-" {
      throw ValidationError(
        "--json and the archive cannot both use standard output; write the archive to a file with -o FILE")
    }
    if output.isEmpty { throw ValidationError("--output must not be empty; specify a path") }
  }

  func run(on console: Console) throws -> Int32 {
    try DataFile(output).refuseTerminal(console)
    let (found, archive) = try store.use(.reads) { store in
      try store.read { transaction in
        guard let found = try transaction.revision(of: key.name, at: revision.point) else {
          throw ToolError("\(self.store.path): the store has no key “\(key.name)”")
        }
        return (found, try transaction.archive(of: key.name, at: revision.point))
      }
    }
    let file = DataFile(output)
    guard try file.isStandard || !isStore(output) else {
      throw ToolError(
        "\(output): the archive would overwrite the store or its journal; choose a different output path")
    }
    try file.write(archive, console)
    guard !file.isStandard else { return 0 }
    try store.show(
      found.json(adding: [("output", .string(output)), ("size", .integer(archive.count))]),
      ["exported  \(found.key.onOneLine)  revision \(found.number)  \(archive.count.counted("byte"))"], console)
    return 0
  }

  private func isStore(_ path: String) throws -> Bool {
    let own = try RealPath.of(store.path)
    return try [own, own + "-wal", own + "-shm"].contains(RealPath.of(path))
  }
}
