internal import GRDB

/// Iterates over all revisions in the order in which they were saved. Continues after unreadable ones.
struct RevisionWalk {
  enum Step {
    case row(StoredRow)
    case lost(RevisionLoss)
  }

  /// The maximum number of identifiers that are tried one by one in a single unreadable range, and in all ranges together.
  /// After that, the distance between tried identifiers doubles with each step.
  private static let mostTries = 100_000, mostTriesInAll = 2_000_000

  private let transaction: StoreTransaction
  private let work: StoreWork
  /// The identifier from which to continue; `nil` at the end of the table.
  private var start: Int64? = 1
  private var triesLeft = Self.mostTriesInAll
  /// The highest identifier that the store has assigned, as far as known; `nil` before it is looked up.
  private var given: Int64?

  init(_ transaction: StoreTransaction, _ work: StoreWork) {
    self.transaction = transaction
    self.work = work
  }

  /// Returns the next revision or loss; `nil` at the end of the table. An unreadable part does not end the iteration.
  ///
  /// - Throws: `CancellationError`, and errors that are not caused by damage.
  mutating func next() throws -> Step? {
    try work.check()
    guard let start else { return nil }
    let found: (id: Int64, step: Step)?
    do { found = try fetch(from: start) } catch  where StoreError.isDamage(error, transaction.db) {
      return try gap(from: start, error)
    }
    guard let found else { return nil }
    self.start = Self.after(found.id)
    return found.step
  }

  private static func after(_ id: Int64) -> Int64? { id == .max ? nil : id + 1 }

  /// Returns the first row whose identifier is at least `id`; `nil` if there is none.
  private func fetch(from id: Int64) throws -> (id: Int64, step: Step)? {
    let select = "SELECT \(StoredRow.columns) FROM \(transaction.tables.revisions) WHERE id >= ? ORDER BY id LIMIT 1"
    return try StatementRow.first(of: transaction.statement(select), [id]) { row in
      let found: Int64 = try row.column(0)
      // On a damaged page, rows may not be sorted. This check ensures that the iteration advances.
      guard found >= id else { throw StoreError(.damaged, "the revisions are not ordered by number") }
      do { return (found, .row(try StoredRow(row))) } catch {
        // The key and the number of a damaged row are only hints, so a column that cannot be read is ignored.
        let key: Int64? = try? row.column(1), seq: Int64? = try? row.column(2)
        return (
          found,
          .lost(RevisionLoss(kind: .revision, id: found, key: key, seq: seq, problem: StoreFinding.problem(error)))
        )
      }
    }
  }

  private func canRead(from id: Int64) throws -> Bool {
    do {
      _ = try fetch(from: id)
      return true
    } catch  where StoreError.isDamage(error, transaction.db) { return false }
  }

  /// Finds the next identifier from which the table can be read. All identifiers up to the highest assigned one are tried.
  /// Because the record of that one may itself be damaged, the search continues beyond it with doubling steps.
  private mutating func gap(from first: Int64, _ error: any Error) throws -> Step {
    var failing = first, step: Int64 = 1, tries = 0
    let given = try given ?? highestGiven(first)
    self.given = given
    while true {
      try work.check()
      if failing < given, tries < Self.mostTries, triesLeft > 0 {
        tries += 1
        triesLeft -= 1
      } else {
        step = step > .max / 2 ? .max : step * 2
      }
      let (sum, overflows) = failing.addingReportingOverflow(step)
      let probe = overflows ? .max : sum
      if try canRead(from: probe) {
        let last = try lastUnreadable(failing, probe)
        start = Self.after(last)
        return .lost(RevisionLoss(from: first, to: last, error))
      }
      if probe == .max {
        start = nil
        return .lost(RevisionLoss(from: first, to: nil, error))
      }
      failing = probe
    }
  }

  /// Returns the highest identifier that is recorded outside of the table of revisions, as far as it can be read.
  private func highestGiven(_ first: Int64) throws -> Int64 {
    // Those records may be damaged too, so the result is at least `first` plus the number of revisions that one page may
    // contain.
    let last = try transaction.intact { try transaction.store.lastSequence(in: transaction.db) }
    let head = try transaction.intact {
      try Int64.fetchOne(transaction.db, sql: "SELECT max(head) FROM \(transaction.tables.keys)")
    }
    return max(last ?? 0, head ?? 0, first.addingReportingOverflow(1000).partialValue)
  }

  /// Returns the last unreadable identifier between an unreadable and a readable one, by bisection.
  private func lastUnreadable(_ unreadable: Int64, _ readable: Int64) throws -> Int64 {
    var (low, high) = (unreadable, readable)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if try canRead(from: middle) { high = middle } else { low = middle }
    }
    return low
  }
}

/// A loss: either a damaged row, or a range of identifiers in which no revisions can be read.
struct RevisionLoss {
  /// The kind of loss: `revision` for a damaged row, `file` for a range of identifiers.
  var kind: StoreFinding.Kind
  /// The identifier of the row, or the first identifier of the range.
  var id: Int64
  /// The key and the revision number of a damaged row. They may be wrong.
  var key: Int64?, seq: Int64?
  var problem: String

  func finding(
    _ names: inout KeyNames, _ transaction: StoreTransaction, advice: String = StoreFinding.salvage
  ) throws -> StoreFinding {
    StoreFinding(
      kind, key: try key.flatMap { try names.name($0, transaction).name }, revision: seq.map { Int($0) }, sequence: id,
      problem, advice: advice)
  }
}

extension RevisionLoss {
  /// - Parameter last: the last identifier of the range; `nil` if nothing after `first` can be read.
  fileprivate init(from first: Int64, to last: Int64?, _ error: any Error) {
    let part = last.map { "to \($0)" } ?? "on"
    self.init(
      kind: .file, id: first,
      problem: "revisions of the sequence \(first) \(part) cannot be read: \(StoreFinding.problem(error))")
  }
}
