internal import Foundation
internal import StrataCore
internal import StrataTesting

/// A folder of recorded schemas.
struct LockFolder {
  struct Model {
    let name: String
    /// The recorded versions, oldest first.
    let versions: [RecordedSchema]
  }

  let path: String
  private let folder: SchemaFolder
  private(set) var models: [Model] = []
  /// Files that are not recorded schemas, or that were edited after they had been recorded.
  private(set) var damages: [SchemaAnnotation] = []

  /// - Throws: `ToolError` if the folder does not contain any recorded schema.
  init(_ path: String) throws {
    guard FileTree.isFolder(path) else {
      throw ToolError(
        "\(path): the path is not a folder; pass a folder of recorded schemas, such as Tests/AppTests/Schemas")
    }
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    folder = SchemaFolder(url: URL(fileURLWithPath: path))
    for name in try folder.names() {
      var versions: [RecordedSchema] = []
      for version in try folder.versions(of: name) {
        do {
          let schema = try folder.schema(of: name, version: version)
          guard try schema.name == name && schema.version == version && schema.contentChecksum() == schema.checksum
          else {
            throw ToolError("the recorded schema was edited or moved")
          }
          versions.append(schema)
        } catch {
          let reason = error is DecodingError ? "the file is not a recorded schema" : ToolError.message(of: error)
          damages.append(
            SchemaAnnotation(
              file: file(of: name, version),
              message:
                "\(reason); restore the file from version control, or, if the version was never released, delete the "
                + "file and record the version again"
            ))
        }
      }
      models.append(Model(name: name, versions: versions))
    }
    guard !models.isEmpty else {
      throw ToolError(
        "\(path): the folder contains no recorded schemas; to record schemas, run a test with SchemaLock and the "
          + "environment variable STRATA_RECORD=1"
      )
    }
  }

  /// Returns this folder, or throws a `ToolError` if any of its schemas is damaged.
  func intact() throws -> LockFolder {
    if let damage = damages.first { throw ToolError(damage.line) }
    return self
  }

  /// Returns the path of a recorded file, relative to the current folder.
  func file(of name: String, _ version: Int, _ kind: String = "json") -> String {
    path + folder.path(of: name, version: version, kind).dropFirst(URL(fileURLWithPath: path).lastPathComponent.count)
  }

  // MARK: Checking

  /// Returns the problems of the recorded files.
  ///
  /// - Parameters:
  ///   - revision: the Git revision to compare the files with, or `nil` for no comparison. Versions that this revision
  ///     contains are not checked again for gaps and missing steps, because these problems can no longer be corrected.
  ///   - hooked: the names of the models for which missing steps are not reported.
  func problems(against revision: GitFolder?, hooked: Set<String>) throws -> [SchemaAnnotation] {
    var problems: [SchemaAnnotation] = []
    let changes = revision?.changes.filter { Self.isRecord($0.path) } ?? []
    let changed = Set(changes.map { path + "/" + $0.path })
    if let revision {
      problems += changes.map { change in
        SchemaAnnotation(
          file: path + "/" + change.path,
          message: change.isRemoved
            ? "the file has been removed since the revision \(revision.name); restore it with git checkout "
              + "\(revision.name) -- "
              + "\(path)/\(change.path)"
            : "the file has been changed since the revision \(revision.name); restore it with git checkout "
              + "\(revision.name) -- "
              + "\(path)/\(change.path)")
      }
    }
    problems += damages.filter { $0.file.map { !changed.contains($0) } ?? true }
    for model in models {
      problems += try model.versions.compactMap { try archiveProblem($0) }.filter { !changed.contains($0.file ?? "") }
      for (old, new) in zip(model.versions, model.versions.dropFirst()) {
        let file = file(of: model.name, new.version)
        if revision?.files.contains(String(file.dropFirst(path.count + 1))) == true { continue }
        if new.version != old.version + 1 {
          problems.append(
            SchemaAnnotation(
              file: file,
              message:
                "version \(new.version) of \(model.name) does not directly follow version \(old.version); change the "
                + "model's version to \(old.version + 1), delete this file, and record the model again"))
        } else if !hooked.contains(model.name), let missing = missing(model, from: old, to: new) {
          problems.append(
            SchemaAnnotation(
              file: file,
              message:
                "the recorded step of \(model.name) from version \(old.version) to \(new.version) does not cover these "
                + "changes: \(missing); add operations for them to the step, delete this file, and record the version "
                + "again; if the model has a hook (KeyMigrating), pass --hook \(model.name)"
            ))
        }
      }
    }
    return problems
  }

  /// Returns whether a path in the folder is the path of a recorded schema or a golden archive.
  private static func isRecord(_ path: String) -> Bool { path.wholeMatch(of: /[^\/]+\/[0-9]+\.(json|strata)/) != nil }

  private func archiveProblem(_ schema: RecordedSchema) throws -> SchemaAnnotation? {
    guard let checksum = schema.archive else { return nil }
    let file = file(of: schema.name, schema.version, "strata")
    let found = FileTree.isMissing(file) ? nil : try folder.archive(of: schema.name, version: schema.version)
    guard found.map(RecordedSchema.checksum) != checksum else { return nil }
    return SchemaAnnotation(
      file: file,
      message: found == nil
        ? "the golden archive is missing; restore it from version control"
        : "the golden archive was changed; restore it from version control")
  }

  /// Returns a description of the changes that need a migration operation but have none in the recorded step. Returns
  /// `nil` if there are no such changes.
  private func missing(_ model: Model, from old: RecordedSchema, to new: RecordedSchema) -> String? {
    let changes = changes(of: model, from: old, to: new).filter { $0.key != nil }
    // `nil` means that the step contains a closure that may change any key. In this case, nothing is reported as missing.
    guard let known = new.stepKeys else { return nil }
    // A later step may also remove a key that was removed in this version.
    let later = model.versions.filter { $0.version > new.version }.flatMap { $0.stepKeys ?? [] }
    let missing = changes.filter { change in
      change.key.map { !known.contains($0) && !(new.fields[$0] == nil && later.contains($0)) } ?? false
    }
    return missing.isEmpty ? nil : missing.map(\.text).joined(separator: ", ")
  }

  // MARK: Comparing

  /// Returns the differences between two versions of a model.
  func changes(of model: Model, from old: RecordedSchema, to new: RecordedSchema) -> [SchemaChange] {
    var names = SchemaChange.Names()
    guard let newest = model.versions.last else { return [] }
    for (key, field) in newest.fields { for former in field.formerly ?? [] { names.keys[former] = key } }
    for (name, info) in newest.cases ?? [:] { for former in info.formerly ?? [] { names.cases[former] = name } }
    for other in models {
      guard let newest = other.versions.last, isInherited(model.name, by: newest) else { continue }
      names.subclassKeys.formUnion(newest.fields.keys)
    }
    names.subclassKeys.subtract(newest.fields.keys)
    // A renamed model continues the version numbers of its former name, and the folder of the former name still exists.
    for renamed in models {
      guard let first = renamed.versions.first?.version, first > 1 else { continue }
      for former in models where former.versions.last?.version == first - 1 { names.models[former.name] = renamed.name }
    }
    return SchemaChange.changes(from: old, to: new, names)
  }

  private func isInherited(_ name: String, by schema: RecordedSchema) -> Bool {
    var seen: Set<String> = []
    var parent = schema.superclass
    while let next = parent, seen.insert(next).inserted {
      if next == name { return true }
      parent = models.first { $0.name == next }?.versions.last?.superclass
    }
    return false
  }
}

extension RecordedSchema {
  /// The keys of all fields and cases.
  var keys: [String] { Array(fields.keys) + (cases.map { Array($0.keys) } ?? []) }
}
