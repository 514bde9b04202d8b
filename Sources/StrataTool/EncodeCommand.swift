internal import ArgumentParser
internal import Foundation
internal import StrataCore

struct EncodeCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "encode", abstract: "Make an archive of a JSON document.")

  @Argument(help: "The JSON document; - is standard input.")
  var input: String

  @Option(name: .shortAndLong, help: "The archive to write; - is standard output.")
  var output: String

  @Option(help: "Archive the document, an object, as a record of this type.")
  var type: String?

  @Option(help: "The model version of the record.")
  var modelVersion: Int?

  func validate() throws {
    if let type {
      guard !type.isEmpty else { throw ValidationError("--type needs a name.") }
      guard modelVersion != nil || RecordShape.parseMark(type).modelVersion == nil else {
        throw ValidationError("--type is a name alone; the version follows --model-version.")
      }
    } else if modelVersion != nil {
      throw ValidationError("--model-version needs --type.")
    }
    if let modelVersion, modelVersion < 0 { throw ValidationError("--model-version is 0 or more.") }
  }

  func run(on console: Console) throws -> Int32 {
    let file = DataFile(input)
    let document = try file.readJSON(console).value
    let archive = try ToolError.at(input) {
      guard let type else { return try ArchiveEncoder().encode(document) }
      guard case .object(let object) = document else {
        throw ToolError("\(file.name): --type needs an object, and the document is \(document.kind)")
      }
      return try ArchiveEncoder().encode(ModelRecord(typeName: type, modelVersion: modelVersion, object: object))
    }
    try DataFile(output).write(archive, console)
    return 0
  }
}
