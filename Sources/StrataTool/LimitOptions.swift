internal import ArgumentParser
internal import StrataCore

/// The options that limit the work for one archive.
struct LimitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The maximum number of values in one archive.", valueName: "count"))
  var maxValues: Int?

  @Option(
    help: ArgumentHelp(
      "The maximum size of the text and data to which the references in one archive expand.",
      valueName: "bytes"))
  var maxBytes: Int?

  @Option(
    help: ArgumentHelp(
      "The maximum number of steps for finding duplicate set elements and duplicate keys.", valueName: "count")
  )
  var maxSteps: Int?

  func validate() throws {
    for value in [maxValues, maxBytes, maxSteps] {
      if let value, value < 0 { throw ValidationError("a limit must be 0 or greater, not \(value)") }
    }
  }

  /// The default limits, with the changes from the options. If any option is given, the default limit on the work per
  /// byte of the file is removed.
  var limits: ArchiveLimits {
    var limits = ArchiveLimits()
    if let maxValues { limits.values = maxValues }
    if let maxBytes { limits.expandedBytes = maxBytes }
    if let maxSteps { limits.steps = maxSteps }
    if maxValues != nil || maxBytes != nil || maxSteps != nil { limits.maxWorkPerByte = .max }
    return limits
  }
}
