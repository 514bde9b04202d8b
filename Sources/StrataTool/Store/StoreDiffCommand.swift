internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreDiffCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Compare two revisions of a key, key path by key path.",
    discussion: """
      Marks, and exit codes, are those of strata diff: 0 where the revisions are the same, 1 where they differ, and 2 for \
      a failure. A deletion is compared as null.
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var store: StoreFile

  @OptionGroup var key: StoreKey

  @Argument(help: "The revision before: \(StorePointArgument.help). The one before the last unless given.")
  var old: StorePointArgument?

  @Argument(help: "The revision after.")
  var new = StorePointArgument.latest

  @Option(help: "The key that tells the elements of lists apart.")
  var by = "id"

  @Flag(help: "Show values, cut to the width of the terminal; JSON always has them.")
  var values = false

  func validate() throws {
    if by.isEmpty { throw ValidationError("--by needs a key.") }
  }

  func run(on console: Console) throws -> Int32 {
    let (before, after, changes) = try store.use(.reads) { store in
      try store.read { transaction in
        func revision(_ point: StorePoint) throws -> StoreRevision {
          guard let found = try transaction.revision(of: key.name, at: point) else {
            throw ToolError("\(self.store.path): there is no key \(key.name)")
          }
          return found
        }
        let after = try revision(new.point)
        let history = try transaction.history(of: key.name)
        guard let before = try old.map({ try revision($0.point) }) ?? history.last(where: { $0.number < after.number })
        else { throw ToolError("\(self.store.path): there is no revision of \(key.name) before \(after.number)") }
        let difference = try transaction.difference(
          of: key.name, from: .revision(before.number), to: .revision(after.number), elementsBy: by)
        return (before, after, difference.changes)
      }
    }
    let text = DifferenceText(width: console.width, showsValues: values)
    try store.show(
      ["key": .string(key.name), "old": before.json, "new": after.json, "changes": .array(changes.map(\.json))],
      changes.map { text.line($0) }, console)
    return changes.isEmpty ? 0 : 1
  }
}
