internal import StrataCore

/// What became of one file of a folder.
struct ConversionResult: Sendable {
  enum Outcome: String, Sendable, CaseIterable {
    case converted
    /// An earlier run has done it, and the file is what it was then.
    case done
    /// Neither a keyed archive nor a property list.
    case ignored
    case failed
  }

  /// The path from the folder on.
  let file: String
  let outcome: Outcome
  /// The path of the archive from the other folder on.
  var output: String?
  /// The code of the error.
  var code: String?
  /// Why it was ignored or failed, in one line.
  var message: String?
  /// What the journal keeps of a file that was converted.
  var entry: ConversionJournal.Entry?

  static func ignored(_ file: String, _ reason: String) -> ConversionResult {
    ConversionResult(file: file, outcome: .ignored, message: reason)
  }

  static func failed(_ file: String, _ error: any Error, path: String) -> ConversionResult {
    let message = ToolError.message(of: error)
    let start = path.onOneLine + ": "
    return ConversionResult(
      file: file, outcome: .failed,
      code: ((error as? ArchiveError)?.code ?? (error as? ToolError)?.code ?? .fileSystem).rawValue,
      message: message.hasPrefix(start) ? String(message.dropFirst(start.count)) : message)
  }
}
