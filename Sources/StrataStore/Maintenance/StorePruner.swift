internal import Foundation
internal import GRDB
internal import StrataCore

/// Removes revisions, page by page of keys.
struct StorePruner {
  /// How many keys are pruned in one transaction, and after how many removed revisions it ends.
  private static let keys = 64, revisions = 250
  /// How many pages are given back in one transaction at most.
  private static let pages = 1024

  private let core: StoreCore
  private let rules: [RetentionRule]
  private let prefix: String
  private let isForced: Bool
  private let work: StoreWork
  private let now: Int64
  private var report: StorePruneReport

  init(
    _ core: StoreCore, _ rules: [RetentionRule], _ prefix: String, isDryRun: Bool, isForced: Bool, _ work: StoreWork
  ) {
    (self.core, self.rules, self.prefix, self.isForced, self.work) = (core, rules, prefix, isForced, work)
    now = core.options.clock().milliseconds
    report = StorePruneReport(isDryRun: isDryRun)
  }

  consuming func run() throws -> StorePruneReport {
    if !report.isDryRun { try core.checkCanWrite() }
    if !isForced { try checkRules() }
    var last: String?
    repeat {
      try work.check()
      if report.isDryRun {
        last = try core.writer.read { db in try core.read(db) { try page(after: last, $0) } }
      } else {
        last = try core.writer.write { db in try core.write(db, isWhole: true) { try page(after: last, $0) } }
        try shortenJournal()
      }
    } while last != nil
    if !report.isDryRun { try giveBack() }
    return report
  }

  /// Refuses rules that name no revision of the whole store.
  private func checkRules() throws {
    var last: String? = ""
    var isEmpty = true
    while let after = last {
      try work.check()
      let found: (last: String?, isEmpty: Bool, keeps: Bool) = try core.writer.read { db in
        try core.read(db) { transaction in
          let keys = try transaction.keys(prefix: prefix, after: after, limit: Self.keys)
          let keeps = try keys.contains { key in
            try !rules.kept(transaction.outline(ofKey: key.id).map(\.time), now: now).isEmpty
          }
          return (keys.last?.name, keys.isEmpty, keeps)
        }
      }
      if found.keeps { return }
      isEmpty = isEmpty && found.isEmpty
      last = found.last
    }
    guard isEmpty else {
      throw StoreError(
        .invalid,
        "these rules keep no revision, so that only last revisions and labels would stay; name what to keep, "
          + "or force it")
    }
  }

  /// - Returns: the last key that was looked at; `nil` at the end.
  private mutating func page(after last: String?, _ transaction: StoreTransaction) throws -> String? {
    var final: String?
    var removed = 0
    for key in try transaction.keys(prefix: prefix, after: last ?? "", limit: Self.keys) {
      let outline = try transaction.outline(ofKey: key.id)
      let labelled = try transaction.labelledRevisions(ofKey: key.id)
      let kept = rules.kept(outline.map(\.time), now: now)
      let leaving = outline.indices.filter { place in
        !kept.contains(place) && outline[place].id != key.head && !labelled.contains(outline[place].id)
      }
      report.kept += outline.count - leaving.count
      final = key.name
      guard !leaving.isEmpty else { continue }
      if !report.isDryRun {
        do {
          try transaction.db.inSavepoint {
            try transaction.remove(Set(leaving.map { outline[$0].id }), ofKey: key.id, head: key.head)
            return .commit
          }
        } catch let error as StoreError where error.code == .damaged {
          report.kept += leaving.count
          report.skipped.append(
            StoreFinding(.revision, key: key.name, StoreFinding.problem(error), advice: StoreFinding.salvage))
          continue
        }
      }
      report.removed[key.name] = leaving.map { Int(outline[$0].seq) }
      removed += leaving.count
      if removed >= Self.revisions { break }
    }
    return final
  }

  /// Writes the journal back before it takes a twentieth of the file.
  private func shortenJournal() throws {
    guard let journal = core.journal, let file = try FileStatus(ofPath: journal.path)?.size, journal.size > file / 20
    else { return }
    _ = try core.writer.writeWithoutTransaction { try StoreJournal.cut($0) }
  }

  /// Shortens the file by its free pages, some at a time, so that neither the journal nor the file grows.
  private mutating func giveBack() throws {
    while true {
      try work.check()
      let (before, after, size) = try core.writer.writeWithoutTransaction { db in
        let before = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        // Of a database of the app's own it may be another mode, in which free pages stay for what is saved next.
        guard try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2,
          let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count"), free > 0
        else { return (before, before, 0) }
        let step = min(free, max(16, min(Self.pages, before / 40)))
        _ = try Row.fetchAll(db, sql: "PRAGMA incremental_vacuum(\(step))")
        let after = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        return (before, after, try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
      }
      try shortenJournal()
      guard after < before else {
        // The file has its size once the journal is written back.
        if core.journal != nil { _ = try core.writer.writeWithoutTransaction { try StoreJournal.cut($0) } }
        return
      }
      report.freedBytes += (before - after) * size
    }
  }
}

extension StoreTransaction {
  /// Keys that begin with a prefix, in the order of their bytes.
  func keys(prefix: String, after last: String, limit: Int) throws -> [(name: String, id: Int64, head: Int64)] {
    try Row.fetchAll(
      statement(
        """
        SELECT name, id, head FROM \(tables.keys)
        WHERE name >= ?1 AND name > ?2 AND name < ?3 ORDER BY name LIMIT ?4
        """), arguments: [prefix, last, prefix.endOfPrefix ?? Data(), limit]
    ).map { (try $0.column(0), try $0.column(1), try $0.column(2)) }
  }

  /// The revisions of a key without their content, the first one first.
  func outline(ofKey key: Int64) throws -> [(id: Int64, seq: Int64, time: Int64)] {
    try Row.fetchAll(
      statement("SELECT id, seq, time FROM \(tables.revisions) WHERE key = ? ORDER BY seq"), arguments: [key]
    ).map { (try $0.column(0), try $0.column(1), try $0.column(2)) }
  }

  func labelledRevisions(ofKey key: Int64) throws -> Set<Int64> {
    try Int64.fetchSet(statement("SELECT revision FROM \(tables.labels) WHERE key = ?"), arguments: [key])
  }

  /// Removes revisions of a key. What is a delta of one of them is stored anew before.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` where something that stays cannot be read. The caller must then take
  ///   back what was changed.
  func remove(_ leaving: Set<Int64>, ofKey key: Int64, head: Int64) throws {
    var chain = StoreChain()
    var unused: Set<Int64> = []
    for entry in try outline(ofKey: key) where !leaving.contains(entry.id) {
      guard var row = try revision(entry.id) else { continue }
      if !chain.holds(row) {
        let stored = try storing(plainBytes(of: row), in: row, after: chain, isHead: row.id == head)
        try update(stored)
        row = stored
      }
      chain.add(row)
    }
    // The last one first: what is a delta goes before what it refers to.
    for entry in try outline(ofKey: key).reversed() where leaving.contains(entry.id) {
      guard let row = try revision(entry.id) else { continue }
      unused.formUnion(try removePieces(of: row.id))
      if let blob = row.blob { unused.insert(blob) }
      try execute("DELETE FROM \(tables.failures) WHERE revision = ?", [row.id])
      try execute("DELETE FROM \(tables.revisions) WHERE id = ?", [row.id])
      count(row.definition, revisions: -1, heads: 0)
    }
    for blob in unused.sorted() { try removeUnused(blob) }
  }

  /// - Returns: the blobs that the revision referred to.
  func removePieces(of revision: Int64) throws -> [Int64] {
    let blobs = try Int64.fetchAll(
      statement("SELECT blob FROM \(tables.pieces) WHERE revision = ?"), arguments: [revision])
    if !blobs.isEmpty { try execute("DELETE FROM \(tables.pieces) WHERE revision = ?", [revision]) }
    return blobs
  }
}
