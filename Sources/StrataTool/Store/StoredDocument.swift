internal import Foundation
internal import StrataCore

/// A file as the archive that a store saves: an archive is taken as it is, and a JSON document as `encode` archives it.
struct StoredDocument {
  let archive: Data

  init(_ file: DataFile, _ record: RecordOptions?, _ console: Console) throws {
    let input = try InputFile(file, console)
    guard try !input.isEmpty else {
      throw ToolError("\(file.name): the file is empty; an archive or a JSON document is expected")
    }
    switch input.kind {
    case .archive:
      guard record?.type == nil else {
        throw ToolError("\(file.name): --type is for JSON documents, and an archive has a type")
      }
      archive = try input.data()
    case .propertyList:
      throw ToolError("\(file.name): is a property list; strata convert makes an archive of it, which can be saved")
    case .other(let found):
      guard Self.mayBeJSON(found) else {
        throw ToolError("\(file.name): found \(found) where an archive or a JSON document is expected")
      }
      archive = try Self.archive(ofJSON: input.data(), file, record)
    }
  }

  /// A file of a folder; `nil` for one that is neither, with what was found instead.
  static func inFolder(_ path: String, _ console: Console) throws -> (document: StoredDocument?, found: String) {
    switch try InputFile(path: path).kind {
    case .archive: break
    case .propertyList: return (nil, "a property list; strata convert makes an archive of it")
    case .other(let found):
      // Any text may be JSON, so that the name decides where the first character does not.
      guard found == "JSON" || Self.mayBeJSON(found) && path.hasSuffix(".json") else { return (nil, found) }
    }
    return (try StoredDocument(DataFile(path), nil, console), "")
  }

  private static func mayBeJSON(_ found: String) -> Bool {
    found == "JSON" || found == "text" || found.contains("OpenStep")
  }

  private static func archive(ofJSON data: Data, _ file: DataFile, _ record: RecordOptions?) throws -> Data {
    try ToolError.at(file.path) {
      var reader = JSONReader()
      // Which of two values counts would be a guess, and the other one would be lost.
      reader.duplicateKeys = .refuse
      let document = try reader.read(data)
      return try record?.archive(of: document, file) ?? ArchiveEncoder().encode(document)
    }
  }
}
