/// A model that upgrades data of its older versions.
public protocol Migratable {
  /// The steps from each older version to the next. Declare it as a `static let`, so that it is created once.
  static var migration: MigrationPlan { get }
}

/// A model with a hook that returns the value of each field when an archive is opened.
///
/// The hook is called for every key of the schema, including excluded ones, and for archives of every version,
/// including the current one. Such a model is always read on the slow path, which takes about twice as long. If steps
/// are enough, prefer ``Migratable``.
public protocol KeyMigrating: SendableMetatype {
  /// Returns the value for a key, or `nil` to keep the field's default.
  ///
  /// - Parameters:
  ///   - key: a key of the current schema.
  ///   - modelVersion: the version that wrote the object; 0 if none was written.
  ///   - record: the archived record after the steps of ``Migratable``. The usual result is `record[key]`.
  /// - Throws: any error. Decoding then fails with the code `migrationFailed` and this error as its cause.
  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue?
}

/// The steps from the oldest supported version to the current one, each from one version to the next.
///
///     static let migration = MigrationPlan(
///       .step(from: 1, to: 2, .rename("summary", to: "title")),
///       .step(from: 2, to: 3, .drop("legacy"), .setDefault("stars", 0))
///     )
///
/// A gap, a duplicate step or a chain that does not end at the model's version is a mistake in the declaration. The
/// first encoding or decoding throws it. A model without a chain reads every older version unchanged: a new field with
/// a default needs no step.
public struct MigrationPlan: Sendable {
  /// The steps, oldest first.
  public let steps: [MigrationStep]

  /// Creates a chain from these steps, in any order.
  public init(_ steps: MigrationStep...) { self.init(steps) }

  /// Creates a chain from these steps, in any order.
  // This initializer is disfavored, so that the compiler reports a mistake within a step instead of a failed conversion to an array.
  @_disfavoredOverload
  public init(_ steps: [MigrationStep]) { self.steps = steps.sorted { $0.fromVersion < $1.fromVersion } }

  /// The steps of one class of a hierarchy.
  ///
  /// A subclass inherits the static members of its superclass, including the chain, so each class names itself:
  ///
  ///     class var migration: MigrationPlan { MigrationPlan(for: Animal.self, .step(from: 1, to: 2, .drop("tail"))) }
  public init(for type: AnyClass, _ steps: MigrationStep...) {
    self.init(steps)
    owner = ObjectIdentifier(type)
  }

  /// The class that these steps belong to; `nil` if the plan names none.
  package private(set) var owner: ObjectIdentifier?

  /// The oldest version that the chain upgrades; `nil` for a chain without steps.
  public var oldestVersion: Int? { steps.first?.fromVersion }

  /// Checks that the chain reaches `version` without a gap.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMigration` otherwise.
  public func validate(upTo version: Int) throws {
    if let problem = problem(upTo: version, typeName: nil) { throw problem }
  }

  package func problem(upTo version: Int, typeName: String?) -> ArchiveError? {
    func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidMigration, reason, typeName: typeName) }
    for step in steps where step.toVersion != step.fromVersion + 1 {
      return invalid("the step from \(step.fromVersion) leads to \(step.toVersion); a step leads to the next version")
    }
    for step in steps {
      for path in step.operations.flatMap({ ($0.effect?.sources ?? []) + ($0.effect?.targets ?? []) }) {
        do { _ = try path.stepsOfRecord() } catch {
          return invalid("the step from version \(step.fromVersion) to \(step.toVersion): \(error.reason)")
        }
      }
    }
    for (step, next) in zip(steps, steps.dropFirst()) {
      if next.fromVersion == step.fromVersion { return invalid("there are two steps from version \(step.fromVersion)") }
      if next.fromVersion != step.toVersion {
        return invalid("no step leads from version \(step.toVersion) to \(step.toVersion + 1)")
      }
    }
    if let last = steps.last, last.toVersion < version {
      return invalid("no step leads from version \(last.toVersion) to \(last.toVersion + 1)")
    }
    if let last = steps.last, last.toVersion > version {
      return invalid("a step leads to version \(last.toVersion), but the model's version is \(version)")
    }
    return nil
  }

  /// Returns an error for an operation that writes to a key which is not a current field and which no later operation
  /// changes. Such a key is misspelled, and its value would be lost. The effect of ``MigrationOperation/custom(_:changes:_:)``
  /// is unknown unless it declares its keys, so operations before such a closure are not checked.
  func problem(ofTargets keys: Set<String>, typeName: String) -> ArchiveError? {
    let operations = steps.flatMap { step in step.operations.map { (step, $0) } }
    var known = keys
    for (step, operation) in operations.reversed() {
      guard let effect = operation.effect else { return nil }
      if let target = effect.targets.lazy.compactMap(\.firstKey).first(where: { !known.contains($0) }) {
        return ArchiveError(
          .invalidMigration,
          "the step from \(step.fromVersion) to \(step.toVersion) writes \(target), which is not a field's key and not changed by a later "
            + "step; the keys are \(keys.sorted().joined(separator: ", "))", typeName: typeName)
      }
      known.formUnion(effect.sources.compactMap(\.firstKey))
    }
    return nil
  }

  /// Upgrades a record from its own version.
  ///
  /// - Parameters:
  ///   - record: a record of an older version, or a part of one.
  ///   - isComplete: whether the record has each key of its version, as in archives and stores. If so, an operation
  ///     fails if its key is absent (``MigrationOperation``).
  /// - Returns: the record after the last step, with the current version.
  /// - Throws: ``ArchiveError`` with the code `unsupportedVersion` for a version older than the first step, and
  ///   `migrationFailed` if a step fails. The given record is never changed.
  public func upgrade(_ record: ModelRecord, isComplete: Bool = false) throws -> ModelRecord {
    try upgrade(record, isComplete: isComplete) { _, _ in }
  }

  /// - Parameter noteIdle: called for each operation that found nothing to change.
  func upgrade(
    _ record: ModelRecord, isComplete: Bool, noteIdle: (MigrationStep, MigrationOperation) -> Void
  ) throws -> ModelRecord {
    let version = record.modelVersion ?? 0
    guard let oldest = oldestVersion else { return record }
    guard version >= oldest else {
      throw ArchiveError(
        .unsupportedVersion,
        "written by version \(version), but the chain begins at \(oldest); add the steps from \(version)",
        typeName: record.typeName, foundVersion: version, supportedVersion: oldest)
    }
    var upgraded = record
    for step in steps where step.fromVersion >= version {
      for operation in try step.apply(to: &upgraded, isComplete: isComplete) { noteIdle(step, operation) }
    }
    return upgraded
  }
}
