internal import GRDB

/// Iterates over all revisions in a damaged store, in the order in which they were saved. Unreadable revisions are skipped and
/// reported as losses.
struct RevisionWalk {
  enum Step {
    case row(StoredRow)
    case lost(RevisionLoss)
  }

  /// The maximum numbers of identifiers that are tried one by one: `mostTries` in a single unreadable range, and `mostTriesInAll`
  /// in all unreadable ranges together. After that, the distance to the next identifier doubles with each try, so that the search
  /// ends in a reasonable time.
  private static let mostTries = 100_000, mostTriesInAll = 2_000_000

  private let transaction: StoreTransaction
  private let work: StoreWork
  /// The identifier at which the iteration continues, or `nil` after the end of the table.
  private var start: Int64? = 1
  private var triesLeft = Self.mostTriesInAll
  /// The highest revision identifier that is known to have been assigned. `nil` until the identifier is needed for the first
  /// time.
  private var given: Int64?

  init(_ transaction: StoreTransaction, _ work: StoreWork) {
    self.transaction = transaction
    self.work = work
  }

  /// Returns the next revision, or a description of the next loss if revisions cannot be read. Returns `nil` at the end of the
  /// table.
  ///
  /// - Throws: `CancellationError`, or an error that is not caused by damage.
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

  /// Returns the first revision whose identifier is at least `id`, or `nil` if there is none.
  private func fetch(from id: Int64) throws -> (id: Int64, step: Step)? {
    let select = "SELECT \(StoredRow.columns) FROM \(transaction.tables.revisions) WHERE id >= ? ORDER BY id LIMIT 1"
    return try StatementRow.first(of: transaction.statement(select), [id]) { row in
      let found: Int64 = try row.column(0)
      // The rows on a damaged page may be out of order. Without this check, the iteration could go back and never end.
      guard found >= id else { throw StoreError(.damaged, "the revisions are not stored in ascending order") }
      do { return (found, .row(try StoredRow(row))) } catch {
        // The key and the number of a damaged row only help to describe the loss, so a column that cannot be read is ignored.
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

  /// Finds the next identifier at which the table can be read again. Returns the range before it as a loss. Tries the identifiers one
  /// by one up to the highest identifier that is known to have been assigned. Because of the damage, this known identifier may be too
  /// low, so the search then continues with steps that double each time.
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

  /// Returns the highest revision identifier according to the store's last sequence and the table of keys, if they can be read.
  private func highestGiven(_ first: Int64) throws -> Int64 {
    // Both sources may be damaged and too low. The result is therefore at least 1000 higher than `first`, because one damaged
    // page contains fewer than 1000 revisions.
    let last = try transaction.intact { try transaction.store.lastSequence(in: transaction.db) }
    let head = try transaction.intact {
      try Int64.fetchOne(transaction.db, sql: "SELECT max(head) FROM \(transaction.tables.keys)")
    }
    return max(last ?? 0, head ?? 0, first.addingReportingOverflow(1000).partialValue)
  }

  /// Returns the last identifier at which the table cannot be read, by a binary search between an unreadable and a readable
  /// identifier.
  private func lastUnreadable(_ unreadable: Int64, _ readable: Int64) throws -> Int64 {
    var (low, high) = (unreadable, readable)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if try canRead(from: middle) { high = middle } else { low = middle }
    }
    return low
  }
}

/// Describes the loss of one damaged row, or of a range of identifiers in which no revision can be read.
struct RevisionLoss {
  /// `revision` for the loss of one damaged row, or `file` for the loss of a range of identifiers.
  var kind: StoreFinding.Kind
  /// The identifier of the damaged row, or the first identifier of the range.
  var id: Int64
  /// The key identifier and the revision number in a damaged row, as far as they can be read. They may be wrong because of the
  /// damage.
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
  /// Describes the loss of all revisions in a range of identifiers that begins with `first`.
  ///
  /// - Parameter last: the last identifier of the range, or `nil` if nothing after `first` can be read.
  fileprivate init(from first: Int64, to last: Int64?, _ error: any Error) {
    let cause = StoreFinding.problem(error)
    self.init(
      kind: .file, id: first,
      problem: last.map { "the revisions from sequence \(first) to \($0) cannot be read: \(cause)" }
        ?? "all revisions from sequence \(first) onward cannot be read: \(cause)")
  }
}
