internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct DiffCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "List the differences between two files.",
    discussion: """
      Each file can be an archive, a JSON document, a keyed archive or a property list. Each line of the output begins \
      with a mark and a key path. The marks are + for an addition, - for a removal, ~ for a change, and ↕ for a list \
      whose elements are in a different order. The exit code is 0 if the files are equal, 1 if they differ, and 2 if \
      the command fails.

      Example:

        strata diff old.strata new.json --values
      """)

  static var failureCode: Int32 { 2 }

  @Argument(help: "The old file, or - for standard input.", completion: .file())
  var old: String

  @Argument(help: "The new file, or - for standard input.", completion: .file())
  var new: String

  @OptionGroup var options: DifferenceOptions

  @Flag(help: "Print the differences and their values as JSON.")
  var json = false

  @Flag(help: "Print a JSON Patch (RFC 6902) that turns the old file into the new file.")
  var patch = false

  @Flag(help: "Print a JSON Merge Patch (RFC 7396) that turns the old file into the new file.")
  var mergePatch = false

  func validate() throws {
    if old == "-", new == "-" { throw ValidationError("only one of the two files can be standard input") }
    if [json, patch, mergePatch].count(where: \.self) > 1 {
      throw ValidationError("--json, --patch and --merge-patch cannot be combined")
    }
    if options.page.path != nil, patch || mergePatch {
      throw ValidationError("--html cannot be combined with --patch or --merge-patch")
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

  /// Prints the difference as a patch and returns the exit code. Patches apply to JSON documents, so the patch is
  /// computed from the JSON form of both files.
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
        throw ToolError("a merge patch cannot set a key to null, but \(new.name) has null at \(paths); use --patch")
      }
      try console.write(patch.jsonText())
    }
    return before == after ? 0 : 1
  }
}
