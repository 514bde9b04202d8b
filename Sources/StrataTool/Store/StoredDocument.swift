internal import Foundation
internal import StrataCore

/// A file that was converted to an archive for a store. An archive is kept unchanged, and a JSON document is archived
/// in the same way as by the `encode` command.
struct StoredDocument {
  let archive: Data

  init(_ file: DataFile, _ record: RecordOptions?, _ console: Console) throws {
    let input = try InputFile(file, console)
    guard try !input.isEmpty else {
      throw ToolError("\(file.name): the file is empty, but an archive or a JSON document is expected")
    }
    switch input.format {
    case .archive:
      guard record?.type == nil else {
        throw ToolError(
          "\(file.name): --type applies only to JSON documents because an archive contains its type; omit --type")
      }
      archive = try input.data()
    case .propertyList:
      throw ToolError(
        "\(file.name): the file is a property list; first convert it to an archive with strata convert")
    case .other(let found):
      guard InputFile.mayBeJSON(found) else {
        throw ToolError("\(file.name): found \(found) where an archive or a JSON document is expected")
      }
      let document = try file.document(in: input.data())
      archive = try ToolError.at(file.path) {
        try record?.archive(of: document, file, console.models) ?? ArchiveEncoder().encode(document)
      }
    }
  }

  /// Reads a file in a folder. If the file is neither an archive nor JSON, returns `nil` and the format that was found.
  static func inFolder(_ path: String, _ console: Console) throws -> (document: StoredDocument?, found: String) {
    switch try InputFile(path: path).format {
    case .archive: break
    case .propertyList: return (nil, "a property list; convert it to an archive with strata convert")
    case .other(let found):
      // Any text may be JSON. If the format is uncertain, the file extension decides.
      guard found == "JSON" || InputFile.mayBeJSON(found) && path.hasSuffix(".json") else { return (nil, found) }
    }
    return (try StoredDocument(DataFile(path), nil, console), "")
  }
}
