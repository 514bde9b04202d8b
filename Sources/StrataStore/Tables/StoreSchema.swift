/// The formats of a store's tables: the first one, and the steps from each to the next. There are no steps yet.
package struct StoreSchema: Sendable {
  /// A change of one format to the next.
  package struct Step: Sendable {
    /// The lowest formats that a program must know to read and to write the store afterwards.
    let minimumReader, minimumWriter: Int
    private let change: @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void

    /// - Parameter change: called with the prefix of the table names, and a function that runs a SQL statement. It must keep
    ///   everything that older programs need that may still read the store, and throw if it fails.
    package init(
      minimumReader: Int, minimumWriter: Int,
      change: @escaping @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void
    ) {
      (self.minimumReader, self.minimumWriter, self.change) = (minimumReader, minimumWriter, change)
    }

    /// Runs the change.
    package func run(_ prefix: String, _ execute: (String) throws -> Void) throws { try change(prefix, execute) }
  }

  /// The formats that this program knows.
  package static let today = StoreSchema(steps: [])

  /// The first step changes format 1 to format 2.
  let steps: [Step]
  /// A function that runs between the commit of a change and its final check, in which tests fail or damage something.
  let afterCommit: @Sendable () throws -> Void

  package init(steps: [Step], afterCommit: @escaping @Sendable () throws -> Void = {}) {
    (self.steps, self.afterCommit) = (steps, afterCommit)
  }

  /// The format that this program writes, and the highest one that it knows.
  var format: Int { steps.count + 1 }
}
