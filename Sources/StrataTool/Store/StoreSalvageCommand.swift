internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

struct StoreSalvageCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Copy the intact data of a damaged store to a new store.",
    discussion: """
      The damaged store is not changed. The command lists the lost data. The exit code is 0 if no data is lost, 1 if \
      data is lost, and 2 if the command fails.

      Example:

        strata store salvage damaged.store -o rescued.store
      """)

  static var failureCode: Int32 { 2 }

  @OptionGroup var store: StoreFile

  @Option(name: .shortAndLong, help: "The path of the new store. The file must not exist yet.", completion: .file())
  var output: String

  func validate() throws {
    if output.isEmpty || output == "-" {
      throw ValidationError(
        "--output must be the path of a file; standard output is not supported")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let report = try store.atFile(.reads) { url, options in
      try SnapshotStore.salvage(url, to: URL(fileURLWithPath: output), options: options)
    }
    let lost = report.lost.count + report.omittedLosses
    try store.show(
      [
        "output": .string(output), "complete": .bool(report.isComplete), "keys": .integer(report.keys),
        "revisions": .integer(report.revisions), "lost": .array(report.lost.map(\.json)),
        "omittedLosses": .integer(report.omittedLosses),
      ],
      report.lost.map { "lost  " + String(describing: $0).onOneLine } + [
        "\(report.isComplete ? "complete" : "partial")  \(output.onOneLine)  \(report.keys.counted("key"))  "
          + "\(report.revisions.counted("revision"))" + (lost > 0 ? ", \(lost.grouped) lost" : "")
      ], console)
    return report.isComplete ? 0 : 1
  }
}
