public import Foundation
internal import GRDB
internal import StrataCore

/// The result of a salvage: how much was copied from the damaged store to a new store, and what was lost.
public struct StoreSalvageReport: Sendable {
  /// The number of revisions in the new store.
  public let revisions: Int
  /// The number of keys in the new store.
  public let keys: Int
  /// The first 10,000 losses. A loss is, for example, a revision or a label that is missing from the new store, or a revision that has
  /// a different key there.
  public let lost: [StoreFinding]
  /// The number of losses beyond the first 10,000, which are not in ``lost``.
  public let omittedLosses: Int

  /// Whether everything was copied without any loss.
  public var isComplete: Bool { lost.isEmpty }
}

extension StoreSalvageReport: CustomStringConvertible {
  /// One line with the number of recovered revisions and keys, and the number of losses.
  public var description: String {
    let lost = lost.count + omittedLosses
    let recovered = "\(revisions.counting("revision")) of \(keys.counting("key")) recovered"
    return lost == 0 ? "\(recovered), nothing lost" : "\(recovered), \(lost.counting("loss", plural: "losses"))"
  }
}

extension SnapshotStore {
  /// Copies all intact data to a new store and reports the losses.
  ///
  /// Revisions keep their key, number, sequence, time, author, note and labels. Damage does not stop the salvage. A damaged revision is
  /// lost, and so are all revisions that are stored only as differences from it. If the last revision of a key is lost or may be lost,
  /// the last remaining revision is saved again in the new store, with a number higher than any number that the key can have had. As a
  /// result, a save fails if its condition is ``SaveCondition/isStill(_:)`` with the number of a lost revision. The damaged store is
  /// not changed.
  ///
  /// - Parameter url: the file of the new store, which must not exist.
  /// - Throws: ``StoreError`` with the code `full`, `busy` or `fileSystem`, or `invalid` if the file exists. Throws
  ///   `CancellationError` if the task is cancelled. If this method throws, no new file remains.
  /// - Complexity: the cost of reading and saving all revisions. At most two revisions are in memory at a time.
  public func salvage(to url: URL) async throws -> StoreSalvageReport {
    try await StoreWork.run { try StoreSalvage.run(self, url, $0) }
  }

  /// The synchronous variant of `salvage(to:)`.
  public func salvage(to url: URL) throws -> StoreSalvageReport {
    try StoreWork.runNow { try StoreSalvage.run(self, url, $0) }
  }

  /// Salvages a store file that is too damaged to be opened. Copies the intact data to a new store, as `salvage(to:)` does.
  ///
  /// If the first page is damaged or the file was truncated, the salvage works on a temporary copy of the file, in the folder of
  /// the new store.
  ///
  /// - Throws: the same errors as `salvage(to:)`. Also throws ``StoreError`` with the code `newerStore`, `notAStore` if the file
  ///   does not exist or nothing indicates that it was a store, or `damaged` if too many pages are damaged to find any revisions.
  public static func salvage(
    _ damaged: URL, to url: URL, options: StoreOptions = StoreOptions()
  ) async throws -> StoreSalvageReport {
    try await StoreWork.run { try StoreSalvage.run(damaged, url, options, $0) }
  }

  /// The synchronous variant of `salvage(_:to:options:)`.
  public static func salvage(
    _ damaged: URL, to url: URL, options: StoreOptions = StoreOptions()
  ) throws -> StoreSalvageReport {
    try StoreWork.runNow { try StoreSalvage.run(damaged, url, options, $0) }
  }
}

/// Copies the intact revisions and labels of a store to a new store.
struct StoreSalvage {
  /// The number of revisions that are copied in one transaction.
  private static let batch = 512

  private let source: StoreTransaction
  private let target: SnapshotStore
  private let work: StoreWork
  private var lost = StoreFindings()
  private var names = KeyNames()
  private var revisions = 0
  private var highest = HighestIdentifier()

  static func run(_ damaged: URL, _ url: URL, _ options: StoreOptions, _ work: StoreWork) throws -> StoreSalvageReport {
    let damaged = URL(fileURLWithPath: try StoreOpening.resolved(damaged.path))
    guard try FileStatus(ofPath: damaged.path) != nil else {
      throw StoreError(.notAStore, "the file to salvage does not exist; check the path")
    }
    let opening = StoreOpening(options)
    let opened: (queue: any DatabaseWriter, tables: StoreTables)
    do { opened = try opening.openDamaged(damaged.path) } catch  where StoreError.isDamage(error) {
      return try inFolder(beside: url) { folder in
        let (queue, tables) = try RebuiltFile(of: damaged, in: folder).open(opening)
        return try run(
          SnapshotStore(.init(writer: queue, tables: tables, options: options, isReadOnly: true)), url, folder, work)
      }
    }
    return try run(
      SnapshotStore(.init(writer: opened.queue, tables: opened.tables, options: options, isReadOnly: true)), url, work)
  }

  static func run(_ store: SnapshotStore, _ url: URL, _ work: StoreWork) throws -> StoreSalvageReport {
    try inFolder(beside: url) { try run(store, url, $0, work) }
  }

  /// Runs `body` with a temporary folder next to the new store. Throws if the new file, or a journal with its name, already
  /// exists.
  private static func inFolder<R>(beside url: URL, _ body: (URL) throws -> R) throws -> R {
    // A journal with the name of the new file is refused, because SQLite would apply it to the new store.
    for end in ["", "-wal", "-journal"] where try FileStatus(ofPath: url.path + end) != nil { throw existing }
    return try TemporaryFiles.withFolder(beside: url, body)
  }

  private static let existing = StoreError(
    .invalid, "a file or a journal already exists at the output path; choose a different path")

  private static func run(
    _ store: SnapshotStore, _ url: URL, _ folder: URL, _ work: StoreWork
  ) throws -> StoreSalvageReport {
    var options = store.options
    options.isReadOnly = false
    let made = folder.appending(path: "store")
    let target = SnapshotStore(try StoreOpening(options).open(made.path))
    let report = try store.readDamaged { db in
      var salvage = StoreSalvage(
        source: StoreTransaction(db, store, canWrite: false, isWhole: true), target: target, work: work)
      return try salvage.run()
    }
    // The write-ahead log is written to the file explicitly. Closing the store would do this too, but would ignore errors.
    try target.writer.writeWithoutTransaction { db in try db.withStoreErrors { _ = try db.checkpoint(.truncate) } }
    try target.close()
    guard try AtomicFile.place(made, at: url, isNew: true) else { throw existing }
    return report
  }

  private init(source: StoreTransaction, target: SnapshotStore, work: StoreWork) {
    (self.source, self.target, self.work) = (source, target, work)
  }

  private mutating func run() throws -> StoreSalvageReport {
    var walk = RevisionWalk(source, work)
    var isFinished = false
    while !isFinished {
      try write { salvage, transaction in
        for _ in 0..<Self.batch {
          guard let step = try walk.next() else {
            isFinished = true
            return
          }
          try salvage.copy(step, transaction)
        }
      }
    }
    try write { salvage, transaction in
      try salvage.copyLabels(transaction)
      try salvage.listMissing(transaction)
      try salvage.setSequence(transaction)
    }
    try LostHeads(source: source).saveLastAgain(in: target, work) { revisions += $0 }
    let keys = try target.read { [target] in
      try Int.fetchOne($0.db, sql: "SELECT count(*) FROM \(target.tables.keys)") ?? 0
    }
    return StoreSalvageReport(revisions: revisions, keys: keys, lost: lost.all, omittedLosses: lost.omitted)
  }

  private mutating func write(_ body: (inout StoreSalvage, StoreTransaction) throws -> Void) throws {
    try target.write { transaction in
      try source.db.withStoreErrors(beside: transaction.db) { try body(&self, transaction) }
    }
  }

  private mutating func copy(_ step: RevisionWalk.Step, _ transaction: StoreTransaction) throws {
    switch step {
    case .row(let row): try copy(row, transaction)
    case .lost(let loss):
      lost.add(try loss.finding(&names, source, advice: Self.advice))
      // Only the identifier of a damaged row is noted, because the identifiers in an unreadable range may never have been assigned.
      if loss.kind == .revision { highest.note(loss.id) }
    }
  }

  private mutating func copy(_ row: StoredRow, _ transaction: StoreTransaction) throws {
    highest.note(row.id)
    highest.note(row.base)
    let known = try names.name(row.key, source)
    let content: StoredContent?
    do { content = try source.salvaged(row) } catch  where StoreError.isDamage(error, source.db) {
      lost.add(.ofRevision(row, key: known.name, error, advice: Self.advice))
      return
    }
    let key = try freeName(known.name, ofKey: row.key, transaction)
    guard try transaction.adopt(row, as: key, content) else {
      lost.add(
        .ofRevision(
          row, key: known.name, StoreError(.damaged, "another row has the same key and revision number"),
          advice: Self.advice))
      return
    }
    revisions += 1
    guard key != known.name || known.other != nil else { return }
    let problem =
      switch (known.name, known.other) {
      case (nil, _): "the name of the key was lost"
      case (let name?, nil): "two keys have the name “\(name)”"
      case (let name?, let other?): "the name of the key is “\(name)” in the table but “\(other)” in the index"
      }
    lost.add(
      StoreFinding(
        .revision, key: key, revision: Int(row.seq), sequence: row.id, problem,
        advice: "the new store contains the revision under this key; save the revision again under its original key"))
  }

  /// Returns the name that a key gets in the new store. The key keeps its name, unless the name was lost or is already used for a
  /// different key. In that case, the key gets a new name, so that the histories of two keys are never mixed.
  private func freeName(_ known: String?, ofKey id: Int64, _ transaction: StoreTransaction) throws -> String {
    var name = known ?? "salvaged/\(id)"
    var number = 1
    while let head = try transaction.head(of: name), head.key != id {
      name = number == 1 ? "salvaged/\(id)" : "salvaged/\(id)/\(number)"
      number += 1
    }
    return name
  }

  private static let advice = "look for the lost data in a backup; the new store contains all other intact data"

  private mutating func copyLabels(_ transaction: StoreTransaction) throws {
    var seen: Set<String> = []
    // If the ascending read stops at a damaged page, the descending read can still reach the labels after this page.
    for order in ["ASC", "DESC"] {
      do {
        let rows = try StatementRow.fetchCursor(
          source.db,
          sql: """
            SELECT key, name, revision, crc FROM \(source.tables.labels) NOT INDEXED
            ORDER BY key \(order), name \(order)
            """)
        while let row = try rows.next() {
          do {
            let key: Int64 = try row.column(0), name: String = try row.column(1), revision: Int64 = try row.column(2)
            try StoredKey.check(label: name, key: key, revision: revision, row.column(3))
            guard seen.insert("\(key) \(name)").inserted else { continue }
            try copyLabel(name, key, revision, transaction)
          } catch  where StoreError.isDamage(error, source.db) {
            lost.add(
              StoreFinding(
                .label, "a label cannot be read: " + StoreFinding.problem(error),
                advice: "set the label again if it is missing in the new store")
            )
          }
        }
        return
      } catch  where StoreError.isDamage(error, source.db) {
        guard order == "DESC" else { continue }
        lost.add(
          StoreFinding(
            .label, "some of the labels cannot be read: " + StoreFinding.problem(error),
            advice: "if labels are missing in the new store, set them again"))
      }
    }
  }

  private mutating func copyLabel(
    _ name: String, _ key: Int64, _ revision: Int64, _ transaction: StoreTransaction
  ) throws {
    highest.note(revision)
    try transaction.execute(
      """
      INSERT OR IGNORE INTO \(transaction.tables.labels) (key, name, revision, crc)
      SELECT r.key, ?1, r.id, ?4 FROM \(transaction.tables.revisions) r WHERE r.id = ?2 AND r.key = ?3
      """, [name, revision, key, StoredKey.checksum(ofLabel: name, key: key, revision: revision)])
    guard transaction.db.changesCount == 0 else { return }
    lost.add(
      StoreFinding(
        .label, key: try names.name(key, source).name, sequence: revision,
        "the revision with the label “\(name)” was lost", advice: Self.advice))
  }

  /// Reports the revisions that an index still lists but that could not be copied, because their pages are damaged.
  private mutating func listMissing(_ transaction: StoreTransaction) throws {
    let listed = Set(lost.all.compactMap { $0.kind == .revision ? $0.sequence : nil })
    do {
      let rows = try StatementRow.fetchCursor(
        source.db, sql: "SELECT key, seq, id FROM \(source.tables.revisions) ORDER BY key, seq")
      while let row = try rows.next() {
        let key: Int64 = try row.column(0), seq: Int64 = try row.column(1), id: Int64 = try row.column(2)
        highest.note(id)
        guard !listed.contains(id), try transaction.revision(id) == nil else { continue }
        lost.add(
          StoreFinding(
            .revision, key: try names.name(key, source).name, revision: Int(seq), sequence: id,
            "the row cannot be read",
            advice: Self.advice))
      }
    } catch  where StoreError.isDamage(error, source.db) {
      lost.add(
        StoreFinding(
          .file,
          "the index of the revisions cannot be read, so the list of lost revisions may be incomplete: "
            + StoreFinding.problem(error), advice: Self.advice
        ))
    }
  }

  /// Raises the last sequence of the new store to the highest sequence that the damaged store may have used, so that no new revision
  /// gets the sequence of a lost one.
  private mutating func setSequence(_ transaction: StoreTransaction) throws {
    let tables = source.tables
    for (table, column) in [(tables.keys, "head"), (tables.keys, "id"), (tables.pieces, "revision")] {
      do {
        highest.note(try Int64.fetchOne(source.db, sql: "SELECT max(\(column)) FROM \(table)"))
      } catch  where StoreError.isDamage(error, source.db) {
        // Skips a table that cannot be read, because the other tables or the stored last sequence may still be readable.
      }
    }
    let recorded: Int64?
    do { recorded = try source.store.lastSequence(in: source.db) } catch  where StoreError.isDamage(error, source.db) {
      recorded = nil
    }
    let (last, isKnown) = highest.last(recorded: recorded)
    try transaction.setLastSequence(last)
    guard !isKnown else { return }
    lost.add(
      StoreFinding(
        .file, sequence: last,
        "the last sequence number of the damaged store is unknown, so the next save gets a number above \(last)",
        advice: "no action is needed because the sequences of lost revisions are not used again"))
  }
}
