/// One step of a chain: the changes of the model from one version to the next.
///
/// A step receives the record that the previous step produced. It never uses the current Swift types.
public struct MigrationStep: Sendable, CustomStringConvertible {
  /// The version of the records before the step.
  public let fromVersion: Int
  /// The version of the records after the step.
  public let toVersion: Int
  /// The operations, in order. Empty if only fields with defaults were added.
  public let operations: [MigrationOperation]

  /// A step with the operations given, in their order.
  public static func step(from: Int, to: Int, _ operations: MigrationOperation...) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: operations)
  }

  /// A step from a closure. Tools that list the chain show the description.
  ///
  /// - Parameter changes: the keys that the closure may change or remove; `nil` for every key
  ///   (see ``MigrationOperation/custom(_:changes:_:)``).
  public static func step(
    from: Int, to: Int, _ description: String = "a closure", changes: [String]? = nil,
    _ transform: @escaping @Sendable (inout ModelRecord) throws -> Void
  ) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: [.custom(description, changes: changes, transform)])
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
        // Only the outer error has the path, because the path to the record is added to that error.
        let known = error as? ArchiveError
        throw ArchiveError(
          .migrationFailed, "the step from version \(fromVersion) to \(toVersion) failed to \(operation.failure)",
          path: known?.codingPath ?? [], typeName: record.typeName, foundVersion: fromVersion,
          supportedVersion: toVersion, underlying: known?.changed { $0.path = [] } ?? error)
      }
    }
    record.modelVersion = toVersion
    return idle
  }
}
