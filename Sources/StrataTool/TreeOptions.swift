internal import ArgumentParser

/// The options that limit a tree of values.
struct TreeOptions: ParsableArguments {
  @Option(help: "The maximum number of levels of the tree.")
  var depth = 4

  @Option(help: "The maximum number of elements shown for each array or object of the tree.")
  var elements = 20

  func validate() throws {
    if depth < 0 || elements < 0 { throw ValidationError("--depth and --elements must be 0 or greater") }
  }
}
