/// One step of a chain: what happened to the model between a version and the next.
///
/// A step sees the record as the step before it left it, and never today's types.
public struct MigrationStep: Sendable, CustomStringConvertible {
  /// The version of the records that it changes.
  public let fromVersion: Int
  /// The version that they have afterwards.
  public let toVersion: Int
  /// What the step does, in order. Empty where only fields with defaults were added.
  public let operations: [MigrationOperation]

  /// A step with the operations given, in their order.
  public static func step(from: Int, to: Int, _ operations: MigrationOperation...) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: operations)
  }

  /// A step from a closure. The description says what it does, for tools that list the chain.
  public static func step(
    from: Int, to: Int, _ description: String, _ transform: @escaping @Sendable (inout ModelRecord) throws -> Void
  ) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: [.custom(description, transform)])
  }

  /// A step with the operations given, in their order.
  public init(fromVersion: Int, toVersion: Int, operations: [MigrationOperation]) {
    self.fromVersion = fromVersion
    self.toVersion = toVersion
    self.operations = operations
  }

  /// `1 → 2: rename summary to title`
  public var description: String {
    let list = operations.isEmpty ? "no change" : operations.map(\.description).joined(separator: ", ")
    return "\(fromVersion) → \(toVersion): \(list)"
  }

  /// - Returns: the operations that found nothing to change.
  package func apply(to record: inout ModelRecord, isComplete: Bool) throws -> [MigrationOperation] {
    var idle: [MigrationOperation] = []
    for operation in operations {
      do { if try !operation.apply(to: &record, isComplete: isComplete) { idle.append(operation) } } catch {
        // The path is told once, and by the outer error, which gets the way to the record before it.
        let known = error as? ArchiveError
        throw ArchiveError(
          .migrationFailed, "the step from version \(fromVersion) to \(toVersion) failed to \(operation.failure)",
          path: known?.codingPath ?? [], typeName: record.typeName, foundVersion: fromVersion,
          supportedVersion: toVersion, underlying: known?.changed(path: []) ?? error)
      }
    }
    record.modelVersion = toVersion
    return idle
  }
}
