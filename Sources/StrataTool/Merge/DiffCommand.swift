internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct DiffCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Compare two files key path by key path.",
    discussion: """
      The files are archives, JSON documents, keyed archives of Foundation or property lists, in any mixture. A line \
      begins with + for what was added, - for what was removed, ~ for what changed, and ↕ for a list in another order. \
      The exit code is 0 where the files are the same, 1 where they differ, and 2 for a failure.

      Example:

        strata diff old.strata new.json --values
      """)

  static var failureCode: Int32 { 2 }

  @Argument(help: "The file before; - is standard input.", completion: .file())
  var old: String

  @Argument(help: "The file after.", completion: .file())
  var new: String

  @OptionGroup var options: DifferenceOptions

  @Flag(help: "Print the differences as JSON, with their values.")
  var json = false

  @Flag(help: "Print a JSON Patch (RFC 6902) that makes the second of the first.")
  var patch = false

  @Flag(help: "Print a JSON Merge Patch (RFC 7396) that makes the second of the first.")
  var mergePatch = false

  func validate() throws {
    if old == "-", new == "-" { throw ValidationError("only one of the two files can be standard input.") }
    if [json, patch, mergePatch].count(where: \.self) > 1 {
      throw ValidationError("--json, --patch and --merge-patch cannot be combined.")
    }
    if options.page.path != nil, patch || mergePatch {
      throw ValidationError("--html cannot be combined with --patch or --merge-patch.")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let (old, new) = (try Document(old, console), try Document(new, console))
    if patch || mergePatch { return try printPatch(old, new, console) }
    let (differences, lines) = try options.compare(
      old, new, title: "\(old.name) → \(new.name)", console)
    if json { try console.write(ArchiveValue.object(differences).jsonText()) } else { try console.lines(lines) }
    return lines.isEmpty ? 0 : 1
  }

  /// Prints the difference as a patch, and returns the exit code. Patches apply to JSON documents,
  /// so the patch is computed from the JSON form of both files.
  private func printPatch(_ old: Document, _ new: Document, _ console: Console) throws -> Int32 {
    func tree(_ document: Document) throws -> ArchiveValue {
      var objects = ObjectTree()
      return try ToolError.at(document.name) { try objects.tree(document.value) }
    }
    let values = try Comparison.aligned((old, try tree(old)), (new, try tree(new)))
    let before = try ToolError.at(old.name) { try values.old.asJSON() }
    let after = try ToolError.at(new.name) { try values.new.asJSON() }
    if patch {
      try console.write(JSONPatch(from: before, to: after).json.jsonText())
    } else {
      let patch = JSONMergePatch.patch(from: before, to: after)
      let rest = ValueDifference(from: JSONMergePatch.apply(patch, to: before), to: after, elementsBy: options.by)
        .changes
      guard rest.isEmpty else {
        let paths = rest.prefix(5).map(\.path.description).joined(separator: ", ") + (rest.count > 5 ? " …" : "")
        throw ToolError("a merge patch cannot set the key at \(paths) in \(new.name) to null; use --patch")
      }
      try console.write(patch.jsonText())
    }
    return before == after ? 0 : 1
  }
}
