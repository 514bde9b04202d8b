internal import Foundation
internal import GRDB
internal import StrataCore

/// How thoroughly a store is checked.
public enum StoreCheckLevel: Sendable, Hashable {
  /// Checks the pages of the file (`PRAGMA quick_check`), all references between rows, all definitions, and the stored revision
  /// counts that `status()` reports.
  case quick
  /// Performs the `quick` checks and also compares the contents of some revisions with their checksums. These revisions are chosen at
  /// random, and `percent` is their percentage of all revisions.
  case share(percent: Double)
  /// Checks the pages and indexes of the file (`PRAGMA integrity_check`), all references, definitions and counts, and all content
  /// that revisions share. Also decodes every revision to an `ArchiveValue`.
  case full
}

/// The result of checking a store for damage.
public struct StoreCheckReport: Sendable {
  /// How thoroughly the store was checked.
  public let level: StoreCheckLevel
  /// The problems that were found, up to the first 10,000.
  public let findings: [StoreFinding]
  /// The number of problems beyond the first 10,000, which are not in ``findings``.
  public let omittedFindings: Int
  /// The number of revisions whose contents were read.
  public let checkedRevisions: Int

  /// Whether the check found no problems.
  public var isClean: Bool { findings.isEmpty }
}

extension StoreCheckReport: CustomStringConvertible {
  /// One line with the number of revisions read and the number of problems found.
  public var description: String {
    let found = findings.count + omittedFindings
    let read = "\(checkedRevisions.counting("revision")) read"
    return found == 0 ? "\(read), no problems found" : "\(read), \(found.counting("problem")) found"
  }
}

extension SnapshotStore {
  /// Checks the store for damage, without changing it. Other tasks and processes can save during the check, but the check does
  /// not see their saves.
  ///
  ///     let report = try await store.check(.full)
  ///     for finding in report.findings { print(finding) }  // the place, the problem and the remedy
  ///
  /// Damage is reported in the findings and not thrown as an error.
  ///
  /// - Throws: ``StoreError`` with the code `busy`, `newerStore`, `fileSystem`, or `invalid` for a share outside 0 to 100
  ///   percent. Throws `CancellationError` if the task is cancelled.
  /// - Complexity: linear in the size of the file, for every level. Only one revision is in memory at a time.
  public func check(_ level: StoreCheckLevel = .quick) async throws -> StoreCheckReport {
    try await StoreWork.run { work in try StoreChecker.check(self, level, work) }
  }

  /// The synchronous variant of ``check(_:)-(StoreCheckLevel)``.
  public func check(_ level: StoreCheckLevel = .quick) throws -> StoreCheckReport {
    try StoreWork.runNow { try StoreChecker.check(self, level, $0) }
  }
}

/// Checks a store in one read transaction and collects the findings.
final class StoreChecker {
  private let transaction: StoreTransaction
  private let work: StoreWork
  private var findings = StoreFindings()
  private var checked = 0
  private var names = KeyNames()
  private var tables: StoreTables { transaction.tables }

  private init(_ transaction: StoreTransaction, _ work: StoreWork) {
    self.transaction = transaction
    self.work = work
  }

  static func check(_ store: SnapshotStore, _ level: StoreCheckLevel, _ work: StoreWork) throws -> StoreCheckReport {
    if case .share(let percent) = level, !(0...100).contains(percent) {
      throw StoreError(.invalid, "the percentage of revisions to check must be between 0 and 100")
    }
    return try store.readDamaged { db in
      try store.read(db) { transaction in
        let checker = StoreChecker(transaction, work)
        try checker.run(level)
        return StoreCheckReport(
          level: level, findings: checker.findings.all, omittedFindings: checker.findings.omitted,
          checkedRevisions: checker.checked)
      }
    }
  }

  private func run(_ level: StoreCheckLevel) throws {
    try checkPages(level == .full ? "integrity_check" : "quick_check")
    try checkReferences()
    try checkHeads()
    try checkCounts()
    try checkDefinitions()
    switch level {
    case .quick: break
    case .share(let percent): try checkRevisions(share: percent / 100, decoding: false)
    case .full:
      try checkRevisions(share: 1, decoding: true)
      try checkContents()
    }
  }

  /// Runs one part of the check. If damage prevents the part from being completed, adds a finding to the report.
  private func part(_ name: String, _ body: () throws -> Void) throws {
    try work.check()
    try reporting(.file, "\(name) could not be checked: ", body)
  }

  /// Runs `body`. If `body` fails because of damage, adds a finding to the report instead of throwing the error.
  private func reporting(_ kind: StoreFinding.Kind, _ what: String, _ body: () throws -> Void) throws {
    do { try body() } catch  where StoreError.isDamage(error, transaction.db) {
      findings.add(StoreFinding(kind, what + StoreFinding.problem(error)))
    }
  }

  /// Runs one part of the check, which calls `body` for each row that a query returns.
  private func part(_ name: String, _ sql: String, _ body: (StatementRow) throws -> Void) throws {
    try part(name) { try StatementRow.fetchCursor(transaction.db, sql: sql).forEach(body) }
  }

  private func checkPages(_ pragma: String) throws {
    try part("the pages of the file") {
      // In a database that also has tables of the app, only the store's tables are checked.
      for name in tables.prefix.isEmpty ? [""] : tables.all.map({ "(\($0))" }) {
        for line in try transaction.db.pageProblems(pragma + name) {
          findings.add(
            StoreFinding(
              .file, line.hasPrefix("NULL value") || line.contains("missing from index") ? "an index is damaged" : line)
          )
        }
      }
    }
  }

  private func checkReferences() throws {
    for table in tables.all {
      try part("the references in the table \(table)", "PRAGMA foreign_key_check(\(table))") { row in
        let id: Int64? = try row.nullable(1), parent: String = try row.column(2)
        findings.add(
          StoreFinding(
            .reference, sequence: table == tables.revisions ? id : nil,
            "a row of the table \(table) refers to a missing row of the table \(parent)"))
      }
    }
  }

  private func checkHeads() throws {
    try part(
      "the last revisions of the keys",
      """
      SELECT k.name FROM \(tables.keys) k LEFT JOIN \(tables.revisions) r ON r.id = k.head
      WHERE r.id IS NULL OR r.key <> k.id
      OR r.seq <> (SELECT seq FROM \(tables.revisions) WHERE key = k.id ORDER BY seq DESC LIMIT 1)
      """
    ) { findings.add(StoreFinding(.reference, key: try $0.column(0), "the key does not refer to its last revision")) }
    try part("the names of the keys") {
      var last: Data?
      repeat {
        try work.check()
        let keys = try transaction.keys(prefix: "", after: last, limit: 512)
        for key in keys {
          do { try key.check() } catch {
            findings.add(StoreFinding(.reference, key: key.name, StoreFinding.problem(error)))
          }
        }
        last = keys.last?.bytes
      } while last != nil
    }
    let advice = "remove the label, or set it again"
    try part("the checksums of the labels", "SELECT key, name, revision, crc FROM \(tables.labels) NOT INDEXED") {
      row in
      let key: Int64 = try row.column(0), name: String = try row.column(1), revision: Int64 = try row.column(2)
      do { try StoredKey.check(label: name, key: key, revision: revision, row.column(3)) } catch {
        findings.add(
          StoreFinding(
            .label, key: try names.name(key, transaction).name, StoreFinding.problem(error), advice: advice))
      }
    }
    try part(
      "the labels",
      """
      SELECT k.name, l.name FROM \(tables.labels) l JOIN \(tables.keys) k ON k.id = l.key
      LEFT JOIN \(tables.revisions) r ON r.id = l.revision WHERE r.id IS NULL OR r.key <> l.key
      """
    ) { row in
      let name: String = try row.column(1)
      findings.add(
        StoreFinding(
          .label, key: try row.column(0), "the label “\(name)” does not refer to a revision of the key", advice: advice)
      )
    }
  }

  private func checkCounts() throws {
    try part(
      "the recorded revision counts",
      """
      WITH found AS (
        SELECT definition, count(*) AS revisions FROM \(tables.revisions) WHERE definition IS NOT NULL GROUP BY 1),
      last AS (
        SELECT r.definition AS definition, count(*) AS heads
        FROM \(tables.keys) k CROSS JOIN \(tables.revisions) r ON r.id = k.head
        WHERE r.definition IS NOT NULL GROUP BY 1)
      SELECT d.type, coalesce(f.revisions, 0), coalesce(c.revisions, 0), coalesce(l.heads, 0), coalesce(c.heads, 0) FROM \(tables.definitions) d
      LEFT JOIN found f ON f.definition = d.id LEFT JOIN last l ON l.definition = d.id
      LEFT JOIN \(tables.counts) c ON c.definition = d.id
      WHERE coalesce(f.revisions, 0) <> coalesce(c.revisions, 0) OR coalesce(l.heads, 0) <> coalesce(c.heads, 0)
      """
    ) { row in
      let type: String = try row.column(0), found: Int = try row.column(1), counted: Int = try row.column(2)
      let heads: Int = try row.column(3), countedHeads: Int = try row.column(4)
      findings.add(
        StoreFinding(
          .count,
          "the recorded counts for the type \(type) are wrong: \(counted) revisions are recorded and \(found) exist; "
            + "\(countedHeads) last revisions of keys are recorded and \(heads) exist",
          advice: "no values are affected; salvage the store to correct the counts"))
    }
  }

  private func checkDefinitions() throws {
    try part("the definitions") {
      for id in try Int64.fetchAll(transaction.db, sql: "SELECT id FROM \(tables.definitions)") {
        try reporting(.definition, "the definition with the id \(id) cannot be read: ") {
          _ = try transaction.readDefinition(id)
        }
      }
    }
  }

  private func checkRevisions(share: Double, decoding: Bool) throws {
    var walk = RevisionWalk(transaction, work)
    while let step = try walk.next() {
      switch step {
      case .row(let row):
        guard share >= 1 || Double.random(in: 0..<1) < share else { continue }
        checked += 1
        do {
          guard let content = try transaction.content(of: row), decoding else { continue }
          _ = try content.value(transaction.store.options)
        } catch  where StoreError.isDamage(error, transaction.db) {
          findings.add(.ofRevision(row, key: try names.name(row.key, transaction).name, error))
        }
      case .lost(let loss):
        if loss.kind == .revision { checked += 1 }
        findings.add(try loss.finding(&names, transaction))
      }
    }
  }

  private func checkContents() throws {
    try part(
      "the shared content",
      """
      SELECT id, hash, EXISTS (SELECT 1 FROM \(tables.revisions) WHERE blob = b.id)
        OR EXISTS (SELECT 1 FROM \(tables.pieces) WHERE blob = b.id) FROM \(tables.blobs) b
      """
    ) { row in
      try work.check()
      let id: Int64 = try row.column(0), isUsed: Bool = try row.column(2)
      try reporting(.content, "the shared content with the id \(id) cannot be read: ") {
        let hash: Data = try row.column(1)
        guard try SHA256.digest(of: transaction.blob(id).bytes) == [UInt8](hash) else {
          throw StoreError(.damaged, "the content does not match its digest")
        }
        guard !isUsed else { return }
        findings.add(
          StoreFinding(
            .content, "the content with the id \(id) does not belong to any revision",
            advice: "no values are affected; salvage the store to remove the content"))
      }
    }
  }
}
