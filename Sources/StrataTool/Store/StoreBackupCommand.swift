internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

struct StoreBackupCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Write a store to one file, while it is in use.",
    discussion: """
      Every save that was acknowledged before is in it. The file is checked before it takes the place of the one before, \
      and opens as a store.

      Example:

        strata store backup models.store -o backup.store
      """)

  @OptionGroup var store: StoreFile

  @Option(name: .shortAndLong, help: "The file of the backup.", completion: .file())
  var output: String

  func validate() throws {
    if output.isEmpty || output == "-" {
      throw ValidationError(
        "--output must be the path of a file; standard output is not supported.")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let backup = try store.use(.reads) { try $0.backup(to: URL(fileURLWithPath: output)) }
    try store.show(
      ["output": .string(output), "size": .integer(backup.size), "sequence": .integer(backup.sequence)],
      ["backed up  \(output.onOneLine)  \(backup.size.counted("byte")), up to save \(backup.sequence)"], console)
    return 0
  }
}
