internal import Foundation
internal import StrataCore

/// A model that a ``SchemaLock`` checks, together with its recorded versions.
struct LockedModel {
  private let model: any VersionedModel.Type
  private let schema: ModelSchema
  private let today: RecordedSchema
  private let folder: SchemaFolder
  private let names: SchemaChange.Names
  private let given: [String: [ArchiveValue]]
  private var name: String { schema.name }

  /// - Parameters:
  ///   - modelNames: the current name of each checked model, by its current and former names.
  ///   - subclasses: the subclasses of the model that are also checked.
  ///   - given: values for the fields of generated records, by model and key, such as `Issue.stars`.
  init(
    _ model: any VersionedModel.Type, in folder: SchemaFolder, _ modelNames: [String: String],
    _ subclasses: [ModelSchema], given: [String: [ArchiveValue]]
  ) {
    (self.model, self.folder, self.given) = (model, folder, given)
    let schema = model.schema
    self.schema = schema
    today = RecordedSchema(schema)
    // Former keys apply to data of every version, because they are read after the last migration step.
    let keys = schema.fields.flatMap { field in field.formerly.map { ($0, field.key) } }
    let cases = schema.cases.flatMap { info in info.formerly.map { ($0, info.name) } }
    var names = SchemaChange.Names()
    names.models = modelNames
    names.keys = Dictionary(keys, uniquingKeysWith: { first, _ in first })
    names.cases = Dictionary(cases, uniquingKeysWith: { first, _ in first })
    names.subclassKeys = Set(subclasses.flatMap { $0.fields.map(\.key) }).subtracting(schema.fields.map(\.key))
    self.names = names
  }

  /// Returns the recorded versions, oldest first. For files that cannot be read, or that were edited or moved after they were
  /// recorded, also returns the version numbers and a problem for each file.
  func recorded() throws -> (schemas: [RecordedSchema], edited: Set<Int>, problems: [String]) {
    var schemas: [RecordedSchema] = []
    var edited: Set<Int> = []
    var problems: [String] = []
    let names = schema.formerNames + [name]
    for name in names {
      for version in try folder.versions(of: name) {
        guard let schema = try? folder.schema(of: name, version: version), schema.version == version,
          names.contains(schema.name), try schema.contentChecksum() == schema.checksum
        else {
          // The file cannot be read, or it was moved or changed after it was recorded. The suggested fix is the same in each
          // case.
          edited.insert(version)
          problems.append(
            "the recorded schema \(folder.path(of: name, version: version)) was edited or moved; restore the file from "
              + "version control, or, if this version was never released, delete the file and record the version again")
          continue
        }
        // On some file systems, two names can refer to the same folder. A schema that is recorded under a different name is
        // therefore skipped.
        if schema.name == name { schemas.append(schema) }
      }
    }
    return (schemas.sorted { $0.version < $1.version }, edited, problems)
  }

  /// Compares the model with its recorded versions and returns the problems.
  ///
  /// - Parameter allowsMissing: whether the current version may be missing from the recorded versions.
  /// - Throws: a Foundation error if the folder cannot be read.
  func shapeProblems(allowsMissing: Bool) throws -> [String] {
    var (recorded, edited, problems) = try recorded()
    do { try schema.check() } catch {
      problems.append(
        "the declaration of the model \(name) is invalid: "
          + "\(Self.reason(error))")
    }
    problems += self.problems(ofReach: recorded)
    problems += zip(recorded, [nil] + recorded).compactMap { self.problem(ofRecordedStep: $0, after: $1) }
    let older = recorded.filter { $0.version < schema.modelVersion }
    problems += zip(older, older.dropFirst()).compactMap { self.problem(ofStepsFrom: $0, to: $1) }
    if let newest = older.last, let problem = problem(ofStepsFrom: newest, to: today) { problems.append(problem) }
    problems += older.compactMap(problem(ofFloor:))
    let known = recorded.last { $0.version == schema.modelVersion }
    if let known, let problem = problem(ofChange: known) { problems.append(problem) }
    if known == nil, !allowsMissing, !edited.contains(schema.modelVersion),
      recorded.last?.version ?? 0 <= schema.modelVersion
    {
      problems.append(
        "version \(schema.modelVersion) of \(name) is not recorded; run the test with the environment variable "
          + "STRATA_RECORD=1, and commit \(folder.path(of: name, version: schema.modelVersion))")
    }
    return problems
  }

  /// Opens the golden archive of each recorded version and returns the problems found.
  ///
  /// - Throws: a Foundation error if the folder cannot be read.
  func archiveProblems() throws -> [String] {
    let recorded = try recorded().schemas
    let problems = recorded.compactMap { problem(ofArchive: $0) }
    return problems.isEmpty ? try recorded.flatMap { try self.problems(ofUpgrades: $0, recorded) } : problems
  }

  /// Returns a problem for each golden archive whose records now upgrade to different values than when the version was recorded.
  private func problems(ofUpgrades version: RecordedSchema, _ recorded: [RecordedSchema]) throws -> [String] {
    try (version.upgraded ?? [:]).sorted { $0.key < $1.key }.compactMap { old, hash in
      guard let old = recorded.first(where: { "\($0.version)" == old }), old.archive != nil,
        try upgraded(old, to: version.version) != hash
      else { return nil }
      return
        "the steps of \(name) now upgrade \(folder.path(of: old.name, version: old.version, "strata")) to different "
        + "values than when version \(version.version) was recorded. If a closure in a step from version "
        + "\(old.version) to \(version.version) was changed, restore the closure, and put the correction into a new "
        + "step. If a closure depends on the locale, the time zone, the current date, random values or a type that "
        + "has changed since, remove this dependency"
    }
  }

  /// Returns a hash of the golden archive of an older version, after the model's steps have upgraded its records to `version`. Returns
  /// `nil` in the same cases as ``GoldenArchive/upgraded(_:by:isComplete:)``.
  ///
  /// - Throws: ``ArchiveError`` if a step fails, or a Foundation error if a file cannot be read.
  private func upgraded(_ old: RecordedSchema, to version: Int) throws -> String? {
    let steps = (schema.migration?.steps ?? []).filter { (old.version..<version).contains($0.fromVersion) }
    return try GoldenArchive.upgraded(
      folder.archive(of: old.name, version: old.version), by: steps, isComplete: !schema.isEnumeration)
  }

  /// Decodes random records of each recorded version and returns the problems found.
  ///
  /// - Parameters:
  ///   - schemas: the recorded versions of all models, by name.
  ///   - current: the types of the program's fields, by model and key, such as `Issue.stars`.
  /// - Throws: a Foundation error if the folder cannot be read.
  func proofProblems(
    _ count: Int, _ schemas: [String: [RecordedSchema]], current: [String: RecordedType], seed: UInt64
  ) throws -> [String] {
    let unlisted = schema.fields.filter {
      $0.archive != .excluded && $0.archive != .conditional && given["\(name).\($0.key)"] == nil
    }
    .compactMap { field in
      RecordedType.unlistedEnum(in: field.type).map {
        "no values can be generated for \(name).\(field.key) because the enum \($0) does not list its cases; make the "
          + "enum CaseIterable, or pass values for \(name).\(field.key) to SchemaLock"
      }
    }
    guard unlisted.isEmpty else { return unlisted }
    func problems<M: VersionedModel>(_ model: M.Type) throws -> [String] {
      let recorded = try recorded().schemas.filter { $0.version <= schema.modelVersion }
      let proof = SchemaProof<M>(
        versions: recorded, schemas, keys: names.keys, given: given, current: current, seed: seed)
      return proof.problems(count)
    }
    return try problems(model)
  }

  /// The types of the model's fields in this program, each with a name such as `Issue.stars`.
  var types: [(String, RecordedType)] {
    schema.fields.map { ("\(name).\($0.key)", RecordedType($0.type)) }
  }

  /// Records the current version unless it is already recorded.
  ///
  /// - Throws: a Foundation error if a file cannot be written.
  func record() throws {
    guard try (schema.formerNames + [name]).allSatisfy({ try !folder.versions(of: $0).contains(schema.modelVersion) })
    else { return }
    var recorded = today
    var archive: Data?
    do {
      let data = try GoldenArchive(model, given: given).encoded()
      (archive, recorded.archive) = (data, RecordedSchema.checksum(data))
      let older = try self.recorded().schemas.filter { $0.version < schema.modelVersion && $0.archive != nil }
      let hashes = try older.compactMap { old in
        try upgraded(old, to: schema.modelVersion).map { ("\(old.version)", $0) }
      }
      recorded.upgraded = hashes.isEmpty ? nil : Dictionary(hashes, uniquingKeysWith: { first, _ in first })
    } catch {
      recorded.withoutArchive = Self.reason(error)
      print(
        "SchemaLock: version \(schema.modelVersion) of \(name) is recorded without a golden archive: "
          + "\(Self.reason(error))")
    }
    try folder.record(recorded, archive)
  }

  // MARK: Problems

  private func problems(ofReach recorded: [RecordedSchema]) -> [String] {
    recorded.compactMap { old in
      let path = folder.path(of: old.name, version: old.version)
      if old.version > schema.modelVersion {
        return
          "\(path) is recorded, but the current version of \(name) is only \(schema.modelVersion); raise the model's "
          + "version, or delete the file if version \(old.version) was never released"
      }
      guard let oldest = schema.migration?.oldestVersion, old.version < oldest else { return nil }
      return
        "version \(old.version) of \(name) can no longer be opened because the model's steps begin at version "
        + "\(oldest); add the steps from version \(old.version), or delete \(path) if no archives of that version "
        + "exist"
    }
  }

  /// Returns a problem if the model allows a recorded version to read data of the current version, but that version would misread it.
  private func problem(ofFloor old: RecordedSchema) -> String? {
    guard let floors = schema.floors, old.version >= floors.reader else { return nil }
    let obstacles = SchemaChange.obstacles(from: old, to: today, names)
    guard !obstacles.isEmpty else { return nil }
    return
      "\(name) declares that version \(old.version) can read archives of version \(schema.modelVersion) (oldestReader: "
      + "\(floors.reader)), but version \(old.version) cannot read them for these reasons:\n"
      + obstacles.map { "- \($0)\n" }.joined() + "Increase oldestReader to \(old.version + 1) or higher."
  }

  /// Returns a problem if a recorded migration step was changed. The change would not apply to data that the old step has already
  /// upgraded.
  private func problem(ofRecordedStep recorded: RecordedSchema, after older: RecordedSchema?) -> String? {
    let known = RecordedSchema.steps(to: recorded.version, of: schema)
    // A step may be removed once the version before it is no longer recorded.
    guard recorded.version <= schema.modelVersion, known != nil || older != nil else { return nil }
    let steps = known ?? []
    guard steps != recorded.steps else { return nil }
    func list(_ steps: [String]) -> String { steps.isEmpty ? "none" : steps.joined(separator: ", ") }
    return
      "the step of \(name) to version \(recorded.version) was changed after it was recorded (recorded operations: "
      + "\(list(recorded.steps)); current operations: \(list(steps))); restore the step and put the correction into "
      + "a new step, or, if version \(recorded.version) was never released, delete "
      + "\(folder.path(of: recorded.name, version: recorded.version)) and record the version again with "
      + "STRATA_RECORD=1"
  }

  /// Returns a problem if the model differs from the schema that was recorded for its current version.
  private func problem(ofChange known: RecordedSchema) -> String? {
    let changes = SchemaChange.changes(from: known, to: today, names)
    guard !changes.isEmpty else { return nil }
    let next = known.version + 1
    let step =
      schema.migration == nil && changes.allSatisfy { $0.key == nil }
      ? "; a step is not required"
      : " and add this step:\n  " + StepStub(from: known, to: today, version: next, names, nested: nested).text
        + firstStepHint(known.version)
    return
      "the model \(name) has changed, but its version is still \(known.version):\n" + Self.list(changes)
      + "If version \(known.version) was released, change the model's version to \(next)" + step
      + "\nOtherwise, delete \(folder.path(of: known.name, version: known.version)) and record the version again with "
      + "STRATA_RECORD=1."
  }

  /// Returns a problem if a change between two versions requires a migration step that is missing.
  private func problem(ofStepsFrom old: RecordedSchema, to new: RecordedSchema) -> String? {
    let operations = (schema.migration?.steps ?? []).filter { (old.version..<new.version).contains($0.fromVersion) }
      .flatMap(\.operations)
    // Models with a hook or with a closure that does not declare its keys are not checked, because either may change
    // any key.
    guard schema.hook == nil, let keys = operations.changedKeys else { return nil }
    let changes = SchemaChange.changes(from: old, to: new, names)
    // A removed field does not need a step between these versions if a later step removes its key.
    let laterSteps = (schema.migration?.steps ?? []).filter { $0.fromVersion >= new.version }
    let later = Set(laterSteps.flatMap { $0.operations.changedKeys ?? [] })
    let missing = changes.filter { change in
      change.key.map { !keys.contains($0) && !(new.fields[$0] == nil && later.contains($0)) } ?? false
    }
    let texts = missing.map(\.text) + lostByDefaults(old, operations) + narrowed(old, new, operations)
    guard !texts.isEmpty else { return nil }
    let stub = StepStub(from: old, to: new, version: new.version, names, covered: keys, nested: nested)
    return
      "no step of \(name) from version \(old.version) to \(new.version) covers these changes:\n"
      + texts.map { "- \($0)\n" }.joined()
      + (missing.isEmpty
        ? "Correct the steps."
        : "Add operations for these changes to the steps, for example:\n  " + stub.text + firstStepHint(old.version))
  }

  /// Returns the current schema of a nested model.
  private func nested(_ name: String) -> ModelSchema? {
    // `try?`, because the check of the nested model reports an ambiguous name.
    try? schema.inside.schema(named: name)
  }

  /// Returns a problem for each step that sets a default for a field, although older data contains the field's value under a
  /// former key.
  private func lostByDefaults(_ old: RecordedSchema, _ operations: [MigrationOperation]) -> [String] {
    let renamed = Set(operations.flatMap { $0.effect?.sources ?? [] }.compactMap(\.firstKey))
    return operations.compactMap { operation in
      guard case .setDefault(let path, _) = operation, let key = path.onlyKey,
        let former = old.fields.keys.first(where: { $0 != key && names.keys[$0] == key && !renamed.contains($0) })
      else { return nil }
      return
        "a step sets a default for \(key), so the value under the former key \(former) is not read; replace the "
        + "default with a rename of \(former) to \(key)"
    }
  }

  /// Returns a problem for each renamed field whose new type cannot represent all values of the old type.
  private func narrowed(
    _ old: RecordedSchema, _ new: RecordedSchema, _ operations: [MigrationOperation]
  ) -> [String] {
    var changed: Set<String> = []
    for operation in operations {
      switch operation {
      case .convert(let path, _), .replaceNull(let path, _), .optional(.convert(let path, _)):
        changed.insert(path.firstKey ?? "")
      case .rename, .move, .drop, .setDefault, .optional, .custom: break
      }
    }
    return operations.compactMap { operation in
      guard case .rename(let key, let newKey, _) = operation, let type = old.fields[key]?.type,
        let newType = new.fields[newKey]?.type, changed.isDisjoint(with: [key, newKey])
      else { return nil }
      let oldShape = RecordedType(parsing: type).renamed(names.models)
      guard !oldShape.isRead(as: RecordedType(parsing: newType).renamed(names.models)) else { return nil }
      return
        "a step renames \(key) to \(newKey) without converting its value from \(type) to \(newType); also convert the "
        + "value"
    }
  }

  /// Returns advice on how to keep older archives readable when a model gets its first migration step.
  private func firstStepHint(_ version: Int) -> String {
    guard schema.migration == nil, version > 1 else { return "" }
    return
      "\nThe model has no steps yet, and archives of versions before the first step cannot be opened. For older "
      + "archives, also add empty steps from the oldest version in use, such as .step(from: \(version - 1), to: "
      + "\(version))."
  }

  private static func list(_ changes: [SchemaChange]) -> String { changes.map { "- \($0.text)\n" }.joined() }

  private static func reason(_ error: any Error) -> String { (error as? ArchiveError)?.description ?? "\(error)" }

  private func problem(ofArchive recorded: RecordedSchema) -> String? {
    guard let checksum = recorded.archive else { return nil }
    let path = folder.path(of: recorded.name, version: recorded.version, "strata")
    guard let data = try? folder.archive(of: recorded.name, version: recorded.version),
      RecordedSchema.checksum(data) == checksum
    else {
      // A missing file is reported in the same way as a changed file.
      return "the golden archive \(path) is missing or was changed; restore it from version control"
    }
    let remedy =
      "; if a nested model was recorded again because its version was never released, also delete "
      + "\(folder.path(of: recorded.name, version: recorded.version)) and record this version again"
    do {
      guard try GoldenArchive(model, given: given).opens(data, isOfToday: recorded.version == schema.modelVersion)
      else {
        return "the golden archive \(path) opens with different values than version \(recorded.version) of \(name) "
          + "wrote" + remedy
      }
      return nil
    } catch {
      return
        "the golden archive \(path) of version \(recorded.version) of \(recorded.name) can no longer be opened: "
        + Self.reason(error) + remedy
    }
  }
}
