internal import GRDB

/// Goes through all revisions in the order in which they were saved, past those that cannot be read.
struct RevisionWalk {
  enum Step {
    case row(StoredRow)
    /// A row whose bytes are not those that were written. What it says of its key and number may be wrong.
    case damaged(id: Int64, key: Int64?, seq: Int64?, any Error)
    /// A part of the table that cannot be read. There may be revisions in it.
    case gap(ClosedRange<Int64>, any Error)
  }

  /// Beyond so many numbers in one part that cannot be read, not each of them is tried.
  private static let mostTries: Int64 = 100_000

  private let transaction: StoreTransaction
  private let work: StoreWork
  private var last: Int64 = 0

  init(_ transaction: StoreTransaction, _ work: StoreWork) {
    self.transaction = transaction
    self.work = work
  }

  /// - Throws: `CancellationError` alone.
  mutating func next() throws -> Step? {
    try work.check()
    do { return try step(from: last + 1) } catch { return try gap(error) }
  }

  private mutating func step(from id: Int64) throws -> Step? {
    let row = try Row.fetchOne(
      transaction.statement(
        "SELECT \(StoredRow.columns) FROM \(transaction.tables.revisions) WHERE id >= ? ORDER BY id LIMIT 1"),
      arguments: [id])
    guard let row else { return nil }
    let id: Int64 = try row.column(0)
    last = id
    do { return .row(try StoredRow(row)) } catch {
      // Of a row that is damaged they are no more than a hint.
      return .damaged(id: id, key: try? row.column(1), seq: try? row.column(2), error)
    }
  }

  /// Looks for the next revision that can be read.
  private mutating func gap(_ error: any Error) throws -> Step? {
    let start = last + 1
    // The number that was given last, which is damaged itself where it cannot be read: then the walk ends here.
    let end = max(start, (try? transaction.core.lastSequence(in: transaction.db)) ?? start)
    var probe = start, step: Int64 = 1
    while probe < end {
      try work.check()
      if probe - start >= Self.mostTries { step = step.multipliedReportingOverflow(by: 2).partialValue }
      let (next, overflows) = probe.addingReportingOverflow(step)
      probe = overflows || step <= 0 ? end : min(next, end)
      let before = last
      // What cannot be read here is part of the gap.
      if let found = try? self.step(from: probe) {
        let first = last
        last = first - 1
        guard first - 1 >= start else { return found }
        return .gap(start...(first - 1), error)
      }
      last = before
    }
    last = end
    return .gap(start...end, error)
  }
}
