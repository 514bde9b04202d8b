/// The formats of a store's tables. Each step changes one format to the next. So far there is only one format, so there are no
/// steps.
package struct StoreSchema: Sendable {
  /// A change of the tables from one format to the next.
  package struct Step: Sendable {
    /// The lowest format versions that a program must support to read and to write the store after this step.
    let minimumReader, minimumWriter: Int
    private let change: @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void

    /// - Parameter change: a closure that changes the tables. It receives the prefix of the table names and a function that runs an
    ///   SQL statement. The closure must preserve everything that older programs need if they may still read the store, and must
    ///   throw if the change fails.
    package init(
      minimumReader: Int, minimumWriter: Int,
      change: @escaping @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void
    ) {
      (self.minimumReader, self.minimumWriter, self.change) = (minimumReader, minimumWriter, change)
    }

    package func run(_ prefix: String, _ execute: (String) throws -> Void) throws { try change(prefix, execute) }
  }

  /// The formats that this program supports.
  package static let today = StoreSchema(steps: [])

  /// The steps in ascending order. The first step changes format 1 to format 2.
  let steps: [Step]
  /// A closure that runs after the commit of a change and before the final check. Tests use it to simulate failures and damage.
  let afterCommit: @Sendable () throws -> Void

  package init(steps: [Step], afterCommit: @escaping @Sendable () throws -> Void = {}) {
    (self.steps, self.afterCommit) = (steps, afterCommit)
  }

  /// The format that this program writes. It is also the highest format that this program supports.
  var format: Int { steps.count + 1 }
}
