public import Foundation
internal import GRDB
internal import StrataCore

/// What was brought out of a damaged store, and what was not.
public struct StoreSalvageReport: Sendable {
  /// How many revisions the new store has.
  public let revisions: Int
  /// How many keys the new store has.
  public let keys: Int
  /// What is not in the new store, or not under its name; the first 10,000 of them.
  public let lost: [StoreFinding]
  /// How many there are beyond those.
  public let omittedLosses: Int

  /// Whether everything was brought out.
  public var isComplete: Bool { lost.isEmpty }
}

extension SnapshotStore {
  /// Brings all that is intact into a new store, and lists what is not.
  ///
  /// Revisions keep their key, number, sequence, time, author and note, and labels stay. What is damaged ends nothing but
  /// itself: a revision is lost with those that are deltas of it. Where the last revision of a key is lost, the one before
  /// is the last one of the new store. This store stays as it is.
  ///
  /// - Parameter url: where the new store is made; there must be no file.
  /// - Throws: ``StoreError`` with the code `invalid` where there is a file, `full`, `busy`, `fileSystem`;
  ///   `CancellationError` where the task was cancelled. The new file is then removed.
  /// - Complexity: that of reading and saving all revisions. Memory holds two of them.
  public func salvage(to url: URL) async throws -> StoreSalvageReport {
    try await StoreWork.run { [core] in try StoreSalvage.run(core, url, $0) }
  }

  /// As ``salvage(to:)-(URL)``, where there is no concurrency.
  public func salvage(to url: URL) throws -> StoreSalvageReport {
    try StoreWork.runNow { try StoreSalvage.run(core, url, $0) }
  }

  /// As ``salvage(to:)-(URL)``, of a file that is too damaged to be opened as a store.
  ///
  /// - Throws: also `notAStore` where SQLite finds no tables of a store in it, and `newerStore`.
  public static func salvage(
    _ damaged: URL, to url: URL, options: StoreOptions = StoreOptions()
  ) async throws -> StoreSalvageReport {
    try await StoreWork.run { try StoreSalvage.run(damaged, url, options, $0) }
  }

  /// As ``salvage(_:to:options:)-(URL,_,_)``, where there is no concurrency.
  public static func salvage(
    _ damaged: URL, to url: URL, options: StoreOptions = StoreOptions()
  ) throws -> StoreSalvageReport {
    try StoreWork.runNow { try StoreSalvage.run(damaged, url, options, $0) }
  }
}

/// Copies what is intact of one store into another.
struct StoreSalvage {
  /// How many revisions are copied in one transaction.
  private static let batch = 512

  private let source: StoreTransaction
  private let target: StoreCore
  private let work: StoreWork
  private var lost = StoreFindings()
  private var names = KeyNames()
  private var revisions = 0

  static func run(_ damaged: URL, _ url: URL, _ options: StoreOptions, _ work: StoreWork) throws -> StoreSalvageReport {
    guard FileManager.default.fileExists(atPath: damaged.path) else {
      throw StoreError(.notAStore, "there is no file to salvage")
    }
    let (queue, tables) = try StoreOpening(options).openDamaged(damaged.path)
    return try run(StoreCore(queue, tables, options, isReadOnly: true), url, work)
  }

  static func run(_ core: StoreCore, _ url: URL, _ work: StoreWork) throws -> StoreSalvageReport {
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw StoreError(.invalid, "there is a file where the salvaged store should be; name a new one")
    }
    var options = core.options
    options.isReadOnly = false
    do {
      let target = try StoreOpening(options).open(url.path)
      let report = try core.readDamaged { db in
        var salvage = StoreSalvage(
          source: StoreTransaction(db, core, canWrite: false, isWhole: true), target: target, work: work)
        return try salvage.run()
      }
      try target.writer.close()
      return report
    } catch {
      for suffix in ["", "-wal", "-shm"] {
        // The error is what made this fail; a file that cannot be removed either stays.
        try? FileManager.default.removeItem(atPath: url.path + suffix)
      }
      throw error
    }
  }

  private init(source: StoreTransaction, target: StoreCore, work: StoreWork) {
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
          try salvage.take(step, transaction)
        }
      }
    }
    try write { salvage, transaction in
      try salvage.takeLabels(transaction)
      try salvage.listMissing(transaction)
      // A number that was given is not given again.
      let last = (try? salvage.source.core.lastSequence(in: salvage.source.db)) ?? 0
      try transaction.execute(
        "UPDATE sqlite_sequence SET seq = ?1 WHERE name = ?2 AND seq < ?1", [last, transaction.tables.revisions])
    }
    let keys = try target.writer.read { [target] in
      try Int.fetchOne($0, sql: "SELECT count(*) FROM \(target.tables.keys)") ?? 0
    }
    return StoreSalvageReport(revisions: revisions, keys: keys, lost: lost.all, omittedLosses: lost.omitted)
  }

  private mutating func write(_ body: (inout StoreSalvage, StoreTransaction) throws -> Void) throws {
    try target.writer.write { db in
      try target.write(db, isWhole: true) { try body(&self, $0) }
    }
    target.journal?.shorten(target.writer)
  }

  private mutating func take(_ step: RevisionWalk.Step, _ transaction: StoreTransaction) throws {
    switch step {
    case .row(let row):
      let known = names.name(row.key, source)
      let key = known ?? "salvaged/\(row.key)"
      let content: StoredContent?
      do { content = try source.salvaged(row) } catch {
        lost.add(.ofRevision(row, key: known, error))
        return
      }
      guard try transaction.adopt(row, as: key, content) else {
        lost.add(.ofRevision(row, key: known, StoreError(.damaged, "another row has its key and number")))
        return
      }
      revisions += 1
      if known == nil {
        lost.add(
          StoreFinding(
            .revision, key: key, revision: Int(row.seq), sequence: row.id, "the name of its key is lost",
            advice: "it is in the new store under the key given here; save it under its own"))
      }
    case .damaged(let id, let key, let seq, let error):
      lost.add(
        StoreFinding(
          .revision, key: key.flatMap { names.name($0, source) }, revision: seq.map { Int($0) }, sequence: id,
          StoreFinding.problem(error), advice: Self.advice))
    case .gap(let ids, let error):
      lost.add(
        StoreFinding(
          .file, sequence: ids.lowerBound,
          "revisions of the sequence \(ids.lowerBound) to \(ids.upperBound) cannot be read: "
            + StoreFinding.problem(error), advice: Self.advice))
    }
  }

  private static let advice = "look for it in a backup; what else is intact is in the new store"

  private mutating func takeLabels(_ transaction: StoreTransaction) throws {
    do {
      let rows = try Row.fetchCursor(
        source.db, sql: "SELECT key, name, revision FROM \(source.tables.labels) ORDER BY key, name")
      while let row = try rows.next() {
        let key: Int64 = try row.column(0), name: String = try row.column(1), revision: Int64 = try row.column(2)
        try transaction.execute(
          """
          INSERT OR IGNORE INTO \(transaction.tables.labels) (key, name, revision)
          SELECT r.key, ?1, r.id FROM \(transaction.tables.revisions) r WHERE r.id = ?2 AND r.key = ?3
          """, [name, revision, key])
        if transaction.db.changesCount == 0 {
          lost.add(
            StoreFinding(
              .label, key: names.name(key, source), sequence: revision, "the revision with the label \(name) is lost",
              advice: Self.advice))
        }
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      lost.add(
        StoreFinding(
          .label, "not all labels can be read: " + StoreFinding.problem(error), advice: "set the missing ones anew"))
    }
  }

  /// Lists what an index knows of and the table does not have: what damaged pages held.
  private mutating func listMissing(_ transaction: StoreTransaction) throws {
    let listed = Set(lost.all.compactMap { $0.kind == .revision ? $0.sequence : nil })
    do {
      let rows = try Row.fetchCursor(
        source.db, sql: "SELECT key, seq, id FROM \(source.tables.revisions) ORDER BY key, seq")
      while let row = try rows.next() {
        let key: Int64 = try row.column(0), seq: Int64 = try row.column(1), id: Int64 = try row.column(2)
        guard !listed.contains(id), try transaction.revision(id) == nil else { continue }
        lost.add(
          StoreFinding(
            .revision, key: names.name(key, source), revision: Int(seq), sequence: id, "the row cannot be read",
            advice: Self.advice))
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      lost.add(
        StoreFinding(
          .file, "there may be more lost revisions than are listed: " + StoreFinding.problem(error), advice: Self.advice
        ))
    }
  }
}

extension StoreTransaction {
  /// What a revision holds, whether or not the table of pieces tells what it refers to; `nil` for a deletion.
  fileprivate func salvaged(_ row: StoredRow) throws -> StoredContent? {
    guard let id = row.definition, row.form != .tombstone else { return nil }
    let definition = try definition(id)
    let bytes = try definition.prefix + plainBytes(of: row)
    var contents: [[UInt8]: Data] = [:]
    for digest in Self.digests(in: bytes) where contents[digest] == nil {
      let blob = try Int64.fetchOne(
        statement("SELECT id FROM \(tables.blobs) WHERE hash = ?"), arguments: [Data(digest)])
      if let blob { contents[digest] = try self.blob(blob) }
    }
    let content = StoredContent(definition: definition, bytes: bytes, contents: RowContents(contents))
    do { _ = try KeyedContent(key: "", revision: 0, content: content).value(core.options) } catch let error
      as StoreError
      where error.code == .notDecodable
    {
      // The bytes are those that were saved, and others may read them.
    }
    return content
  }

  /// What looks like a reference to content beside a row: tag 57342 around 33 bytes.
  private static func digests(in bytes: [UInt8]) -> [[UInt8]] {
    let mark: [UInt8] = [0xD9, 0xDF, 0xFE, 0x58, 0x21]
    var found: [[UInt8]] = []
    var place = 0
    while place + mark.count + 33 <= bytes.count {
      guard bytes[place] == mark[0], bytes[place..<place + mark.count].elementsEqual(mark) else {
        place += 1
        continue
      }
      let start = place + mark.count + 1
      found.append(Array(bytes[start..<start + 32]))
      place = start + 32
    }
    return found
  }

  /// Takes a revision over as another store has it, with its place, number and time.
  ///
  /// - Parameter content: what it holds; `nil` for a deletion.
  /// - Returns: whether it comes after the last revision of its key; else nothing is changed.
  func adopt(_ source: StoredRow, as name: String, _ content: StoredContent?) throws -> Bool {
    let head = try head(of: name)
    if let head, head.row.seq >= source.seq { return false }
    var row = source
    (row.form, row.definition, row.content, row.base, row.blob) = (.tombstone, nil, nil, nil, nil)
    row.key = head?.key ?? source.key
    if let content {
      let definition = try definition(with: content.definition.content)
      row.definition = definition.id
      row = try storing(Array(content.bytes[definition.prefix.count...]), in: row)
    }
    if head == nil {
      try execute("INSERT INTO \(tables.keys) (name, id, head) VALUES (?, ?, ?)", [name, row.key, row.id])
    } else {
      try execute("UPDATE \(tables.keys) SET head = ? WHERE name = ?", [row.id, name])
    }
    try insert(row)
    if let content { try addPieces(content.contents.all, to: row.id) }
    if let head {
      count(head.row.definition, revisions: 0, heads: -1)
      try shorten(head.row)
    }
    count(row.definition, revisions: 1, heads: 1)
    return true
  }
}
