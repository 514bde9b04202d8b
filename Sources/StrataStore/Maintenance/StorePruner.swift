internal import Foundation
internal import GRDB
internal import StrataCore

/// Removes revisions, page by page of keys, and of a key with a long history part by part.
struct StorePruner {
  /// How many keys are pruned in one transaction; after how many removed revisions it ends; and above how many revisions a key is
  /// pruned in transactions of its own, each of so many revisions.
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

  consuming func run(_ progress: ((StorePruneReport) -> Void)?) throws -> StorePruneReport {
    if !report.isDryRun { try core.checkCanWrite() }
    if !isForced { try checkRules() }
    var last: Data? = Data()
    while let after = last {
      try work.check()
      let page: Page
      if report.isDryRun {
        page = try core.writer.read { db in try core.read(db) { try self.page(after: after, $0) } }
      } else {
        page = try core.save { try self.page(after: after, $0) }
        try shortenJournal()
        progress?(report)
      }
      switch page {
      case .end: last = nil
      case .upTo(let name): last = name
      case .long(let key):
        try prune(key, progress)
        last = key.key.bytes
      }
    }
    if !report.isDryRun { try giveBack() }
    return report
  }

  /// Refuses rules that name no revision of the whole store.
  private func checkRules() throws {
    var last: Data? = Data()
    var isEmpty = true
    while let after = last {
      try work.check()
      let found: (last: Data?, isEmpty: Bool, keeps: Bool) = try core.writer.read { db in
        try core.read(db) { transaction in
          let keys = try transaction.keys(prefix: prefix, after: after, limit: Self.keys)
          let keeps = try keys.contains { key in
            try !rules.kept(transaction.outline(ofKey: key.id).map(\.time), now: now).isEmpty
          }
          return (keys.last?.bytes, keys.isEmpty, keeps)
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

  private enum Page {
    case end
    /// The last key that was dealt with.
    case upTo(Data)
    /// The next key has a long history.
    case long(Leaving)
  }

  /// A key and what is to go of it.
  private struct Leaving {
    var key: StoredKey
    var entries: [(id: Int64, seq: Int64)]
    var count: Int
  }

  /// - Throws: ``StoreError`` with the code `damaged` where the key does not name its last revision: which one may not go is then
  ///   not known.
  private func leaving(_ key: StoredKey, _ transaction: StoreTransaction) throws -> Leaving {
    let outline = try transaction.outline(ofKey: key.id)
    try key.check()
    guard outline.last?.id == key.head else {
      throw StoreError(
        .damaged, "the key does not name its last revision; check the store, then salvage it", key: key.name)
    }
    let labelled = try transaction.labelledRevisions(ofKey: key.id)
    let kept = rules.kept(outline.map(\.time), now: now)
    let entries = outline.indices.filter { place in
      !kept.contains(place) && outline[place].id != key.head && !labelled.contains(outline[place].id)
    }.map { (outline[$0].id, outline[$0].seq) }
    return Leaving(key: key, entries: entries, count: outline.count)
  }

  private mutating func page(after last: Data, _ transaction: StoreTransaction) throws -> Page {
    var final: Data?
    var removed = 0, bytes = 0
    for key in try transaction.keys(prefix: prefix, after: last, limit: Self.keys) {
      let leaving: Leaving
      do { leaving = try self.leaving(key, transaction) } catch  where Self.isUnreadable(error) {
        final = key.bytes
        skip(key.name, try transaction.outline(ofKey: key.id).count, error)
        continue
      }
      if !report.isDryRun, !leaving.entries.isEmpty, leaving.count > Self.revisions {
        guard let final else { return .long(leaving) }
        return .upTo(final)
      }
      final = key.bytes
      report.kept += leaving.count - leaving.entries.count
      guard !leaving.entries.isEmpty else { continue }
      if !report.isDryRun {
        do {
          try transaction.db.inSavepoint {
            bytes += try transaction.remove(Set(leaving.entries.map(\.id)), ofKey: key.id, head: key.head)
            return .commit
          }
        } catch  where Self.isUnreadable(error) {
          skip(key.name, leaving.entries.count, error)
          continue
        }
      }
      report.removed[key.name, default: []] += leaving.entries.map { Int($0.seq) }
      removed += leaving.entries.count
      if try removed >= Self.revisions || bytes >= mostBytes() { break }
    }
    return final.map { .upTo($0) } ?? .end
  }

  /// Whether an error is one of a key alone.
  private static func isUnreadable(_ error: any Error) -> Bool {
    error is ArchiveError || (error as? StoreError)?.code == .damaged
  }

  private mutating func skip(_ key: String, _ count: Int, _ error: any Error) {
    report.kept += count
    report.skipped.append(
      StoreFinding(.revision, key: key, StoreFinding.problem(error), advice: StoreFinding.salvage))
  }

  /// The bytes of content after which a transaction ends, so that its journal stays small beside the file.
  private func mostBytes() throws -> Int {
    guard let path = core.journal?.path, let size = try FileStatus(ofPath: path)?.size else { return 8 << 20 }
    return min(8 << 20, max(1 << 18, size / 40))
  }

  // MARK: Long histories

  /// Prunes a key in several transactions. First what stays is stored anew where it is a delta of what goes; then that goes, the last
  /// one first, since what is a delta goes before what it refers to. After each of them every revision that is there can be read.
  private mutating func prune(_ leaving: Leaving, _ progress: ((StorePruneReport) -> Void)?) throws {
    let key = leaving.key
    // Keys are told apart by their bytes, and texts by more than that: there may be another one with this name.
    let others = report.removed[key.name] ?? []
    var removed: [Int] = []
    do {
      try restoreDeltas(key, Set(leaving.entries.map(\.id)))
      var left = leaving.entries
      while !left.isEmpty {
        try work.check()
        let most = try mostBytes()
        let rest = left
        let (part, seqs) = try core.save { transaction in
          var part: [(id: Int64, seq: Int64)] = [], bytes = 0
          while part.count < Self.revisions, bytes < most, part.count < rest.count {
            let entry = rest[rest.count - 1 - part.count]
            bytes += try transaction.size(ofRevision: entry.id)
            part.append(entry)
          }
          // Somebody may have set a label since.
          let labelled = try transaction.labelledRevisions(ofKey: key.id)
          // Another prune may have removed some since.
          let gone = try part.filter { try !labelled.contains($0.id) && transaction.isThere($0.id) }
          try transaction.removePart(gone.map(\.id), ofKey: key.id)
          return (part.count, gone.map { Int($0.seq) })
        }
        left.removeLast(part)
        removed += seqs
        report.removed[key.name] = others + removed.sorted()
        try shortenJournal()
        progress?(report)
      }
    } catch  where Self.isUnreadable(error) {
      skip(key.name, leaving.entries.count - removed.count, error)
    }
    report.kept += leaving.count - leaving.entries.count
    if removed.isEmpty { report.removed[key.name] = others.isEmpty ? nil : others }
  }

  private func restoreDeltas(_ key: StoredKey, _ leaving: Set<Int64>) throws {
    var chain = StoreChain()
    var last: Int64? = 0
    while let after = last {
      try work.check()
      let most = try mostBytes()
      let before = chain
      (last, chain) = try core.save { transaction in
        var chain = before
        let ids = try transaction.revisionIDs(ofKey: key.id, after: after, limit: Self.revisions)
        var bytes = 0
        for (id, seq) in ids {
          // Also what goes is read: nothing of a key with a damaged revision goes.
          guard let row = try transaction.revision(id) else { throw transaction.missingRow(seq) }
          guard !leaving.contains(id) else { continue }
          // What goes may be all that is left of a key whose other revisions cannot be read.
          _ = try transaction.content(of: row)
          let stored = try transaction.kept(row, after: chain, head: key.head)
          if stored.base != row.base || stored.form != row.form { bytes += stored.content?.count ?? 4096 }
          chain.add(stored)
          if bytes >= most { return (seq, chain) }
        }
        return (ids.last?.seq, chain)
      }
      try shortenJournal()
    }
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
  /// The revisions of a key without their content, the first one first.
  func outline(ofKey key: Int64) throws -> [(id: Int64, seq: Int64, time: Int64)] {
    try Row.fetchAll(
      statement("SELECT id, seq, time FROM \(tables.revisions) WHERE key = ? ORDER BY seq"), arguments: [key]
    ).map { (try $0.column(0), try $0.column(1), try $0.column(2)) }
  }

  func labelledRevisions(ofKey key: Int64) throws -> Set<Int64> { Set(try labels(ofKey: key).map(\.revision)) }

  /// Removes revisions of a key. What is a delta of one of them is stored anew before.
  ///
  /// - Returns: about how many bytes went.
  /// - Throws: ``StoreError`` with the code `damaged` where something that stays cannot be read. The caller must then take
  ///   back what was changed.
  func remove(_ leaving: Set<Int64>, ofKey key: Int64, head: Int64) throws -> Int {
    var chain = StoreChain()
    let outline = try outline(ofKey: key)
    for entry in outline where !leaving.contains(entry.id) {
      guard let row = try revision(entry.id) else { throw missingRow(entry.seq) }
      // What goes may be all that is left of a key whose other revisions cannot be read.
      _ = try content(of: row)
      chain.add(try kept(row, after: chain, head: head))
    }
    // The last one first: what is a delta goes before what it refers to.
    return try removeRows(outline.reversed().map(\.id).filter { leaving.contains($0) })
  }

  /// A row that stays: it is stored anew where it is a delta of one that goes.
  ///
  /// - Parameter chain: what stays before it.
  func kept(_ row: StoredRow, after chain: StoreChain, head: Int64) throws -> StoredRow {
    guard !chain.holds(row) else { return row }
    let stored = try storing(plainBytes(of: row), in: row, after: chain, isHead: row.id == head)
    try update(stored)
    return stored
  }

  /// Removes revisions of a key, the last one first. What others made a delta of them meanwhile is stored whole.
  func removePart(_ leaving: [Int64], ofKey key: Int64) throws {
    let gone = Set(leaving)
    for id in leaving {
      let dependants = try Int64.fetchAll(
        statement("SELECT id FROM \(tables.revisions) WHERE base = ?"), arguments: [id])
      for dependant in dependants where !gone.contains(dependant) {
        guard let row = try revision(dependant) else { continue }
        try update(storing(plainBytes(of: row), in: row))
      }
    }
    _ = try removeRows(leaving)
  }

  private func removeRows(_ leaving: [Int64]) throws -> Int {
    var unused: Set<Int64> = []
    var definitions: [Int64?] = []
    var bytes = 0
    for id in leaving {
      guard let row = try revision(id) else { throw missingRow(nil) }
      bytes += try size(ofRevision: id)
      unused.formUnion(try removePieces(of: row.id))
      if let blob = row.blob { unused.insert(blob) }
      try execute("DELETE FROM \(tables.failures) WHERE revision = ?", [row.id])
      try execute("DELETE FROM \(tables.revisions) WHERE id = ?", [row.id])
      definitions.append(row.definition)
    }
    for blob in unused.sorted() { try removeUnused(blob) }
    // At last: what is taken back before would be counted nevertheless.
    for definition in definitions { count(definition, revisions: -1, heads: 0) }
    return bytes
  }

  /// An index has a revision that the table does not have.
  func missingRow(_ seq: Int64?) -> StoreError {
    StoreError(.damaged, "a revision is missing; check the store, then salvage it", revision: seq.map { Int($0) })
  }

  /// Whether there is a revision with a number, which is never given again.
  func isThere(_ id: Int64) throws -> Bool {
    try Int64.fetchOne(statement("SELECT id FROM \(tables.revisions) WHERE id = ?"), arguments: [id]) != nil
  }

  /// About the bytes that a revision takes, with the content that it may be the only one to refer to.
  func size(ofRevision id: Int64) throws -> Int {
    try Int.fetchOne(
      statement(
        """
        SELECT 64 + ifnull(length(content), 0) + ifnull((SELECT length(bytes) FROM \(tables.blobs) WHERE id = r.blob), 0)
        + (SELECT ifnull(sum(length(b.bytes)), 0) FROM \(tables.pieces) p JOIN \(tables.blobs) b ON b.id = p.blob
          WHERE p.revision = r.id)
        FROM \(tables.revisions) r WHERE r.id = ?
        """), arguments: [id]) ?? 0
  }

  /// The numbers of some revisions of a key, the first one first.
  func revisionIDs(ofKey key: Int64, after seq: Int64, limit: Int) throws -> [(id: Int64, seq: Int64)] {
    try Row.fetchAll(
      statement("SELECT id, seq FROM \(tables.revisions) WHERE key = ? AND seq > ? ORDER BY seq LIMIT ?"),
      arguments: [key, seq, limit]
    ).map { (try $0.column(0), try $0.column(1)) }
  }

  /// - Returns: the blobs that the revision referred to.
  func removePieces(of revision: Int64) throws -> [Int64] {
    let blobs = try Int64.fetchAll(
      statement("SELECT blob FROM \(tables.pieces) WHERE revision = ?"), arguments: [revision])
    if !blobs.isEmpty { try execute("DELETE FROM \(tables.pieces) WHERE revision = ?", [revision]) }
    return blobs
  }
}
