internal import Foundation
internal import StrataCore

/// Opens random records of each recorded version of a model in several ways and compares the results.
struct SchemaProof<M: VersionedModel> {
  /// The recorded versions of the model, oldest first. The last one is the current version.
  private let versions: [RecordedSchema]
  private let schemas: [String: [RecordedSchema]]
  /// The current key for each former key.
  private let keys: [String: String]
  private let given: [String: [ArchiveValue]]
  private let current: [String: RecordedType]
  private let seed: UInt64
  private let schema = M.schema
  private let steps: [MigrationStep]
  private static var mostProblems: Int { 8 }

  /// - Parameters:
  ///   - schemas: the recorded versions of all models, by name.
  ///   - given: values for fields, by model and key, such as `Issue.stars`.
  ///   - current: the types of the program's fields, by model and key, such as `Issue.stars`.
  init(
    versions: [RecordedSchema], _ schemas: [String: [RecordedSchema]], keys: [String: String],
    given: [String: [ArchiveValue]], current: [String: RecordedType], seed: UInt64
  ) {
    (self.versions, self.schemas, self.keys, self.given) = (versions, schemas, keys, given)
    (self.current, self.seed) = (current, seed)
    steps = schema.migration?.steps ?? []
  }

  func problems(_ count: Int) -> [String] { versions.indices.flatMap { problems(ofVersion: $0, count) } }

  private func problems(ofVersion place: Int, _ count: Int) -> [String] {
    let version = versions[place]
    let title = "version \(version.version) of \(version.name)"
    var samples = SampleValues(
      schemas(inside: place), given: given, current: current, seed: seed &+ UInt64(version.version))
    var found: [String: String] = [:]
    do {
      let empty = try samples.record(of: version, .empty)
      for number in 0..<count where found.count < Self.mostProblems {
        let record = number == 0 ? empty : try samples.record(of: version, number == 1 ? .turn(0) : .random)
        guard let problem = problem(of: record, place), found[problem] == nil else { continue }
        found[problem] = shrunk(record, to: empty, place, problem)
      }
    } catch {
      return ["\(title) cannot be checked with random records: \((error as? ArchiveError)?.description ?? "\(error)")"]
    }
    return found.sorted { $0.key < $1.key }.map { problem, record in
      "\(title): \(problem) (found with \(record), using seed \(seed))"
    }
  }

  /// Returns the versions of all models that were in use together with the version at index `place` of `versions`.
  private func schemas(inside place: Int) -> [String: [RecordedSchema]] {
    let next = versions.dropFirst(place + 1).first
    return Dictionary(
      uniqueKeysWithValues: schemas.map { name, all in
        guard name != versions[place].name else { return (name, [versions[place]]) }
        let first = versions[place].models?[name] ?? 0, last = next?.models?[name] ?? .max
        return (name, all.filter { (first...max(first, last)).contains($0.version) })
      })
  }

  /// Describes the smallest record with the same problem. It is found by resetting one value after another to its empty value.
  private func shrunk(_ record: ModelRecord, to empty: ModelRecord, _ place: Int, _ problem: String) -> String {
    var record = record
    for key in record.keys {
      guard let value = empty[key], record[key] != value else { continue }
      var smaller = record
      smaller[key] = value
      if self.problem(of: smaller, place) == problem { record = smaller }
    }
    let values = record.fields.filter { $0.value != empty[$0.key] }.map { "\($0.key): \($0.value)" }
    return values.isEmpty ? "a record of empty values" : "the values " + values.joined(separator: ", ")
  }

  // MARK: Problems

  /// Returns the first problem with a record of the version at index `place` of `versions`; `nil` if there is none.
  private func problem(of record: ModelRecord, _ place: Int) -> String? {
    let upgraded: ModelRecord
    switch lossOrUpgrade(of: record, place) {
    case .failure(let loss): return loss.text
    case .success(let record): upgraded = record
    }
    let expected: ModelRecord
    // Only the values that are the same when the record is opened twice are compared. Some defaults, such as a new UUID, differ each time.
    var compared: [String]
    do {
      if place < versions.count - 1, let key = try strangeKey(in: record) {
        return
          "the steps write the key \(key.key), but the current version of \(key.typeName) has no field with this key"
      }
      expected = try open(record, .archive)
      let again = try open(record, .archive)
      compared = expected.keys.filter { expected[$0] == again[$0] }
    } catch { return "a record cannot be opened: \(Self.reason(error))" }
    for opening in Opening.allCases {
      do {
        let result = try open(record, opening)
        guard let key = compared.first(where: { result[$0] != expected[$0] }) else { continue }
        return "the value of \(key) is different when the record is opened \(opening.rawValue)"
      } catch { return "a record can be opened as an archive, but not \(opening.rawValue): \(Self.reason(error))" }
    }
    // From here on, keys that the record lacks are not compared, because a program of an intermediate version would set its own defaults
    // for them.
    compared.removeAll { key in upgraded[key] == nil && !keys.contains { $0.value == key && upgraded[$0.key] != nil } }
    for later in versions.indices where later > place && later < versions.count - 1 {
      guard let saved = saved(record, by: versions[later]) else { continue }
      let opening = "after version \(versions[later].version) has opened and saved it"
      do {
        let result = try open(saved, .archive)
        guard let key = compared.first(where: { result[$0] != expected[$0] }) else { continue }
        return "the value of \(key) is different when the record is opened \(opening)"
      } catch { return "a record can be opened, but not \(opening): \(Self.reason(error))" }
    }
    return nil
  }

  /// Returns a key that a step has written into a nested record, but that the current version of the record's type does not have.
  private func strangeKey(in record: ModelRecord) throws -> DecodingReport.Key? {
    var report = DecodingReport()
    _ = try ArchiveDecoder(validates: false).decode(M.self, from: ArchiveEncoder().encode(record), report: &report)
    return report.unusedKeys.first { report.typesWithOtherFields.contains($0.typeName) }
  }

  private static func reason(_ error: any Error) -> String { (error as? ArchiveError)?.description ?? "\(error)" }

  private struct Loss: Error { let text: String }

  /// Applies the migration steps one by one and checks whether they lose values.
  private func lossOrUpgrade(of record: ModelRecord, _ place: Int) -> Result<ModelRecord, Loss> {
    var record = record
    var version = versions[place].version
    // Lost keys, and keys that a closure changes, are not checked for models with a hook. They are not checked for enums either,
    // because losing a case is always an error. Lost inherited keys are ignored, because superclasses have their own steps.
    let isChecked = !schema.isEnumeration && schema.hook == nil
    for step in steps where step.fromVersion >= version {
      for operation in step.operations {
        let before = record
        do { try apply(operation, of: step, to: &record) } catch { return .failure(Loss(text: Self.reason(error))) }
        guard isChecked, case .custom(_, let declared, _) = operation.unwrapped else { continue }
        let changed = before.keys.filter { record[$0] != before[$0] && declared?.contains($0) != true }
        if let key = changed.min() {
          let (from, to) = (step.fromVersion, step.toVersion)
          return .failure(
            Loss(
              text: record[key] == nil
                ? "the operation “\(operation)” of the step from version \(from) to \(to) removes the key \(key), "
                  + "which it does not declare; correct the operation, or declare the key with changes: [\"\(key)\"]"
                : "the operation “\(operation)” of the step from version \(from) to \(to) changes the key \(key), "
                  + "which it does not declare; correct the operation, or declare the key with changes: [\"\(key)\"]"
            ))
        }
        // `try?`, because an error in the second run is also a difference: the first run succeeded.
        var again = before
        if (try? apply(operation, of: step, to: &again)) == nil || again != record, declared == nil {
          return .failure(
            Loss(
              text:
                "the operation “\(operation)” of the step from version \(step.fromVersion) to \(step.toVersion) "
                + "returns a different result each time; make the result depend only on the record"
            ))
        }
      }
      record.modelVersion = step.toVersion
      guard isChecked, let later = versions.first(where: { $0.version == step.toVersion }) else { continue }
      if let key = unread(record, by: later, versions[place]) {
        return .failure(
          Loss(
            text:
              "the key \(key) is lost between versions \(version) and \(later.version), but no step drops it; rename "
              + "or drop the key in a step"))
      }
      version = later.version
    }
    if isChecked, let last = versions.last, let key = unread(record, by: last, versions[place]) {
      return .failure(
        Loss(
          text:
            "the key \(key) is lost after version \(version), but no step drops it; rename or drop the key in a step"))
    }
    return .success(record)
  }

  private func apply(_ operation: MigrationOperation, of step: MigrationStep, to record: inout ModelRecord) throws {
    let single = MigrationStep(fromVersion: step.fromVersion, toVersion: step.toVersion, operations: [operation])
    record.modelVersion = step.fromVersion
    _ = try single.apply(to: &record, isComplete: !schema.isEnumeration)
  }

  /// Returns a key of the record that the given version of the model would not read; `nil` if there is none.
  private func unread(_ record: ModelRecord, by version: RecordedSchema, _ old: RecordedSchema) -> String? {
    guard version.keepsUnknownFields != true else { return nil }
    var read = Set(version.fields.filter(\.value.isArchived).keys)
    for (key, field) in version.fields { read.formUnion((field.formerly ?? []).filter { _ in read.contains(key) }) }
    read.formUnion(keys.keys)
    read.formUnion((version.inherited ?? [:]).keys)
    // Ignores inherited keys, which the superclass's steps handle, and keys that a later step uses, which that step may remove.
    let inherited = Set((old.inherited ?? [:]).keys)
    let removed = steps.filter { $0.fromVersion >= version.version }.flatMap(\.operations)
    let later = Set(removed.flatMap { $0.effect?.sources ?? [] }.compactMap(\.firstKey))
    return record.fields.first {
      !read.contains($0.key) && !inherited.contains($0.key) && !later.contains($0.key) && !$0.value.isNull
    }?.key
  }

  /// Returns the record that a program of a later version would archive after opening and saving this record; `nil` if this is
  /// unknown.
  private func saved(_ record: ModelRecord, by version: RecordedSchema) -> ModelRecord? {
    guard version.cases == nil, version.superclass == nil, schema.hook == nil else { return nil }
    var record = record
    let from = record.modelVersion ?? 0
    for step in steps where step.fromVersion >= from && step.toVersion <= version.version {
      for operation in step.operations {
        // `try?`, because no error is expected: the same steps have already been applied to this record.
        guard (try? apply(operation, of: step, to: &record)) != nil else { return nil }
      }
    }
    var fields: [(key: String, value: ArchiveValue)] = []
    for (key, field) in version.fields.sorted(by: { $0.key < $1.key }) where field.isArchived {
      let value = ([key] + (field.formerly ?? [])).lazy.compactMap { record[$0] }.first
      guard let value = value ?? field.absentValue, let complete = completed(value) else { return nil }
      fields.append((key, complete))
    }
    if version.keepsUnknownFields == true {
      let known = Set(version.fields.flatMap { [$0.key] + ($0.value.formerly ?? []) })
      fields += record.fields.filter { !known.contains($0.key) }
    }
    return ModelRecord(typeName: version.name, modelVersion: version.version, fields: fields)
  }

  /// Adds the keys that nested records lack, as a program does when it decodes and archives them. A step can create such
  /// records. Returns `nil` if a nested model has no constant default for a key.
  private func completed(_ value: ArchiveValue) -> ArchiveValue? {
    // `try?`, because the only error is a missing default.
    try? completing(value)
  }

  private struct NoConstantDefault: Error {}

  private func completing(_ value: ArchiveValue) throws -> ArchiveValue {
    let value = try value.mapLocated { try completing($0) }
    guard case .record(var record) = value, let nested = try schema.inside.schema(named: record.typeName),
      record.modelVersion == nested.modelVersion, !nested.isEnumeration, nested.hook == nil
    else { return value }
    for field in nested.fields
    where field.archive == .always && ([field.key] + field.formerly).allSatisfy({ record[$0] == nil }) {
      guard !field.hasChangingDefault, let initial = try field.absentValue() else {
        throw NoConstantDefault()
      }
      record[field.key] = initial
    }
    return .record(record)
  }

  // MARK: Opening

  /// A way to open a record. The raw value completes the sentence that describes a problem.
  private enum Opening: String, CaseIterable {
    case archive = "as an archive"
    case otherOrder = "with its keys in a different order"
    case upgrader = "after an upgrade by ArchiveUpgrader"
    case list = "as an element of an array"
    case dictionary = "as a value in a dictionary"
    case row = "as a row of a store"
  }

  /// Opens a record in the given way and returns the decoded model as a record.
  ///
  /// - Throws: any error that decoding throws.
  private func open(_ record: ModelRecord, _ opening: Opening) throws -> ModelRecord {
    let decoder = ArchiveDecoder(validates: false)
    func stamp(_ typeName: String) -> Stamp { Stamp(typeName: typeName, modelVersion: record.modelVersion) }
    func model() throws -> M? {
      switch opening {
      case .archive: return try decoder.decode(M.self, from: ArchiveEncoder().encode(record))
      case .otherOrder:
        let shape = RecordShape(
          typeName: record.typeName, modelVersion: record.modelVersion, keys: record.keys.reversed(),
          levels: record.superclasses)
        let record = ModelRecord(shape: shape, values: record.values.reversed())
        return try decoder.decode(M.self, from: ArchiveEncoder().encode(record))
      case .upgrader:
        let data = try ArchiveUpgrader(M.self, validates: false).upgrade(ArchiveEncoder().encode(record))
        return try decoder.decode(M.self, from: data)
      case .list:
        let data = try ArchiveEncoder().encode(
          asRead: .array([.record(record), .record(record)]), stamp: stamp("[\(record.typeName)]"))
        return try decoder.decode([M].self, from: data).last
      case .dictionary:
        let data = try ArchiveEncoder().encode(
          asRead: .object(ArchiveObject([.init(key: "key", value: .record(record))])),
          stamp: stamp("[String: \(record.typeName)]"))
        return try decoder.decode([String: M].self, from: data)["key"]
      case .row:
        let row = try ArchiveEncoder().encodeRow(.record(record), stamp: stamp(record.typeName), shapes: [])
        var report = DecodingReport()
        return try decoder.decodeRow(
          M.self, from: row.bytes.bytes, definitions: ArchiveReader.definitions(of: row.parts.shapes),
          contents: RowContents(row.parts.contents), report: &report)
      }
    }
    guard let model = try model() else { throw ArchiveError(.rejected, "the archive is empty") }
    return try model.record()
  }
}

extension RecordedSchema.Field {
  /// The value that the field has in a new object; `nil` if no default is recorded and the field is not optional.
  fileprivate var absentValue: ArchiveValue? {
    guard let initial else { return RecordedType(parsing: type).isOptional ? .null : nil }
    // `try?`, because some defaults, such as dates, were recorded as the text `a value`, which is not JSON.
    return try? JSONReader().read(Data(initial.utf8))
  }
}

extension MigrationOperation {
  fileprivate var unwrapped: MigrationOperation {
    if case .optional(let operation) = self { operation.unwrapped } else { self }
  }
}
