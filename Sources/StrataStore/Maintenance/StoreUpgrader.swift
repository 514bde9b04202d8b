internal import Dispatch
internal import Foundation
internal import GRDB
internal import StrataCore

/// Upgrades the old revisions of a store in the order of their keys and numbers. Each revision is rewritten together with the
/// revisions that are stored as its deltas, so that all revisions can be read after each transaction.
struct StoreUpgrader {
  /// `rows` is the maximum number of revisions in a batch. A batch also ends as soon as the contents of its revisions reach a
  /// total size of `bytes`.
  private static let rows = 512, bytes = 8 << 20

  private let store: SnapshotStore
  private let types: UpgradeTypes

  init(_ store: SnapshotStore, _ types: [any (Archivable & SendableMetatype).Type]) {
    self.store = store
    self.types = UpgradeTypes(types, store.options)
  }

  // MARK: Plan

  func plan() throws -> StoreUpgradePlan { try store.read { try plan($0) } }

  private func plan(_ transaction: StoreTransaction) throws -> StoreUpgradePlan {
    var plan = StoreUpgradePlan()
    let tables = transaction.tables
    for (id, count) in try counts(transaction) {
      let content = try transaction.definition(id).content
      let state = types.state(of: content)
      let place = plan.parts.firstIndex {
        $0.typeName == content.typeName && $0.modelVersion == content.modelVersion && $0.state == state
      }
      if let place {
        plan.parts[place].revisions += count
      } else {
        plan.parts.append(
          StoreUpgradePlan.Part(
            typeName: content.typeName, modelVersion: content.modelVersion, state: state, revisions: count))
      }
    }
    let failed = try Int64.fetchAll(
      transaction.db,
      sql: """
        SELECT r.definition FROM \(tables.failures) f CROSS JOIN \(tables.revisions) r ON r.id = f.revision
        WHERE r.definition IS NOT NULL
        """)
    let old = try old(transaction)
    plan.failed = failed.count { old.contains($0) }
    return plan
  }

  /// Returns the identifiers of the definitions whose revisions an upgrade would rewrite.
  private func old(_ transaction: StoreTransaction) throws -> Set<Int64> {
    Set(
      try counts(transaction).map(\.definition).filter {
        types.state(of: try transaction.definition($0).content) == .old
      })
  }

  /// Returns the number of revisions of each definition.
  private func counts(_ transaction: StoreTransaction) throws -> [(definition: Int64, revisions: Int)] {
    let counts = transaction.tables.counts
    try transaction.tables.checkCounts(in: transaction.db)
    return try StatementRow.all(
      of: transaction.statement("SELECT definition, revisions FROM \(counts) WHERE revisions > 0 ORDER BY definition")
    ) { (try $0.column(0), try $0.column(1)) }
  }

  // MARK: Upgrade

  /// A revision to upgrade.
  private struct Old: Sendable {
    let id: Int64, key: Int64, seq: Int64, definition: Int64
    let name: String
    /// The content of the revision, or the error that occurred while reading the content.
    let read: Result<StoredContent, any Error>
  }

  private typealias Upgraded = Result<(content: StoredContent, row: EncodedRow), any Error>

  func run(
    _ work: StoreWork, retryFailed: Bool, _ progress: ((StoreUpgradeReport) -> Void)?
  ) throws -> StoreUpgradeReport {
    try store.checkCanWrite()
    var report = StoreUpgradeReport()
    let plan = try plan()
    report.total = plan.pending + (retryFailed ? plan.failed : 0)
    var last: (key: Int64, seq: Int64) = (0, 0)
    while report.total > 0 {
      try work.check()
      let after = last
      // Looks up the old definitions again for each batch, because other tasks or processes may have saved in the meantime.
      let (batch, shapes) = try store.read { (try self.batch(after: after, retryFailed, $0), try self.shapes($0)) }
      guard let final = batch.last else { break }
      let upgraded = self.upgraded(batch, shapes)
      try work.check()
      let before = report
      report = try store.write { transaction in
        var report = before
        for (old, result) in zip(batch, upgraded) { try write(old, result, &report, transaction) }
        return report
      }
      last = (final.key, final.seq)
      progress?(report)
    }
    return report
  }

  private func batch(
    after last: (key: Int64, seq: Int64), _ retryFailed: Bool, _ transaction: StoreTransaction
  ) throws -> [Old] {
    let old = try old(transaction), tables = transaction.tables
    guard !old.isEmpty else { return [] }
    let list = old.sorted().map { String($0) }.joined(separator: ",")
    let failed = retryFailed ? "" : "AND r.id NOT IN (SELECT revision FROM \(tables.failures))"
    let found = try StatementRow.all(
      of: transaction.statement(
        """
        SELECT r.id, r.key, r.seq, r.definition, (SELECT name FROM \(tables.keys) WHERE id = r.key)
        FROM \(tables.revisions) r
        WHERE (r.key, r.seq) > (?, ?) AND r.definition IN (\(list)) \(failed) ORDER BY r.key, r.seq LIMIT \(Self.rows)
        """), [last.key, last.seq]
    ) { row in
      (
        id: try row.column(0) as Int64, key: try row.column(1) as Int64, seq: try row.column(2) as Int64,
        definition: try row.column(3) as Int64, name: try row.nullable(4) ?? ""
      )
    }
    var batch: [Old] = []
    var bytes = 0
    for (id, key, seq, definition, name) in found where bytes < Self.bytes {
      let read = try transaction.result {
        guard let row = try transaction.revision(id), var content = try transaction.content(of: row) else {
          throw transaction.missingRow(seq)
        }
        bytes += content.bytes.count + content.contents.size
        content.key = name
        return content
      }
      batch.append(Old(id: id, key: key, seq: seq, definition: definition, name: name, read: read))
    }
    return batch
  }

  /// Returns a function that looks up the record shapes for a stamp (type and version). The shapes come from the newest definition
  /// with this stamp that contains only current model versions.
  private func shapes(_ transaction: StoreTransaction) throws -> @Sendable (Stamp) -> [RecordShape] {
    var known: [DefinitionCache.StampKey: [RecordShape]] = [:]
    for id in try Int64.fetchAll(transaction.db, sql: "SELECT id FROM \(store.tables.definitions) ORDER BY id") {
      let content = try transaction.definition(id).content
      if types.state(of: content) == .current { known[DefinitionCache.StampKey(content)] = content.shapes }
    }
    return { [known] in known[DefinitionCache.StampKey($0)] ?? [] }
  }

  /// Decodes the revisions of a batch and encodes them in the current model versions, on all cores.
  private func upgraded(_ batch: [Old], _ shapes: @escaping @Sendable (Stamp) -> [RecordShape]) -> [Upgraded] {
    let found = Mutex<[Int: Upgraded]>([:])
    let types = types
    DispatchQueue.concurrentPerform(iterations: batch.count) { place in
      let result = Upgraded {
        let content = try batch[place].read.get()
        return (content, try types.upgraded(content, shapes: shapes))
      }
      found.withLock { $0[place] = result }
    }
    let results = found.withLock { $0 }
    return batch.indices.compactMap { results[$0] }
  }

  private func write(
    _ old: Old, _ upgraded: Upgraded, _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction
  ) throws {
    // Skips a revision that was pruned or upgraded in the meantime. A revision that a prune has only rewritten still has the same
    // definition, so it is not skipped.
    let current = try Int64.fetchOne(
      transaction.statement("SELECT definition FROM \(transaction.tables.revisions) WHERE id = ?"), arguments: [old.id])
    guard current == old.definition else { return }
    let content: StoredContent, encoded: EncodedRow
    do { (content, encoded) = try upgraded.get() } catch { return try setAside(old, error, &report, transaction) }
    guard var row = try transaction.revision(old.id) else { throw transaction.missingRow(old.seq) }
    let definition = try transaction.definition(
      with: Definition.Content(of: encoded, countsElements: encoded.stamp.hasCollectionName))
    let isChanged = definition.id != row.definition || encoded.bytes != content.bytes
    let deltas = try isChanged ? transaction.deltas(of: row.id) : []
    let before = row
    var base: [UInt8] = []
    transaction.inflations = 0
    do {
      if !deltas.isEmpty { base = try transaction.plainBytes(of: row) }
      // Reads all deltas before changing anything, to make sure that they are undamaged. They are read again when they are
      // rewritten, so that only one delta is in memory at a time.
      for id in deltas { _ = try transaction.delta(id, of: before, base) }
    } catch  where StoreError.isDamage(error, transaction.db) {
      let reason = "a later revision, which is stored as the difference from this revision, cannot be read"
      return try setAside(old, StoreError(.damaged, reason), &report, transaction)
    }
    try transaction.execute("DELETE FROM \(transaction.tables.failures) WHERE revision = ?", [row.id])
    guard isChanged else { return report.unchanged += 1 }
    // Reading this revision or one of its deltas must not require more inflations (DEFLATE decompressions) than before. Deltas of
    // those deltas are not rewritten, so they could otherwise exceed the limit on inflations.
    let inflations = transaction.inflations
    let unused = Set(try transaction.removePieces(of: row.id) + (row.blob.map { [$0] } ?? []))
    try transaction.addPieces(encoded.parts.contents, to: row.id)
    let head = try Int64.fetchOne(
      transaction.statement("SELECT head FROM \(transaction.tables.keys) WHERE id = ?"), arguments: [row.key])
    let heads = row.id == head ? 1 : 0
    transaction.count(row.definition, revisions: -1, heads: -heads)
    transaction.count(definition.id, revisions: 1, heads: heads)
    row.definition = definition.id
    let bytes = Array(encoded.bytes[definition.prefix.count...])
    row = try transaction.storing(
      bytes, in: row, from: before.form == .delta ? before.base.flatMap { try transaction.revision($0) } : nil,
      inflations: deltas.isEmpty ? .max : inflations)
    try transaction.update(row)
    for id in deltas {
      let delta = try transaction.delta(id, of: before, base)
      try transaction.update(
        transaction.storing(
          delta.bytes, in: delta.row, from: row, inflations: inflations + (delta.row.isDeflated ? 1 : 0)))
    }
    for blob in unused.sorted() { try transaction.removeUnused(blob) }
    report.upgraded += 1
  }

  /// Records that a revision could not be upgraded, so that later upgrades skip the revision.
  private func setAside(
    _ old: Old, _ error: any Error, _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction
  ) throws {
    report.findings.add(
      StoreFinding(
        .revision, key: old.name, revision: Int(old.seq), sequence: old.id, StoreFinding.problem(error),
        advice: StoreFinding.advice(error)))
    let code = (StoreError.ofDatabase(error) as? StoreError)?.code.rawValue ?? "unknown"
    do {
      try transaction.execute(
        """
        INSERT OR REPLACE INTO \(transaction.tables.failures) (revision, time, code, error)
        SELECT id, ?, ?, ? FROM \(transaction.tables.revisions) WHERE id = ?
        """, [store.options.clock().milliseconds, code, StoreFinding.problem(error), old.id])
    } catch  where StoreError.isDamage(error, transaction.db) {
      // The failure cannot be recorded because of damage, so the next upgrade will retry and report the revision again.
    }
  }
}
