internal import Foundation
internal import StrataCore

/// The outcomes for the files of a folder, which can be shown as lines of text, JSON or tab-separated values.
struct ConversionReport {
  let folders: FolderPair
  let isDry: Bool
  let results: [ConversionResult]

  func count(_ outcome: ConversionResult.Outcome) -> Int { results.count { $0.outcome == outcome } }

  /// One line for each failure, followed by a line of counts.
  var lines: [String] {
    let failures = results.filter { $0.outcome == .failed }.map { "failed  \($0.file.onOneLine)  \($0.message ?? "")" }
    let counts = [
      "\(count(.converted).grouped) converted", "\(count(.done).grouped) already converted",
      "\(count(.ignored).grouped) ignored", "\(count(.failed).grouped) failed",
    ]
    return failures + [
      counts.joined(separator: ", ") + (isDry ? "; no archives were written because of --dry-run" : "")
    ]
  }

  /// Returns the report as tab-separated values or as JSON.
  func data(isTabSeparated: Bool) throws -> Data {
    isTabSeparated ? tabSeparated : try json.jsonText()
  }

  private var json: ArchiveValue {
    var object = ArchiveObject()
    object["input"] = .string(folders.input)
    object["output"] = .string(folders.output)
    object["dryRun"] = .bool(isDry)
    for outcome in ConversionResult.Outcome.allCases { object[outcome.rawValue] = .integer(count(outcome)) }
    object["files"] = .array(
      results.map { result in
        var file = ArchiveObject()
        file["file"] = .string(result.file)
        file["outcome"] = .string(result.outcome.rawValue)
        if let output = result.output { file["output"] = .string(output) }
        if let code = result.code { file["code"] = .string(code) }
        if let message = result.message { file["message"] = .string(message) }
        return .object(file)
      })
    return .object(object)
  }

  private var tabSeparated: Data {
    var text = "file\toutcome\toutput\tcode\tmessage\n"
    for result in results {
      let cells = [result.file, result.outcome.rawValue, result.output ?? "", result.code ?? "", result.message ?? ""]
      text += cells.map { $0.replacing("\\", with: "\\\\").onOneLine }.joined(separator: "\t") + "\n"
    }
    return Data(text.utf8)
  }
}
