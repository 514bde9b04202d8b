/// A model with migration steps that upgrade data of older versions.
///
/// Without the conformance, a `migration` property has no effect. In the body of a type with `@Model`, a `migration` property without the
/// conformance is a compile-time error.
public protocol Migratable {
  /// The steps from each older version to the next. Declare the plan as a `static let`, so that it is created only
  /// once.
  static var migration: MigrationPlan { get }
}

/// A model with a hook that supplies the value of each field when an archive is read.
///
/// The hook is called for every key of the schema, including excluded fields, and for archives of every version,
/// including the current version. Such a model is always read on the slow path, which takes about twice as long. Prefer
/// ``Migratable`` if migration steps are sufficient.
public protocol KeyMigrating: SendableMetatype {
  /// Returns the value for a key, or `nil` to use the field's default.
  ///
  /// - Parameters:
  ///   - key: a key of the current schema.
  ///   - modelVersion: the version that wrote the object; 0 if the archive contains no version.
  ///   - record: the archived record, after the steps of ``Migratable``. The usual result is `record[key]`.
  /// - Throws: any error. Decoding then throws an ``ArchiveError`` with the code `migrationFailed` and this error as
  ///   the underlying error.
  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue?
}

/// A chain of migration steps from the oldest supported version to the current one. Each step upgrades records from one
/// version to the next.
///
///     static let migration = MigrationPlan(
///       .step(from: 1, to: 2, .rename("summary", to: "title")),
///       .step(from: 2, to: 3, .drop("legacy"), .setDefault("stars", 0))
///     )
///
/// The first encoding or decoding throws an error if the chain has a gap or a duplicate step, or if it does not end at
/// the model's version. A model without a chain reads all older versions without changing their records. A new field
/// with a default does not need a step.
public struct MigrationPlan: Sendable {
  /// The steps, oldest first.
  public let steps: [MigrationStep]

  /// Creates a chain from the given steps, which can be in any order.
  public init(_ steps: MigrationStep...) { self.init(steps) }

  /// Creates a chain from an array of steps, which can be in any order.
  // This overload is disfavored, because the compiler would otherwise report a mistake within a step as a failed conversion to an array.
  @_disfavoredOverload
  public init(_ steps: [MigrationStep]) { self.steps = steps.sorted { $0.fromVersion < $1.fromVersion } }

  /// Creates a chain for one class of a hierarchy.
  ///
  /// A subclass inherits static members, including the chain of its superclass. Each chain therefore names the class
  /// that it belongs to:
  ///
  ///     class var migration: MigrationPlan { MigrationPlan(for: Animal.self, .step(from: 1, to: 2, .drop("tail"))) }
  public init(for type: AnyClass, _ steps: MigrationStep...) {
    self.init(steps)
    owner = ObjectIdentifier(type)
  }

  /// The class that these steps belong to; `nil` if the chain does not name a class.
  package private(set) var owner: ObjectIdentifier?

  /// The oldest version that the chain can upgrade; `nil` if the chain has no steps.
  public var oldestVersion: Int? { steps.first?.fromVersion }

  /// Checks that the chain reaches `version` without a gap.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMigration` if the chain has a gap or does not end at `version`.
  public func validate(upTo version: Int) throws {
    if let problem = problem(upTo: version, typeName: nil) { throw problem }
  }

  package func problem(upTo version: Int, typeName: String?) -> ArchiveError? {
    func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidMigration, reason, typeName: typeName) }
    for step in steps where step.toVersion != step.fromVersion + 1 {
      return invalid(
        "the step from version \(step.fromVersion) ends at version \(step.toVersion) instead of the next version; declare "
          + "one step for each version")
    }
    for step in steps {
      for path in step.operations.flatMap({ ($0.effect?.sources ?? []) + ($0.effect?.targets ?? []) }) {
        do { _ = try path.stepsOfRecord() } catch {
          return invalid("the step from version \(step.fromVersion) to \(step.toVersion): \(error.reason)")
        }
      }
    }
    for (step, next) in zip(steps, steps.dropFirst()) {
      if next.fromVersion == step.fromVersion {
        return invalid("the model declares two steps from version \(step.fromVersion); remove one of them")
      }
      if next.fromVersion != step.toVersion {
        return invalid("the step from version \(step.toVersion) to \(step.toVersion + 1) is missing; add this step")
      }
    }
    if let last = steps.last, last.toVersion < version {
      return invalid("the step from version \(last.toVersion) to \(last.toVersion + 1) is missing; add this step")
    }
    if let last = steps.last, last.toVersion > version {
      return invalid(
        "the last step ends at version \(last.toVersion), but the model's version is \(version); raise the model's "
          + "version, or remove the step")
    }
    return nil
  }

  /// Upgrades a record from its own version to the current version.
  ///
  /// - Parameters:
  ///   - record: a record of an older version, or a part of such a record.
  ///   - isComplete: whether the record has every key of its version, as in archives and stores. If true, an operation
  ///     fails if its key is absent (``MigrationOperation``).
  /// - Returns: the record after the last step, with the current version.
  /// - Throws: ``ArchiveError`` with the code `unsupportedVersion` if the record's version is older than the first
  ///   step, and `migrationFailed` if a step fails. The given record is never changed.
  public func upgrade(_ record: ModelRecord, isComplete: Bool = false) throws -> ModelRecord {
    try upgrade(record, isComplete: isComplete) { _, _ in }
  }

  /// - Parameter noteIdle: called for each operation that changed nothing because the record lacks the operation's key.
  func upgrade(
    _ record: ModelRecord, isComplete: Bool, noteIdle: (MigrationStep, MigrationOperation) -> Void
  ) throws -> ModelRecord {
    let version = record.modelVersion ?? 0
    guard let oldest = oldestVersion else { return record }
    guard version >= oldest else {
      throw ArchiveError(
        .unsupportedVersion,
        "the data was written by version \(version), but the migration steps begin at version \(oldest); add the "
          + "steps from version \(version)",
        typeName: record.typeName, foundVersion: version, supportedVersion: oldest)
    }
    var upgraded = record
    for step in steps where step.fromVersion >= version {
      for operation in try step.apply(to: &upgraded, isComplete: isComplete) { noteIdle(step, operation) }
    }
    return upgraded
  }
}
