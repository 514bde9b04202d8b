/// A model that upgrades what its older versions wrote.
public protocol Migratable {
  /// The steps from each older version to the next. A `static let`, made once.
  static var migration: MigrationPlan { get }
}

/// A model whose fields are asked for one by one when an archive is opened.
///
/// The hook is called for every key of the schema, excluded ones too, and for archives of every version, today's among
/// them: such a model is read always on the slow path, which takes about twice as long. Where steps are enough,
/// prefer ``Migratable``.
public protocol KeyMigrating: SendableMetatype {
  /// The value for a key, or `nil` to keep the field's default.
  ///
  /// - Parameters:
  ///   - key: a key of today's schema.
  ///   - modelVersion: the version that wrote the object; 0 where none was written.
  ///   - record: what was archived, as the steps of ``Migratable`` left it. `record[key]` is the ordinary answer.
  /// - Throws: anything; decoding then fails with the code `migrationFailed` and this error as its cause.
  static func decodeValue(forKey key: String, modelVersion: Int, in record: ModelRecord) throws -> ArchiveValue?
}

/// The steps that lead from the oldest version still supported to today's, each from one version to the next.
///
///     static let migration = MigrationPlan(
///       .step(from: 1, to: 2, .rename("summary", to: "title")),
///       .step(from: 2, to: 3, .drop("legacy"), .setDefault("stars", 0))
///     )
///
/// A gap, a step given twice or a chain that does not end at the model's version is an error of the declaration, which
/// the first encoding or decoding throws. A model without a chain reads every older version as it is: a new field with
/// a default needs no step.
public struct MigrationPlan: Sendable {
  /// The steps, oldest first.
  public let steps: [MigrationStep]

  /// A chain of these steps, in whatever order.
  public init(_ steps: MigrationStep...) { self.init(steps) }

  /// A chain of these steps, in whatever order.
  // Disfavoured, so that the compiler tells a mistake within a step of the other one, and not that a list is no step.
  @_disfavoredOverload
  public init(_ steps: [MigrationStep]) { self.steps = steps.sorted { $0.fromVersion < $1.fromVersion } }

  /// The steps of one class of a hierarchy.
  ///
  /// A subclass inherits the static members of its superclass, the chain among them; so each class names itself:
  ///
  ///     class var migration: MigrationPlan { MigrationPlan(for: Animal.self, .step(from: 1, to: 2, .drop("tail"))) }
  public init(for type: AnyClass, _ steps: MigrationStep...) {
    self.init(steps)
    owner = ObjectIdentifier(type)
  }

  /// The class whose steps these are; `nil` where nobody can inherit them.
  package private(set) var owner: ObjectIdentifier?

  /// The oldest version that the chain upgrades; `nil` for a chain without steps.
  public var oldestVersion: Int? { steps.first?.fromVersion }

  /// Makes sure that the chain leads to `version` without a gap.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMigration`.
  public func validate(upTo version: Int) throws {
    if let problem = problem(upTo: version, typeName: nil) { throw problem }
  }

  package func problem(upTo version: Int, typeName: String?) -> ArchiveError? {
    func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidMigration, reason, typeName: typeName) }
    for step in steps where step.toVersion != step.fromVersion + 1 {
      return invalid("the step from \(step.fromVersion) leads to \(step.toVersion); a step leads to the next version")
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

  /// An operation that puts a value under a key which no field has today, and no later operation changes: a misspelled key, whose
  /// value would be lost. What ``MigrationOperation/custom(_:_:)`` does is not known, so that nothing before one is looked at.
  func problem(ofTargets keys: Set<String>, typeName: String) -> ArchiveError? {
    let operations = steps.flatMap { step in step.operations.map { (step, $0) } }
    var known = keys
    for (step, operation) in operations.reversed() {
      guard let effect = operation.effect else { return nil }
      if let target = effect.target, !known.contains(target) {
        return ArchiveError(
          .invalidMigration,
          "the step from \(step.fromVersion) to \(step.toVersion) writes \(target), which is no key of a field and which no later "
            + "step changes; the keys are \(keys.sorted().joined(separator: ", "))", typeName: typeName)
      }
      if let source = effect.source { known.insert(source) }
    }
    return nil
  }

  /// Upgrades a record from the version that it has.
  ///
  /// - Parameters:
  ///   - record: what an older version wrote, or a part of it.
  ///   - isComplete: whether the record has each key of its version, as in archives and stores. Then an operation fails whose key is
  ///     absent (``MigrationOperation``).
  /// - Returns: the record as the last step left it, with today's version.
  /// - Throws: ``ArchiveError`` with the code `unsupportedVersion` for a version older than the first step, and
  ///   `migrationFailed` where a step fails. The record given is unchanged either way.
  public func upgrade(_ record: ModelRecord, isComplete: Bool = false) throws -> ModelRecord {
    try upgrade(record, isComplete: isComplete) { _, _ in }
  }

  /// - Parameter tell: called for each operation that found nothing to change.
  func upgrade(
    _ record: ModelRecord, isComplete: Bool, tell: (MigrationStep, MigrationOperation) -> Void
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
      for operation in try step.apply(to: &upgraded, isComplete: isComplete) { tell(step, operation) }
    }
    return upgraded
  }
}
