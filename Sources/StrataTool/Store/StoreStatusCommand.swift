internal import ArgumentParser
internal import StrataCore
internal import StrataStore

struct StoreStatusCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the types and versions in a store, and the size of the store.",
    discussion: """
      Example:

        strata store status models.store
      """)

  @OptionGroup var store: StoreFile

  func run(on console: Console) throws -> Int32 {
    let status = try store.use(.reads) { try $0.status() }
    try store.show(json(status), lines(status), console)
    return 0
  }

  private func json(_ status: StoreStatus) -> ArchiveValue {
    let types = status.types.map { type -> ArchiveValue in
      [
        "type": .string(type.typeName), "modelVersion": .orNull(type.modelVersion),
        "revisions": .integer(type.revisions), "keys": .integer(type.heads),
      ]
    }
    return [
      "store": .string(store.path), "keys": .integer(status.keys), "revisions": .integer(status.revisions),
      "sequence": .integer(status.sequence), "types": .array(types),
      "failedUpgrades": .integer(status.failedUpgrades), "format": .integer(status.format),
      "minimumReader": .integer(status.minimumReader), "minimumWriter": .integer(status.minimumWriter),
      "fileSize": .integer(status.fileSize), "freeBytes": .integer(status.freeBytes),
      "journalSize": .orNull(status.journalSize),
      "journalReaders": status.journalReaders.map { .array($0.map { .integer($0) }) } ?? .null,
    ]
  }

  private func lines(_ status: StoreStatus) -> [String] {
    var lines = [
      "store      \(store.path.onOneLine)", "format     \(status.format)", "keys       \(status.keys.grouped)",
      "revisions  \(status.revisions.grouped)", "sequence   \(status.sequence)",
      "file       \(status.fileSize.counted("byte")), \(status.freeBytes.grouped) free",
    ]
    if let size = status.journalSize { lines.append("journal    \(size.counted("byte"))") }
    if status.failedUpgrades > 0 { lines.append("failed     \(status.failedUpgrades.counted("upgrade"))") }
    var table = TextTable(columns: 2)
    for type in status.types {
      let mark = type.modelVersion.map { "\(type.typeName)@\($0)" } ?? type.typeName
      table.add([mark.onOneLine, type.revisions.counted("revision"), type.heads.counted("key")])
    }
    return lines + [""] + table.lines
  }
}
