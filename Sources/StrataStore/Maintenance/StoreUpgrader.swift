internal import Dispatch
internal import Foundation
internal import GRDB
internal import StrataCore

/// Upgrades the old revisions of a store, key by key.
struct StoreUpgrader {
  /// The numbers of rows and bytes after which a batch of keys is written. The last key may exceed them.
  static let rows = 512, bytes = 8 << 20

  let core: StoreCore
  private let types: UpgradeTypes

  init(_ core: StoreCore, _ types: [any (Archivable & SendableMetatype).Type]) {
    self.core = core
    self.types = UpgradeTypes(types, core.options)
  }

  // MARK: Plan

  func plan() throws -> StoreUpgradePlan { try core.read { try plan($0) } }

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

  /// The definitions that an upgrade would change.
  private func old(_ transaction: StoreTransaction) throws -> Set<Int64> {
    Set(
      try counts(transaction).map(\.definition).filter {
        types.state(of: try transaction.definition($0).content) == .old
      })
  }

  /// How many revisions there are of each definition.
  private func counts(_ transaction: StoreTransaction) throws -> [(definition: Int64, revisions: Int)] {
    let counts = transaction.tables.counts
    try transaction.tables.checkCounts(in: transaction.db)
    return try StatementRow.all(
      of: transaction.statement("SELECT definition, revisions FROM \(counts) WHERE revisions > 0 ORDER BY definition")
    ) { (try $0.column(0), try $0.column(1)) }
  }

  // MARK: Upgrade

  /// A key as it was read.
  struct KeyRows {
    var name: String
    var id: Int64
    var rows: [StoredRow]
    /// Whether the history is too long to be held in memory. Its rows are then not read.
    var isLong = false
    /// The error that prevented reading the rows.
    var failure: (any Error)?
    /// The contents of the rows: `nil` for a deletion, an error if unreadable.
    var contents: [Int64: Result<StoredContent?, any Error>] = [:]
    var upgraded: [Int64: Result<EncodedRow, any Error>] = [:]

    /// The same key with one of its rows.
    func only(_ row: StoredRow) -> KeyRows {
      KeyRows(name: name, id: id, rows: [row], contents: contents, upgraded: upgraded)
    }

    /// The rows that could not be read, with their errors. Used only for parts of long histories.
    var unread: [(id: Int64, seq: Int64, error: any Error)] = []
  }

  /// The numbers as a SQL list.
  static func list(_ numbers: Set<Int64>) -> String { numbers.sorted().map { String($0) }.joined(separator: ",") }

  func run(
    _ work: StoreWork, retryFailed: Bool, _ progress: ((StoreUpgradeReport) -> Void)?
  ) throws -> StoreUpgradeReport {
    try core.checkCanWrite()
    var report = StoreUpgradeReport()
    let plan = try plan()
    report.total = plan.pending + (retryFailed ? plan.failed : 0)
    guard report.total > 0 else { return report }
    // An interrupted upgrade is resumed only if it had the same types and the same `retryFailed`.
    let mark = types.mark + (retryFailed ? "+failed" : "")
    var cursor: Int64 = try core.read { try self.lastKey($0.db, mark) }
    while true {
      try work.check()
      // The old definitions are looked up for each batch, because others save meanwhile.
      let after = cursor
      let found: (keys: [KeyRows], old: Set<Int64>) = try core.read { transaction in
        let old = try self.old(transaction)
        return (try batch(after: after, old, retryFailed, transaction), old)
      }
      var keys = found.keys
      let old = found.old
      guard let last = keys.last?.id else { break }
      let shapes = try shapes()
      if keys[0].isLong {
        let key = (keys[0].id, keys[0].name)
        try upgradeLong(key, old, retryFailed: retryFailed, shapes, &report, work, progress)
        try core.save { try note("\(mark) \(last)", $0) }
        cursor = last
        continue
      }
      decode(&keys, old, shapes)
      try work.check()
      let before = report
      do {
        try core.save { transaction in
          for key in keys { try write(key, old, shapes, &report, transaction) }
          try note("\(mark) \(last)", transaction)
        }
      } catch {
        report = before
        throw error
      }
      cursor = last
      progress?(report)
    }
    try core.save { try $0.execute("DELETE FROM \(core.tables.meta) WHERE name = 'upgrade'", []) }
    return report
  }

  private func note(_ cursor: String, _ transaction: StoreTransaction) throws {
    try transaction.execute(
      "INSERT OR REPLACE INTO \(core.tables.meta) (name, value) VALUES ('upgrade', ?)", [cursor])
  }

  /// The number of the last key processed by an interrupted upgrade with the same mark; 0 if there is none.
  private func lastKey(_ db: Database, _ mark: String) throws -> Int64 {
    let text = try String.fetchOne(db, sql: "SELECT value FROM \(core.tables.meta) WHERE name = 'upgrade'")
    let parts = (text ?? "").split(separator: " ")
    guard parts.count == 2, parts[0] == mark else { return 0 }
    return Int64(parts[1]) ?? 0
  }

  private func batch(
    after cursor: Int64, _ old: Set<Int64>, _ retryFailed: Bool, _ transaction: StoreTransaction
  ) throws -> [KeyRows] {
    guard !old.isEmpty else { return [] }
    let tables = transaction.tables
    let list = Self.list(old)
    let failed = retryFailed ? "" : "AND r.id NOT IN (SELECT revision FROM \(tables.failures))"
    let ids = try Int64.fetchCursor(
      transaction.db,
      sql: """
        SELECT DISTINCT r.key FROM \(tables.revisions) r
        WHERE r.key > ? AND r.definition IN (\(list)) \(failed) ORDER BY r.key
        """, arguments: [cursor])
    var keys: [KeyRows] = []
    var rows = 0, bytes = 0
    while rows < Self.rows, bytes < Self.bytes, let id = try ids.next() {
      let name = try String.fetchOne(
        transaction.statement("SELECT name FROM \(tables.keys) WHERE id = ?"), arguments: [id])
      let count = try Int.fetchOne(
        transaction.statement("SELECT count(*) FROM \(tables.revisions) WHERE key = ?"), arguments: [id])
      if count ?? 0 > Self.rows {
        // A long history gets transactions of its own, so its key is alone in the batch.
        if keys.isEmpty { keys.append(KeyRows(name: name ?? "", id: id, rows: [], isLong: true)) }
        break
      }
      var key = KeyRows(name: name ?? "", id: id, rows: [])
      do { key = try read(id, key.name, transaction) } catch  where StoreError.isDamage(error, transaction.db) {
        key.failure = error
      }
      rows += max(1, key.rows.count)
      for case .success(let content?) in key.contents.values { bytes += content.bytes.count + content.contents.size }
      keys.append(key)
    }
    return keys
  }

  private func read(_ id: Int64, _ name: String, _ transaction: StoreTransaction) throws -> KeyRows {
    var key = KeyRows(name: name, id: id, rows: try transaction.revisions(ofKey: id))
    for row in key.rows { key.contents[row.id] = try transaction.result { try transaction.content(of: row) } }
    return key
  }

  /// Returns a lookup of the shapes of the newest definition by stamp. Old definitions are left out.
  private func shapes() throws -> @Sendable (Stamp) -> [RecordShape] {
    let known: [DefinitionCache.Kind: [RecordShape]] = try core.read { transaction in
      var known: [DefinitionCache.Kind: [RecordShape]] = [:]
      for id in try Int64.fetchAll(transaction.db, sql: "SELECT id FROM \(core.tables.definitions) ORDER BY id") {
        let content = try transaction.definition(id).content
        if types.state(of: content) == .current { known[DefinitionCache.Kind(content)] = content.shapes }
      }
      return known
    }
    return { known[DefinitionCache.Kind($0)] ?? [] }
  }

  /// Decodes and encodes the old rows of some keys on all cores.
  func decode(
    _ keys: inout [KeyRows], _ old: Set<Int64>, _ shapes: @escaping @Sendable (Stamp) -> [RecordShape]
  ) {
    var jobs: [(key: Int, row: Int64, content: KeyedContent)] = []
    for (place, key) in keys.enumerated() {
      for row in key.rows where row.definition.map({ old.contains($0) }) ?? false {
        switch key.contents[row.id] {
        case .success(let content?)?:
          jobs.append((place, row.id, KeyedContent(key: key.name, revision: Int(row.seq), content: content)))
        case .failure(let error)?: keys[place].upgraded[row.id] = .failure(error)
        default: break
        }
      }
    }
    let found = Mutex<[(key: Int, row: Int64, result: Result<EncodedRow, any Error>)]>([])
    let list = jobs, types = types
    DispatchQueue.concurrentPerform(iterations: list.count) { place in
      let job = list[place]
      let result = Result { try types.upgraded(job.content, shapes: shapes) }
      found.withLock { $0.append((job.key, job.row, result)) }
    }
    for entry in found.withLock({ $0 }) { keys[entry.key].upgraded[entry.row] = entry.result }
  }

  /// Writes a key. If its rows have changed since they were read, they are read and decoded again first.
  private func write(
    _ read: KeyRows, _ old: Set<Int64>, _ shapes: @escaping @Sendable (Stamp) -> [RecordShape],
    _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction
  ) throws {
    var key = read
    let now: [StoredRow]
    do {
      if let failure = key.failure { throw failure }
      now = try transaction.revisions(ofKey: key.id)
    } catch  where StoreError.isDamage(error, transaction.db) {
      // Nothing of this key was changed yet, and the other keys are not affected.
      report.add(StoreFinding(.revision, key: key.name, StoreFinding.problem(error), advice: StoreFinding.salvage))
      return try setAside("key = ? AND definition IN (\(Self.list(old)))", key.id, error, transaction)
    }
    if now.map(\.id) != key.rows.map(\.id) || now.map(\.checksum) != key.rows.map(\.checksum) {
      guard !now.isEmpty else { return }
      key = try self.read(key.id, key.name, transaction)
      var keys = [key]
      decode(&keys, old, shapes)
      key = keys[0]
    }
    try note(key, &report, transaction)
    let isChanged = key.rows.contains { row in
      guard case .success(let encoded)? = key.upgraded[row.id], case .success(let content?)? = key.contents[row.id]
      else { return false }
      return encoded.bytes != content.bytes || Self.definition(of: encoded) != content.definition.content
    }
    // A history with an unreadable revision cannot be rewritten, so its other old revisions are set aside.
    for case .failure(let error) in key.contents.values {
      let others =
        "key = ? AND definition IN (\(Self.list(old))) AND id NOT IN (SELECT revision FROM \(core.tables.failures))"
      return try setAside(others, key.id, error, transaction)
    }
    guard isChanged else {
      report.unchanged += key.upgraded.values.count { if case .success = $0 { true } else { false } }
      return
    }
    try rewrite(key, &report, transaction)
  }

  /// Records the rows that could not be upgraded, and clears earlier failures of the others.
  func note(_ key: KeyRows, _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction) throws {
    let failures = transaction.tables.failures
    for row in key.rows {
      switch key.upgraded[row.id] {
      case .failure(let error)?:
        report.add(.ofRevision(row, key: key.name, error))
        try setAside("id = ?", row.id, error, transaction)
      case .success?: try transaction.execute("DELETE FROM \(failures) WHERE revision = ?", [row.id])
      case nil: break
      }
    }
  }

  /// Records that revisions could not be upgraded.
  ///
  /// - Parameter condition: the SQL condition that selects them, with one argument.
  func setAside(_ condition: String, _ argument: Int64, _ error: any Error, _ transaction: StoreTransaction) throws {
    let tables = transaction.tables
    let code = (StoreError.ofDatabase(error) as? StoreError)?.code.rawValue ?? "unknown"
    do {
      try transaction.execute(
        """
        INSERT OR REPLACE INTO \(tables.failures) (revision, time, code, error)
        SELECT id, ?, ?, ? FROM \(tables.revisions) WHERE \(condition)
        """, [core.options.clock().milliseconds, code, StoreFinding.problem(error), argument])
    } catch  where StoreError.isDamage(error, transaction.db) {
      // Rows on a damaged page cannot be recorded. The next upgrade tries and reports them again.
    }
  }

  /// The definition that an upgraded row needs.
  static func definition(of row: EncodedRow) -> Definition.Content {
    Definition.Content(of: row, countsElements: row.stamp.hasCollectionName)
  }

  private func rewrite(_ key: KeyRows, _ report: inout StoreUpgradeReport, _ transaction: StoreTransaction) throws {
    var chain = StoreChain()
    var unused: Set<Int64> = []
    let head = key.rows.last?.id
    for old in key.rows {
      guard case .success(let content?)? = key.contents[old.id] else {
        chain.add(old)
        continue
      }
      var row = old
      var bytes = Array(content.bytes[content.definition.prefix.count...])
      if case .success(let encoded)? = key.upgraded[old.id] {
        let definition = try transaction.definition(with: Self.definition(of: encoded))
        if definition.id == old.definition, encoded.bytes == content.bytes {
          report.unchanged += 1
        } else {
          report.upgraded += 1
          unused.formUnion(try transaction.removePieces(of: old.id))
          try transaction.addPieces(encoded.parts.contents, to: old.id)
          row.definition = definition.id
          bytes = Array(encoded.bytes[definition.prefix.count...])
          transaction.count(old.definition, revisions: -1, heads: old.id == head ? -1 : 0)
          transaction.count(row.definition, revisions: 1, heads: old.id == head ? 1 : 0)
        }
      }
      row = try transaction.storing(bytes, in: row, after: chain, isHead: old.id == head)
      try transaction.update(row)
      if let blob = old.blob { unused.insert(blob) }
      chain.add(row)
    }
    for blob in unused.sorted() { try transaction.removeUnused(blob) }
  }
}
