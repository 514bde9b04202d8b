/// The formats that the tables of a store have had: the first one, and what led from each to the next. There are no steps yet.
package struct StoreSchema: Sendable {
  /// What leads from one format to the next one.
  package struct Step: Sendable {
    /// The least format that a program must know to read the store afterwards, and to write it.
    let minimumReader, minimumWriter: Int
    private let change: @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void

    /// - Parameter change: gets what the names of the tables begin with, and what runs a statement of SQL. It must leave what older
    ///   programs that may still read the store need, and fail where it cannot do its work.
    package init(
      minimumReader: Int, minimumWriter: Int,
      change: @escaping @Sendable (_ prefix: String, _ execute: (String) throws -> Void) throws -> Void
    ) {
      (self.minimumReader, self.minimumWriter, self.change) = (minimumReader, minimumWriter, change)
    }

    /// Makes the change.
    package func run(_ prefix: String, _ execute: (String) throws -> Void) throws { try change(prefix, execute) }
  }

  /// What this program knows.
  package static let today = StoreSchema(steps: [])

  /// The first one leads from format 1 to format 2.
  let steps: [Step]
  /// Called between the change's commit and the last look at it; tests end or damage something there.
  let afterCommit: @Sendable () throws -> Void

  package init(steps: [Step], afterCommit: @escaping @Sendable () throws -> Void = {}) {
    (self.steps, self.afterCommit) = (steps, afterCommit)
  }

  /// The format that this program writes, and the highest one that it knows.
  var format: Int { steps.count + 1 }
}
