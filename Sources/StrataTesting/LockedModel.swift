internal import Foundation
internal import StrataCore

/// A model with its recorded versions.
struct LockedModel {
  private let model: any VersionedModel.Type
  private let schema: ModelSchema
  private let today: RecordedSchema
  private let folder: SchemaFolder
  private var name: String { schema.name }

  init(_ model: any VersionedModel.Type, in folder: URL) {
    (self.model, self.folder) = (model, SchemaFolder(url: folder))
    schema = model.schema
    today = RecordedSchema(schema)
  }

  /// The problems, and a file for the version of today if it is not recorded and `recording` is set.
  ///
  /// - Throws: an error of Foundation for a file that cannot be read or written.
  func problems(recording: Bool) throws -> [String] {
    var problems: [String] = []
    var recorded: [RecordedSchema] = []
    var edited: Set<Int> = []
    for name in schema.formerNames + [name] {
      for version in try folder.versions(of: name) {
        let path = folder.path(of: name, version: version)
        guard let schema = try? folder.schema(of: name, version: version),
          schema.version == version, schema.name == name, try schema.contentChecksum() == schema.checksum
        else {
          // Not read, or changed after it was recorded: either way the remedy is the same.
          edited.insert(version)
          problems.append(
            "\(path) was edited. Restore it from version control; if this version was never released, delete it and record "
              + "it again")
          continue
        }
        recorded.append(schema)
      }
    }
    recorded.sort { $0.version < $1.version }
    problems += self.problems(ofReach: recorded)
    let older = recorded.filter { $0.version < schema.modelVersion }
    problems += zip(older, older.dropFirst()).flatMap { self.problems(ofStepsFrom: $0, to: $1) }
    if let newest = older.last { problems += self.problems(ofStepsFrom: newest, to: today) }
    let known = recorded.last { $0.version == schema.modelVersion }
    if let known { problems += self.problems(ofChange: known) }
    // An archive that does not open follows from other problems, which name the cause.
    if problems.isEmpty { problems = try recorded.flatMap { try archiveProblems($0) } }
    if known != nil || edited.contains(schema.modelVersion) { return problems }
    if recording {
      // A version is recorded once its steps are right, because its file is never changed.
      if problems.isEmpty { try record() }
    } else if recorded.last?.version ?? 0 <= schema.modelVersion {
      problems.append(
        "version \(schema.modelVersion) of \(name) is not recorded. Run the test with STRATA_RECORD=1 in the environment, and "
          + "commit \(folder.path(of: name, version: schema.modelVersion))")
    }
    return problems
  }

  private func problems(ofReach recorded: [RecordedSchema]) -> [String] {
    recorded.compactMap { old in
      let path = folder.path(of: old.name, version: old.version)
      if old.version > schema.modelVersion {
        return
          "\(path) is recorded, but the model has version \(schema.modelVersion). Give the model a higher version, or delete "
          + "the file if that version was never released"
      }
      guard let oldest = schema.migration?.oldestVersion, old.version < oldest else { return nil }
      return
        "version \(old.version) of \(name) can no longer be opened: its steps begin at \(oldest). Add the steps from "
        + "\(old.version), or delete \(path) if no archive of that version exists any more"
    }
  }

  /// The problem of a shape that differs from the one that was recorded for the same version.
  private func problems(ofChange known: RecordedSchema) -> [String] {
    var changes = changes(from: known, to: today).map(\.text)
    if known.steps != today.steps { changes.append("the step that leads to it was changed") }
    guard !changes.isEmpty else { return [] }
    let next = known.version + 1
    return [
      "\(name) has changed, but still has version \(known.version):\n" + Self.list(changes)
        + "If version \(known.version) was released, give the model version \(next) and this step:\n  "
        + StepStub(from: known, to: today, version: next).text
        + "\nOtherwise delete \(folder.path(of: known.name, version: known.version)) and record it again with STRATA_RECORD=1."
    ]
  }

  /// The problem of changes for which a step is missing.
  private func problems(ofStepsFrom old: RecordedSchema, to new: RecordedSchema) -> [String] {
    let operations = (schema.migration?.steps ?? []).filter { (old.version..<new.version).contains($0.fromVersion) }
      .flatMap(\.operations)
    // A hook or a closure may change any key.
    guard schema.hook == nil, operations.allSatisfy({ $0.effect != nil }) else { return [] }
    let keys = Set(
      operations.flatMap { [$0.effect?.source?.firstKey, $0.effect?.target?.firstKey] }.compactMap(\.self))
    let missing = changes(from: old, to: new).filter { $0.key.map { !keys.contains($0) } ?? false }
    guard !missing.isEmpty else { return [] }
    return [
      "no step of \(name) from version \(old.version) to \(new.version) covers these changes:\n"
        + Self.list(missing.map(\.text))
        + "Add them to the steps, for example:\n  " + StepStub(from: old, to: new, version: new.version).text
    ]
  }

  private func changes(from old: RecordedSchema, to new: RecordedSchema) -> [SchemaChange] {
    // Former keys are read after the last step, in data of every version.
    SchemaChange.changes(
      from: old, to: new,
      formerKeys: Dictionary(schema.fields.map { ($0.key, $0.formerly) }, uniquingKeysWith: { first, _ in first }),
      formerCases: Dictionary(
        schema.cases.flatMap { info in info.formerly.map { ($0, info.name) } }, uniquingKeysWith: { first, _ in first })
    )
  }

  private static func list(_ texts: [String]) -> String { texts.map { "- \($0)\n" }.joined() }

  // MARK: Golden archives

  private func record() throws {
    var schema = today
    var archive: Data?
    do {
      let data = try GoldenArchive(model).make()
      (archive, schema.archive) = (data, RecordedSchema.checksum(data))
    } catch { schema.withoutArchive = (error as? ArchiveError)?.description ?? "\(error)" }
    try folder.record(schema, archive)
  }

  private func archiveProblems(_ recorded: RecordedSchema) throws -> [String] {
    guard let checksum = recorded.archive else { return [] }
    let path = folder.path(of: recorded.name, version: recorded.version, "strata")
    guard let data = try? folder.archive(of: recorded.name, version: recorded.version),
      RecordedSchema.checksum(data) == checksum
    else {
      // A missing file is a change as well.
      return ["\(path) is missing or was changed. Restore it from version control"]
    }
    do {
      guard try GoldenArchive(model).opens(data, isOfToday: recorded.version == schema.modelVersion) else {
        return ["\(path) opens, but as other values than those that version \(recorded.version) wrote"]
      }
      return []
    } catch {
      let reason = (error as? ArchiveError)?.description ?? "\(error)"
      return ["\(path), which version \(recorded.version) of \(recorded.name) wrote, does not open any more: \(reason)"]
    }
  }
}
