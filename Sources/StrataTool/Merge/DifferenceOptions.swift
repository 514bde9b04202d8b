internal import ArgumentParser
internal import StrataCore

struct DifferenceOptions: ParsableArguments {
  @Option(
    help: "The key that identifies the elements of a list, or several keys joined with +.",
    transform: { argument in
      guard let key = IdentityKey(parsing: argument) else {
        throw ValidationError("--by requires a key, or several keys separated by “+”")
      }
      return key
    })
  var by: IdentityKey = "id"

  @Flag(help: "Show the values, cut to the width of the terminal. JSON output always contains the complete values.")
  var values = false

  @OptionGroup var page: PageOption

  /// Compares two documents and writes the HTML page if one was requested.
  ///
  /// - Parameter title: the title of the page.
  /// - Returns: the differences as members of a JSON document, and as lines of text. There are no lines if the
  ///   documents are equal.
  func compare(
    _ old: Document, _ new: Document, title: String, _ console: Console
  ) throws -> (json: ArchiveObject, lines: [String]) {
    let comparison = try Comparison(old, new)
    let changes = ValueDifference(from: comparison.old, to: comparison.new, elementsBy: by).changes
    try page.write(title, console) { $0.add(comparison, changes, old: old.name, new: new.name) }
    let text = DifferenceText(width: console.width, showsValues: values)
    return (
      ["notes": .array(comparison.notes.map { .string($0) }), "changes": .array(changes.map(\.json))],
      comparison.notes.map(\.onOneLine) + changes.map { text.line($0) }
    )
  }
}
