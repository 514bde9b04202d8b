internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreSaveCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "save", abstract: "Save an archive or a JSON document under a key as a new revision.",
    discussion: """
      When the command prints the new revision, the revision is already on disk.

      Example:

        strata store save models.store issue/7 issue.json --author ann
      """)

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "The archive or JSON document to save, or - for standard input.", completion: .file())
  var file: String

  @OptionGroup var record: RecordOptions

  @OptionGroup var attribution: StoreNote

  @Option(help: "Save only if the last revision of the key still has this number.")
  var ifRevision: Int?

  @Flag(help: "Save only if the key has no value.")
  var ifAbsent = false

  @Flag(
    help:
      "Save even if the last revision has newer versions of models. Their new fields then remain only in the history.")
  var overNewer = false

  func validate() throws {
    if ifRevision != nil, ifAbsent { throw ValidationError("--if-revision and --if-absent cannot be combined") }
    if let ifRevision, ifRevision < 1 {
      throw ValidationError("--if-revision must be a revision number of 1 or greater")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let document = try StoredDocument(DataFile(file), record, console)
    let condition: SaveCondition = ifAbsent ? .isAbsent : ifRevision.map { .isStill($0) } ?? .always
    let revision = try store.use(.writes) { store in
      try store.write {
        try $0.saveArchive(
          document.archive, as: key.name, author: attribution.author, note: attribution.note, if: condition,
          overNewer: overNewer)
      }
    }
    try store.show(revision.json, [revision.line], console)
    return 0
  }
}
