internal import StrataCore

/// The outcome for one file of a folder.
struct ConversionResult: Sendable {
  enum Outcome: String, Sendable, CaseIterable {
    case converted
    /// An earlier run converted the file, and neither the file nor its archive has changed since.
    case done
    /// The file is neither a keyed archive nor a property list.
    case ignored
    case failed
  }

  /// The path of the file, relative to the input folder.
  let file: String
  let outcome: Outcome
  /// The path of the archive, relative to the output folder.
  var output: String?
  /// The error code, if the conversion failed.
  var code: String?
  /// The reason why the file was ignored or failed, on one line.
  var message: String?
  /// The journal entry for a file that was converted.
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
