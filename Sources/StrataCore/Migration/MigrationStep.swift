/// A step of a migration chain: the changes to a model from one version to the next.
///
/// A step receives the record that the previous step produced. It does not depend on the current Swift types.
public struct MigrationStep: Sendable, CustomStringConvertible {
  /// The version of the records that the step upgrades.
  public let fromVersion: Int
  /// The version of the records that the step produces.
  public let toVersion: Int
  /// The operations, in the order in which they run. Empty if the new version only adds fields with defaults.
  public let operations: [MigrationOperation]

  /// Creates a step with the given operations, which run in the given order.
  public static func step(from: Int, to: Int, _ operations: MigrationOperation...) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: operations)
  }

  /// Creates a step from a closure. Tools that list the steps of the chain show `description`.
  ///
  /// - Parameter changes: the keys that the closure may change or remove; `nil` if it may change any key (see
  ///   ``MigrationOperation/custom(_:changes:_:)``).
  public static func step(
    from: Int, to: Int, _ description: String = "a closure", changes: [String]? = nil,
    _ transform: @escaping @Sendable (inout ModelRecord) throws -> Void
  ) -> MigrationStep {
    MigrationStep(fromVersion: from, toVersion: to, operations: [.custom(description, changes: changes, transform)])
  }

  /// Creates a step with the given operations, which run in the given order.
  public init(fromVersion: Int, toVersion: Int, operations: [MigrationOperation]) {
    self.fromVersion = fromVersion
    self.toVersion = toVersion
    self.operations = operations
  }

  /// A description such as `1 → 2: rename summary to title`.
  public var description: String {
    let list = operations.isEmpty ? "no change" : operations.map(\.description).joined(separator: ", ")
    return "\(fromVersion) → \(toVersion): \(list)"
  }

  /// Applies all operations to a record.
  ///
  /// - Returns: the operations that changed nothing because the record lacks their keys.
  package func apply(to record: inout ModelRecord, isComplete: Bool) throws -> [MigrationOperation] {
    var idle: [MigrationOperation] = []
    for operation in operations {
      do { if try !operation.apply(to: &record, isComplete: isComplete) { idle.append(operation) } } catch {
        // Callers prepend the record's path only to the outer error's path. The inner error's path is therefore moved to the outer error.
        let known = error as? ArchiveError
        throw ArchiveError(
          .migrationFailed,
          "the operation “\(operation.failure)” of the step from version \(fromVersion) to \(toVersion) failed",
          path: known?.codingPath ?? [], typeName: record.typeName, foundVersion: fromVersion,
          supportedVersion: toVersion, underlying: known?.changed { $0.path = [] } ?? error)
      }
    }
    record.modelVersion = toVersion
    return idle
  }
}
