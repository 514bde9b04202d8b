internal import ArgumentParser
internal import Foundation
internal import StrataCore

/// The options that set the type and version of an archived JSON document.
struct RecordOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The type of the archive. If the app's tool has a model of this name, the document is decoded as this model. "
        + "Otherwise, the document must be an object, and is archived as a record.")
  )
  var type: String?

  @Option(
    help: "The model version of the record. With this option, the document is archived unchanged, without a model.")
  var modelVersion: Int?

  @Flag(help: "Skip keys of the document that no field of the model reads.")
  var ignoreUnknownKeys = false

  func validate() throws {
    if let type {
      guard !type.isEmpty else { throw ValidationError("--type must not be empty; specify a name") }
      guard modelVersion != nil || RecordShape.parseMark(type).modelVersion == nil else {
        throw ValidationError("--type takes only a name; pass the version with --model-version")
      }
    } else if modelVersion != nil {
      throw ValidationError("--model-version requires --type")
    }
    if let modelVersion, modelVersion < 0 { throw ValidationError("--model-version must be 0 or greater") }
  }

  /// Archives a JSON document. If the type is a model of the program, the model is used. For any other type, the
  /// document becomes a record.
  func archive(of document: ArchiveValue, _ file: DataFile, _ models: ToolModels) throws -> Data {
    guard let type else { return try ArchiveEncoder().encode(document) }
    if modelVersion == nil, let known = models.type(named: type) {
      return try models.archive(ofJSON: document, as: known, ignoresUnknownKeys: ignoreUnknownKeys)
    }
    guard case .object(let object) = document else {
      throw ToolError("\(file.name): --type requires a JSON object; found \(document.kind)")
    }
    return try ArchiveEncoder().encode(ModelRecord(typeName: type, modelVersion: modelVersion, object: object))
  }
}
