internal import GRDB
internal import StrataCore

/// Upgrades keys whose histories are too long to be held in memory, in several transactions. The last revision comes first, so that
/// deltas of a revision are upgraded before it. Each revision is rewritten with its direct deltas, of which there are few, so that
/// every revision can be read after each transaction.
extension StoreUpgrader {
  /// Upgrades one key. A revision that cannot be read is set aside, and so is its base: once the base is rewritten, the revision
  /// could not be read even after a repair.
  func upgradeLong(
    _ key: (id: Int64, name: String), _ old: Set<Int64>, retryFailed: Bool,
    _ shapes: @escaping @Sendable (Stamp) -> [RecordShape], _ report: inout StoreUpgradeReport, _ work: StoreWork,
    _ progress: ((StoreUpgradeReport) -> Void)?
  ) throws {
    var last = Int64.max
    while true {
      try work.check()
      let before = last
      var part = [
        try core.read { try self.part(of: key, before: before, old, retryFailed, $0) }
      ]
      guard let first = [part[0].rows.last?.seq, part[0].unread.last?.seq].compactMap({ $0 }).min() else { return }
      decode(&part, old, shapes)
      try work.check()
      let read = part[0]
      report = try core.save { transaction in
        var report = report
        for (id, seq, error) in read.unread {
          report.add(
            StoreFinding(
              .revision, key: key.name, revision: Int(seq), sequence: id, StoreFinding.problem(error),
              advice: StoreFinding.salvage))
          try setAside("id = ?", id, error, transaction)
        }
        for row in read.rows { try rewrite(row, read, shapes, &report, transaction) }
        return report
      }
      last = first
      progress?(report)
    }
  }

  /// The next old revisions of a key, in descending order.
  private func part(
    of key: (id: Int64, name: String), before seq: Int64, _ old: Set<Int64>, _ retryFailed: Bool,
    _ transaction: StoreTransaction
  ) throws -> KeyRows {
    let tables = transaction.tables
    let failed = retryFailed ? "" : "AND id NOT IN (SELECT revision FROM \(tables.failures))"
    let rows = try StatementRow.all(
      of: transaction.statement(
        """
        SELECT id, seq FROM \(tables.revisions) WHERE key = ? AND seq < ? AND definition IN (\(Self.list(old))) \(failed)
        ORDER BY seq DESC LIMIT \(Self.rows)
        """), [key.id, seq]
    ) { (id: try $0.column(0) as Int64, seq: try $0.column(1) as Int64) }
    var part = KeyRows(name: key.name, id: key.id, rows: [])
    var bytes = 0
    for (id, seq) in rows where bytes < Self.bytes {
      let row: StoredRow
      do {
        guard let found = try transaction.revision(id) else { throw transaction.missingRow(nil) }
        row = found
      } catch  where StoreError.isDamage(error, transaction.db) {
        part.unread.append((id, seq, error))
        continue
      }
      let content = try transaction.result { try transaction.content(of: row) }
      if case .success(let content?) = content { bytes += content.bytes.count + content.contents.size }
      part.rows.append(row)
      part.contents[id] = content
    }
    return part
  }

  private func rewrite(
    _ read: StoredRow, _ part: KeyRows, _ shapes: @escaping @Sendable (Stamp) -> [RecordShape],
    _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction
  ) throws {
    // Skips a revision that was pruned meanwhile, or upgraded by another process. Storing a revision anew keeps its content.
    guard let row = try transaction.revision(read.id), row.definition == read.definition else { return }
    guard case .success(let encoded)? = part.upgraded[row.id], case .success(let content?)? = part.contents[row.id]
    else {
      return try note(part.only(row), &report, transaction)
    }
    let definition = try transaction.definition(with: Self.definition(of: encoded))
    guard definition.id != row.definition || encoded.bytes != content.bytes else {
      report.unchanged += 1
      return try note(part.only(row), &report, transaction)
    }
    // All is read before anything is changed.
    let dependants: [(row: StoredRow, bytes: [UInt8])]
    do {
      dependants = try Int64.fetchAll(
        transaction.statement("SELECT id FROM \(transaction.tables.revisions) WHERE base = ?"), arguments: [row.id]
      ).map { id in
        guard let dependant = try transaction.revision(id) else { throw transaction.missingRow(nil) }
        return (row: dependant, bytes: try transaction.plainBytes(of: dependant))
      }
    } catch  where StoreError.isDamage(error, transaction.db) {
      let reason = StoreError(
        .damaged, "a later revision, which is stored as what differs from this one, cannot be read")
      var part = part.only(row)
      part.upgraded[row.id] = .failure(reason)
      return try note(part, &report, transaction)
    }
    try note(part.only(row), &report, transaction)
    let base = try row.form == .delta ? row.base.flatMap { try transaction.revision($0) } : nil
    let baseBytes = try base.map { try transaction.plainBytes(of: $0) }

    var unused = Set(try transaction.removePieces(of: row.id))
    try transaction.addPieces(encoded.parts.contents, to: row.id)
    let head = try Int64.fetchOne(
      transaction.statement("SELECT id FROM \(transaction.tables.revisions) WHERE key = ? ORDER BY seq DESC LIMIT 1"),
      arguments: [row.key])
    transaction.count(row.definition, revisions: -1, heads: row.id == head ? -1 : 0)
    transaction.count(definition.id, revisions: 1, heads: row.id == head ? 1 : 0)
    var changed = row
    changed.definition = definition.id
    let bytes = Array(encoded.bytes[definition.prefix.count...])
    try transaction.update(transaction.storing(bytes, in: changed, asDeltaOf: base?.id, baseBytes))
    if let blob = row.blob { unused.insert(blob) }
    for dependant in dependants {
      try transaction.update(transaction.storing(dependant.bytes, in: dependant.row, asDeltaOf: row.id, bytes))
    }
    for blob in unused.sorted() { try transaction.removeUnused(blob) }
    report.upgraded += 1
  }
}

extension StoreTransaction {
  /// Stores the content of a revision as a delta if that saves space. The delta is deflated only if it was before: the
  /// inflations of the revisions before it are not known yet, and no revision may take more inflations than before.
  fileprivate func storing(_ bytes: [UInt8], in row: StoredRow, asDeltaOf base: Int64?, _ baseBytes: [UInt8]?) throws
    -> StoredRow
  {
    if let base, let baseBytes, let delta = try RowDelta.make(bytes, from: baseBytes, deflates: row.isDeflated),
      bytes.count > 512 || delta.count + 16 < bytes.count
    {
      var row = row
      (row.form, row.content, row.base, row.blob) = (.delta, delta, base, nil)
      return row
    }
    return try storing(bytes, in: row)
  }
}
