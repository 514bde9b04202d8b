public import Foundation
public import StrataCore

/// Fails a test if a model has changed without a new version, or if a new version lacks a required step.
///
///     @Test func modelsAreLocked() throws {
///       try SchemaLock(Issue.self).check()
///     }
///
/// The shapes of the models, and of all models inside them, are recorded in a folder that is committed: one file for each model and version,
/// such as `Schemas/Issue/3.json`. Next to it is a golden archive, `Schemas/Issue/3.strata`, which every later version must open.
///
/// With `STRATA_RECORD=1` in the environment, ``check()`` also records versions that are not recorded yet, if there is no problem. It never
/// changes a recorded version.
public struct SchemaLock: Sendable {
  private let models: [any VersionedModel.Type]
  private let folder: URL
  private let records: Bool

  /// A lock of models, and of all models that they contain.
  ///
  /// - Parameters:
  ///   - models: the models that the program archives. A model that one of them contains need not be named.
  ///   - folder: the folder of the recorded shapes; by default `Schemas`, next to the file that creates the lock.
  ///   - records: whether to record versions that are not recorded yet; if `nil`, whether the environment has `STRATA_RECORD=1`.
  public init(
    _ models: any VersionedModel.Type..., folder: URL? = nil, records: Bool? = nil, file: String = #filePath
  ) {
    self.models = models
    self.folder = folder ?? URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Schemas")
    self.records = records ?? (ProcessInfo.processInfo.environment["STRATA_RECORD"] == "1")
  }

  package init(_ models: [any VersionedModel.Type], folder: URL, records: Bool) {
    (self.models, self.folder, self.records) = (models, folder, records)
  }

  /// Compares the models with their recorded shapes, and opens the golden archive of each recorded version.
  ///
  /// - Throws: ``SchemaLockError`` with every problem; an error of Foundation if the folder cannot be read or written.
  public func check() throws {
    var catalog = SchemaCatalog()
    for model in models { model._collectSchemas(into: &catalog) }
    // The fields of a superclass are in its own file.
    for schema in catalog.schemas.flatMap(\.superclasses) {
      TypeShape.archivable(schema.type)?._collectSchemas(into: &catalog)
    }
    let schemas = catalog.schemas.sorted { $0.name < $1.name }
    let names = Dictionary(
      schemas.flatMap { schema in ([schema.name] + schema.formerNames).map { ($0, schema.name) } },
      uniquingKeysWith: { first, _ in first })
    let folder = SchemaFolder(url: folder)
    let locked = schemas.compactMap { schema in
      let subclasses = schemas.filter { $0.superclasses.contains { $0 === schema } }
      return TypeShape.model(schema.type).map { LockedModel($0, in: folder, names, subclasses) }
    }
    var problems = try locked.flatMap { try $0.shapeProblems(allowsMissing: records) }
    problems += catalog.ambiguousNames.sorted().map { "two models have the name \($0); give one of them another name" }
    problems += try folder.names().filter { names[$0] == nil }.map {
      "\($0) is recorded, but no locked model has this name. If it was renamed, declare formerNames: [\"\($0)\"]. If another test "
        + "locks it, give that test a folder of its own. If no archive of it exists, delete \(folder.path(of: $0))"
    }
    // Archives are opened only if nothing else is wrong, because other problems explain the failure.
    if problems.isEmpty { problems = try locked.flatMap { try $0.archiveProblems() } }
    guard problems.isEmpty else { throw SchemaLockError(problems: problems) }
    // A golden archive holds the models inside as well, so nothing is recorded while any model has a problem.
    if records { for model in locked { try model.record() } }
  }
}

/// The problems that a ``SchemaLock`` found.
public struct SchemaLockError: Error, CustomStringConvertible, Sendable {
  /// Each problem, with its remedy.
  public let problems: [String]

  public var description: String { problems.joined(separator: "\n\n") }
}
