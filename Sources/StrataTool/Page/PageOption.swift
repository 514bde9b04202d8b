internal import ArgumentParser
internal import StrataCore

/// The option to write an HTML page in addition to a command's text output.
struct PageOption: ParsableArguments {
  @Option(
    name: .customLong("html"), help: "Also write an HTML page with all values to this .html file.",
    completion: .file(extensions: ["html"]))
  var path: String?

  func validate() throws {
    if let path, !path.hasSuffix(".html") { throw ValidationError("--html requires a path that ends with .html") }
  }

  /// Writes the page if the option was given.
  func write(_ title: String, _ console: Console, _ content: (inout HTMLPage) throws -> Void) throws {
    guard let path else { return }
    var page = HTMLPage(title: title)
    try content(&page)
    try DataFile(path).write(page.data, console)
  }
}
