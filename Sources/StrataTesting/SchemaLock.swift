public import Foundation
public import StrataCore

/// A check that fails if a model was changed without a new version, or if a new version lacks a required migration step.
///
///     @Test func modelsAreLocked() throws {
///       try SchemaLock(Issue.self).check()
///     }
///
/// The shapes of the models and of all their nested models are recorded in a folder, which you commit. The folder contains one
/// file for each model and version, such as `Schemas/Issue/3.json`, and a golden archive, such as `Schemas/Issue/3.strata`. Every
/// later version must be able to open the golden archive.
///
/// If the environment contains `STRATA_RECORD=1`, and there are no problems, ``check()`` also records new versions. It never
/// changes a version that is already recorded.
public struct SchemaLock: Sendable {
  private let models: [any VersionedModel.Type]
  private let folder: URL
  private let records: Bool
  private let values: [String: [ArchiveValue]]

  /// Creates a lock for the given models and all models that they contain.
  ///
  /// - Parameters:
  ///   - models: the models that the program archives. Nested models do not have to be listed.
  ///   - folder: the folder of the recorded shapes; by default `Schemas`, next to the file that creates the lock.
  ///   - records: whether to record new versions. By default, they are recorded if the environment contains `STRATA_RECORD=1`.
  ///   - values: values for fields of generated records, by model and key. For example, a string that a migration step converts to a
  ///     number needs `["Issue.stars": ["0", "17"]]`. All other fields get generated values of their type.
  public init(
    _ models: any VersionedModel.Type..., folder: URL? = nil, records: Bool? = nil,
    values: [String: [ArchiveValue]] = [:], file: String = #filePath
  ) {
    self.models = models
    self.folder = folder ?? URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Schemas")
    self.values = values
    self.records = records ?? (ProcessInfo.processInfo.environment["STRATA_RECORD"] == "1")
  }

  package init(_ models: [any VersionedModel.Type], folder: URL, records: Bool) {
    (self.models, self.folder, self.records, values) = (models, folder, records, [:])
  }

  /// Compares the models with their recorded shapes and opens the golden archive of each recorded version.
  ///
  /// Upgrading the golden archives of older versions must produce the same values as when the later versions were recorded.
  ///
  /// - Throws: ``SchemaLockError`` with all problems, or a Foundation error if the folder cannot be read or written.
  public func check() throws {
    let (locked, problems) = try locked(allowsMissing: records)
    // Archives are opened only if there is no other problem, because any other problem can also be the reason why an archive cannot
    // be opened.
    try fail(problems.isEmpty ? locked.flatMap { try $0.archiveProblems() } : problems)
    // Nothing is recorded if any model has a problem, because the golden archive of a model may contain records of other
    // models.
    if records { for model in locked { try model.record() } }
  }

  /// Opens random archives of each recorded version. Fails if the migration steps lose a value, or if different ways of opening
  /// give different results.
  ///
  /// Each record is opened in several ways: as an archive, with its keys in a different order, after an ``ArchiveUpgrader``, in
  /// an array, in a dictionary, as a row of a store, and after each version in between has opened and saved the record. All
  /// results must be equal. The result must contain each value of the old record, unless an operation declares that it drops,
  /// replaces or converts the value. A closure declares its keys with `changes:`.
  ///
  /// - Parameters:
  ///   - archives: the number of records for each version.
  ///   - seed: the seed of the random values; by default a new seed for each call. Failures contain the seed.
  /// - Throws: ``SchemaLockError`` with all problems, including the problems that ``check()`` finds in the shapes, or
  ///   a Foundation error if the folder cannot be read.
  public func prove(archives: Int = 200, seed: UInt64? = nil) throws {
    let (locked, problems) = try locked(allowsMissing: false)
    try fail(problems)
    let recorded = try locked.flatMap { try $0.recorded().schemas }
    let schemas = Dictionary(grouping: recorded, by: \.name)
    let current = Dictionary(locked.flatMap(\.types), uniquingKeysWith: { first, _ in first })
    let seed = seed ?? .random(in: 0..<1 << 32)
    try fail(locked.flatMap { try $0.proofProblems(archives, schemas, current: current, seed: seed) })
  }

  private func fail(_ problems: [String]) throws {
    guard problems.isEmpty else { throw SchemaLockError(problems: problems) }
  }

  /// Returns the models to check, and the problems found by comparing them with their recorded versions.
  private func locked(allowsMissing: Bool) throws -> (models: [LockedModel], problems: [String]) {
    var catalog = SchemaCatalog()
    for model in models { model._collectSchemas(into: &catalog) }
    // Adds the superclasses, because they record their fields in their own files.
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
      return TypeShape.model(schema.type).map { LockedModel($0, in: folder, names, subclasses, given: values) }
    }
    var problems = try locked.flatMap { try $0.shapeProblems(allowsMissing: allowsMissing) }
    problems += catalog.ambiguousNames.sorted().map { "two models have the name \($0); rename one of the models" }
    problems += try folder.names().filter { names[$0] == nil }.map {
      "the model \($0) is recorded, but no locked model has this name. If the model was renamed, declare formerNames: "
        + "[\"\($0)\"]. If another test locks the model, use a separate folder for that test. If no archives of the "
        + "model exist, delete \(folder.path(of: $0))"
    }
    return (locked, problems)
  }
}

/// The problems found by a ``SchemaLock``.
public struct SchemaLockError: Error, CustomStringConvertible, Sendable {
  /// A description of each problem, with a suggested fix.
  public let problems: [String]

  public var description: String { problems.joined(separator: "\n\n") }
}
