internal import ArgumentParser
internal import StrataCore

/// How much work one archive may cause.
struct LimitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("How many values one archive may make.", valueName: "count"))
  var maxValues: Int?

  @Option(help: ArgumentHelp("How many bytes of text and data references may stand for.", valueName: "bytes"))
  var maxBytes: Int?

  @Option(help: ArgumentHelp("How many steps finding duplicates may take.", valueName: "count"))
  var maxSteps: Int?

  func validate() throws {
    for value in [maxValues, maxBytes, maxSteps] {
      if let value, value < 0 { throw ValidationError("a limit is a number from 0 on, and \(value) is not") }
    }
  }

  /// What was asked for. Who names a limit means it for files of any size.
  var limits: ArchiveLimits {
    var limits = ArchiveLimits()
    if let maxValues { limits.values = maxValues }
    if let maxBytes { limits.expandedBytes = maxBytes }
    if let maxSteps { limits.steps = maxSteps }
    if maxValues != nil || maxBytes != nil || maxSteps != nil { limits.maxWorkPerByte = .max }
    return limits
  }
}
