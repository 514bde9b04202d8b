internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreDiffCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "List the differences between two revisions of a key.",
    discussion: """
      The output has the same marks as the output of strata diff. A deletion is compared as null. The exit code is 0 \
      if the revisions are equal, 1 if they differ, and 2 if the command fails.

      Example:

        strata store diff models.store issue/7 --values
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "The old revision: \(StorePointArgument.help). By default, the revision before the new one.")
  var old: StorePointArgument?

  @Argument(help: "The new revision: \(StorePointArgument.help).")
  var new = StorePointArgument.latest

  @OptionGroup var options: DifferenceOptions

  func run(on console: Console) throws -> Int32 {
    let (before, after) = try store.use(.reads) { store in
      try store.read { transaction in
        func state(_ point: StorePoint) throws -> State {
          guard let found = try transaction.revision(of: key.name, at: point) else {
            throw ToolError("\(self.store.path): the store has no key “\(key.name)”")
          }
          let archive = found.isDeletion ? nil : try transaction.archive(of: key.name, at: .revision(found.number))
          return (found, try Document(name: "revision \(found.number)", archive: archive))
        }
        let after = try state(new.point)
        if let old { return (try state(old.point), after) }
        let number = after.revision.number
        guard let before = try transaction.history(of: key.name).last(where: { $0.number < number }) else {
          throw ToolError("\(self.store.path): the key “\(key.name)” has no revision before revision \(number)")
        }
        return (try state(.revision(before.number)), after)
      }
    }
    let (differences, lines) = try options.compare(
      before.document, after.document, title: "\(key.name) in \(store.path)", console)
    let revisions: ArchiveObject = [
      "key": .string(key.name), "old": before.revision.json, "new": after.revision.json,
    ]
    try store.show(.object(ArchiveObject(revisions.entries + differences.entries)), lines, console)
    return lines.isEmpty ? 0 : 1
  }

  private typealias State = (revision: StoreRevision, document: Document)
}
