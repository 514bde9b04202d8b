public import Foundation
public import StrataCore

/// A test that fails when a model has changed without a new version, or a new version has no step that it needs.
///
///     @Test func modelsAreLocked() throws {
///       try SchemaLock(Issue.self).check()
///     }
///
/// The shapes of the models, and of all models inside them, are recorded in a folder that is committed: one file for each model and version,
/// such as `Schemas/Issue/3.json`. Beside it is a golden archive, `Schemas/Issue/3.strata`, which every later version must open.
///
/// With `STRATA_RECORD=1` in the environment, ``check()`` also records versions that are not recorded yet. It never changes a file.
public struct SchemaLock: Sendable {
  private let models: [any VersionedModel.Type]
  private let folder: URL
  private let records: Bool

  /// A lock of models, and of all models that they contain.
  ///
  /// - Parameters:
  ///   - models: the models that the program archives. A model that one of them contains need not be named.
  ///   - folder: the folder of the recorded shapes; `Schemas` beside the file of the call unless given.
  ///   - records: whether to record versions that are not recorded yet; if `nil`, whether the environment has `STRATA_RECORD=1`.
  public init(
    _ models: any VersionedModel.Type..., folder: URL? = nil, records: Bool? = nil, file: String = #filePath
  ) {
    self.models = models
    self.folder = folder ?? URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Schemas")
    self.records = records ?? (ProcessInfo.processInfo.environment["STRATA_RECORD"] == "1")
  }

  /// Compares the models with their recorded shapes, and opens the golden archive of each recorded version.
  ///
  /// - Throws: ``SchemaLockError`` with every problem; ``ArchiveError`` for a model whose declaration is wrong.
  public func check() throws {
    var catalog = SchemaCatalog()
    for model in models { model._collectSchemas(into: &catalog) }
    var problems: [String] = []
    var known: Set<String> = []
    for schema in catalog.schemas.sorted(by: { $0.name < $1.name }) {
      guard let model = TypeShape.model(schema.type) else { continue }
      try schema.check()
      problems += try LockedModel(model, in: folder).problems(recording: records)
      known.formUnion([schema.name] + schema.formerNames)
    }
    problems += catalog.ambiguousNames.sorted().map { "two models have the name \($0); give one of them another name" }
    problems += try SchemaFolder(url: folder).names().filter { !known.contains($0) }.map {
      "\($0) is recorded, but no locked model has this name. If it was renamed, declare formerNames: [\"\($0)\"]. If no archive "
        + "of it exists, delete its folder in \(folder.lastPathComponent)"
    }
    guard problems.isEmpty else { throw SchemaLockError(problems: problems) }
  }
}

/// The problems that a ``SchemaLock`` found.
public struct SchemaLockError: Error, CustomStringConvertible, Sendable {
  /// Each problem, with its remedy.
  public let problems: [String]

  public var description: String { problems.joined(separator: "\n\n") }
}
