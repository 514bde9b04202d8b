internal import ArgumentParser
internal import Foundation
internal import StrataCore
internal import StrataStore

struct StoreImportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Save all archives and JSON documents of a folder in a store.",
    discussion: """
      Each file of the folder and its subfolders is saved, with its path in the folder as the key. A file is not saved \
      again if the last revision of its key has the same value, so an interrupted import can be repeated. Files in \
      other formats are skipped and listed in the output.

      Example:

        strata store import models.store Documents --prefix documents/
      """)

  @OptionGroup var store: StoreFile

  @Argument(help: "The folder to import.", completion: .directory)
  var folder: String

  @Option(help: "A prefix for the keys of the imported files.")
  var prefix = ""

  @OptionGroup var attribution: StoreNote

  func run(on console: Console) throws -> Int32 {
    guard FileTree.isFolder(folder) else {
      throw ToolError("\(folder): the path is not a folder; to save a single file, use strata store save")
    }
    let root = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    let items = try FileTree(root).items.filter { !FileTree.isUnfinished($0.path) }
    var report = StoreImportReport(store: store.path)
    try store.use(.writes) { store in
      var rest = items[...]
      while !rest.isEmpty {
        console.progress("\(items.count - rest.count)/\(items.count)")
        let batch = StoreImportBatch(&rest, root: root, prefix: prefix, console)
        let results = try batch.save(in: store, attribution)
        report.results += results
        // The results of a batch are printed only after its files have been written to disk.
        console.clearProgress()
        if !self.store.json { for result in results { try console.line(result.line) } }
      }
    }
    if store.json { try store.show(report.json, console) } else { try console.line(report.line) }
    guard report.count(.saved) + report.count(.same) + report.count(.failed) > 0 else {
      // An empty import is an error, because a wrong path would otherwise go unnoticed.
      throw ToolError("\(folder): the folder contains no archives or JSON documents")
    }
    return report.count(.failed) == 0 ? 0 : 1
  }
}
