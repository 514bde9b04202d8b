internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct SalvageCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Write what is intact of a damaged archive to a new one.",
    discussion: """
      Of a stream, the members that read well; of an archive of one value that breaks off, what is complete before the \
      break. Prints what is missing, and exits with 1 where anything is.

      Example:

        strata salvage log.strata -o rescued.strata
      """)

  @Argument(help: "The damaged archive. It stays as it is.", completion: .file(extensions: ["strata"]))
  var input: String

  @Option(name: .shortAndLong, help: "The archive to write.", completion: .file())
  var output: String

  func validate() throws {
    guard input != "-", output != "-" else {
      throw ValidationError("salvage works only on files; standard input and output are not supported.")
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
    if report.stamp.kind == .single {
      if !report.isComplete {
        let path = report.cutPath.isEmpty ? "the beginning" : ArchiveError.describe(report.cutPath)
        try console.line("missing  from \(path.onOneLine) on; no checksum covers the part before it")
      }
      try console.line("\(report.isComplete ? "complete" : "partial")  \(output.onOneLine)")
    } else {
      try console.line(
        "\(report.isComplete ? "complete" : "partial")  \(output.onOneLine)  \(report.modelCount.counted("model"))")
    }
    return report.isComplete ? 0 : 1
  }
}
