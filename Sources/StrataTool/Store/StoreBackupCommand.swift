internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

struct StoreBackupCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy a store to a single file, even while the store is in use.",
    discussion: """
      The backup contains all saves that were complete when the command started. The backup is checked before it \
      replaces an existing file. Every store command can open the backup.

      Example:

        strata store backup models.store -o backup.store
      """)

  @OptionGroup var store: StoreFile

  @Option(name: .shortAndLong, help: "The file for the backup.", completion: .file())
  var output: String

  func validate() throws {
    if output.isEmpty || output == "-" {
      throw ValidationError(
        "--output must be the path of a file; standard output is not supported")
    }
  }

  func run(on console: Console) throws -> Int32 {
    let backup = try store.use(.reads) { try $0.backup(to: URL(fileURLWithPath: output)) }
    try store.show(
      ["output": .string(output), "size": .integer(backup.size), "sequence": .integer(backup.sequence)],
      [
        "backed up  \(output.onOneLine)  \(backup.size.counted("byte")), with all saves up to sequence number "
          + "\(backup.sequence)"
      ],
      console)
    return 0
  }
}
