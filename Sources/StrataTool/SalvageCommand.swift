internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct SalvageCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Copy the intact parts of a damaged archive to a new archive.",
    discussion: """
      From a stream, the intact members are copied. If an archive of a single value is truncated, everything before \
      the truncation is copied. The command lists the missing parts. The exit code is 0 if nothing is missing and \
      checksums verify all values, and 1 otherwise.

      Example:

        strata salvage log.strata -o rescued.strata
      """)

  @Argument(help: "The damaged archive, which is not changed.", completion: .file(extensions: ["strata"]))
  var input: String

  @Option(name: .shortAndLong, help: "The new archive to write.", completion: .file())
  var output: String

  func validate() throws {
    guard input != "-", output != "-" else {
      throw ValidationError("salvage works only on files; standard input and output are not supported")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let report = try ToolError.at(input) {
      try ArchiveSalvage.salvage(DataFile(input).url, to: DataFile(output).url)
    }
    for gap in report.gaps { try console.line("missing  \(String(describing: gap).onOneLine)") }
    if let file = report.unprovenFile {
      try console.line("unproven  \(file.path.onOneLine)  \(report.unprovenCount.counted("model"))")
    }
    switch report.outcome {
    case .unverified:
      try console.line(
        "unverified  all values were read, but the checksum at the end is missing, so any value can be wrong")
    case .partial where report.stamp.kind == .single && report.gaps.isEmpty:
      let path = report.cutPath.isEmpty ? "the beginning" : ArchiveError.describe(report.cutPath)
      try console.line(
        "missing  everything from \(path.onOneLine) on; the values before it are not verified by a checksum")
    case .partial, .complete: break
    }
    let count = report.stamp.kind == .single ? "" : "  \(report.modelCount.counted("model"))"
    try console.line("\(report.outcome.rawValue)  \(output.onOneLine)\(count)")
    return report.isComplete ? 0 : 1
  }
}
