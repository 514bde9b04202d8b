internal import Foundation
internal import GRDB
internal import StrataCore

/// Removes the revisions of a store that no retention rule keeps. The last revision of each key and revisions with labels are
/// always kept. Each transaction prunes one page of keys. A key with a long history is pruned in several transactions.
struct StorePruner {
  /// `keys` is the maximum number of keys in a transaction. `revisions` is the number of removed revisions after which a
  /// transaction ends. A key with more than `revisions` revisions is pruned in transactions of its own.
  private static let keys = 64, revisions = 250
  /// The maximum number of database pages that are freed in one transaction.
  private static let pages = 1024

  private let store: SnapshotStore
  private let rules: [RetentionRule]
  private let prefix: String
  private let isForced: Bool
  private let work: StoreWork
  private let now: Int64
  private var report: StorePruneReport

  init(
    _ store: SnapshotStore, _ rules: [RetentionRule], _ prefix: String, isDryRun: Bool, isForced: Bool,
    _ work: StoreWork
  ) {
    (self.store, self.rules, self.prefix, self.isForced, self.work) = (store, rules, prefix, isForced, work)
    now = store.options.clock().milliseconds
    report = StorePruneReport(isDryRun: isDryRun)
  }

  consuming func run(_ progress: ((StorePruneReport) -> Void)?) throws -> StorePruneReport {
    if !report.isDryRun { try store.checkCanWrite() }
    if !isForced { try checkRules() }
    var last: Data? = Data()
    while let after = last {
      try work.check()
      let page: Page
      if report.isDryRun {
        page = try store.read { try self.page(after: after, $0) }
      } else {
        page = try store.write { try self.page(after: after, $0) }
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
    if !report.isDryRun { try freePages() }
    return report
  }

  /// Throws if the rules do not keep any revision of the keys with the prefix. If there are no such keys, does not throw.
  private func checkRules() throws {
    var last: Data? = Data()
    var isEmpty = true
    while let after = last {
      try work.check()
      let found: (last: Data?, isEmpty: Bool, keeps: Bool) = try store.read { transaction in
        let keys = try transaction.keys(prefix: prefix, after: after, limit: Self.keys)
        let keeps = try keys.contains { key in
          try !rules.kept(transaction.outline(ofKey: key.id).map(\.time), now: now).isEmpty
        }
        return (keys.last?.bytes, keys.isEmpty, keeps)
      }
      if found.keeps { return }
      isEmpty = isEmpty && found.isEmpty
      last = found.last
    }
    guard isEmpty else {
      throw StoreError(
        .invalid,
        "the pruning rules would keep only the last and labeled revisions; specify the revisions to keep, or force the "
          + "pruning")
    }
  }

  private enum Page {
    case end
    /// All keys of the page up to and including this key were processed.
    case upTo(Data)
    /// The next key has a long history, so it must be pruned in several transactions.
    case long(Removal)
  }

  /// A key to prune, with the revisions to remove and the total number of its revisions.
  private struct Removal {
    var key: StoredKey
    var entries: [(id: Int64, seq: Int64)]
    var count: Int
  }

  /// Returns the revisions of a key to remove.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the key does not refer to its last revision. It is then unknown which
  ///   revision must be kept.
  private func removal(_ key: StoredKey, _ transaction: StoreTransaction) throws -> Removal {
    let outline = try transaction.outline(ofKey: key.id)
    try key.check()
    guard outline.last?.id == key.head else {
      throw StoreError(
        .damaged, "the key does not refer to its last revision; check the store, then salvage it", key: key.name)
    }
    let labelled = try transaction.labelledRevisions(ofKey: key.id)
    let kept = rules.kept(outline.map(\.time), now: now)
    let entries = outline.indices.filter { place in
      !kept.contains(place) && outline[place].id != key.head && !labelled.contains(outline[place].id)
    }.map { (outline[$0].id, outline[$0].seq) }
    return Removal(key: key, entries: entries, count: outline.count)
  }

  private mutating func page(after last: Data, _ transaction: StoreTransaction) throws -> Page {
    var final: Data?
    var removed = 0, bytes = 0
    for key in try transaction.keys(prefix: prefix, after: last, limit: Self.keys) {
      let removal: Removal
      do { removal = try self.removal(key, transaction) } catch  where Self.isUnreadable(error) {
        final = key.bytes
        skip(key.name, try transaction.outline(ofKey: key.id).count, error)
        continue
      }
      if !report.isDryRun, !removal.entries.isEmpty, removal.count > Self.revisions {
        guard let final else { return .long(removal) }
        return .upTo(final)
      }
      final = key.bytes
      report.kept += removal.count - removal.entries.count
      guard !removal.entries.isEmpty else { continue }
      if !report.isDryRun {
        do {
          try transaction.db.inSavepoint {
            var chain = StoreChain()
            _ = try transaction.rewriteKept(key, without: Set(removal.entries.map(\.id)), &chain)
            bytes += try transaction.remove(removal.entries.reversed().map(\.id))
            return .commit
          }
        } catch  where Self.isUnreadable(error) {
          skip(key.name, removal.entries.count, error)
          continue
        }
      }
      report.removed[key.name, default: []] += removal.entries.map { Int($0.seq) }
      removed += removal.entries.count
      if try removed >= Self.revisions || bytes >= mostBytes() { break }
    }
    return final.map { .upTo($0) } ?? .end
  }

  /// Returns whether an error affects only one key, so that the prune can skip this key.
  private static func isUnreadable(_ error: any Error) -> Bool {
    error is ArchiveError || (error as? StoreError)?.code == .damaged
  }

  private mutating func skip(_ key: String, _ count: Int, _ error: any Error) {
    report.kept += count
    report.skipped.append(
      StoreFinding(.revision, key: key, StoreFinding.problem(error)))
  }

  /// Returns the number of content bytes after which a transaction ends. The limit keeps the write-ahead log small compared to
  /// the file.
  private func mostBytes() throws -> Int {
    guard let path = store.journal?.path, let size = try FileStatus(ofPath: path)?.size else { return 8 << 20 }
    return min(8 << 20, max(1 << 18, size / 40))
  }

  // MARK: Long histories

  /// Prunes a key in several transactions. First, the kept revisions that are stored as deltas of revisions to remove are
  /// rewritten. Then the revisions to remove are deleted in descending order, so that a delta is removed before its base.
  /// After each transaction, all remaining revisions can be read.
  private mutating func prune(_ removal: Removal, _ progress: ((StorePruneReport) -> Void)?) throws {
    let key = removal.key
    // The store compares keys by bytes, but the report's dictionary compares them by canonical equivalence. Several keys may
    // therefore share this entry.
    let others = report.removed[key.name] ?? []
    var removed: [Int] = []
    do {
      try restoreDeltas(key, Set(removal.entries.map(\.id)))
      var left = removal.entries
      while !left.isEmpty {
        try work.check()
        let most = try mostBytes()
        let rest = left
        let (part, seqs) = try store.write { transaction in
          var part: [(id: Int64, seq: Int64)] = [], bytes = 0
          while part.count < Self.revisions, bytes < most, part.count < rest.count {
            let entry = rest[rest.count - 1 - part.count]
            bytes += try transaction.size(ofRevision: entry.id)
            part.append(entry)
          }
          // Revisions that have been labelled in the meantime are kept.
          let labelled = try transaction.labelledRevisions(ofKey: key.id)
          // A concurrent prune may have removed some revisions in the meantime.
          let gone = try part.filter { try !labelled.contains($0.id) && transaction.revision($0.id) != nil }
          _ = try transaction.remove(gone.map(\.id))
          return (part.count, gone.map { Int($0.seq) })
        }
        left.removeLast(part)
        removed += seqs
        report.removed[key.name] = others + removed.sorted()
        try shortenJournal()
        progress?(report)
      }
    } catch  where Self.isUnreadable(error) {
      skip(key.name, removal.entries.count - removed.count, error)
    }
    report.kept += removal.count - removal.entries.count
    if removed.isEmpty { report.removed[key.name] = others.isEmpty ? nil : others }
  }

  private func restoreDeltas(_ key: StoredKey, _ removal: Set<Int64>) throws {
    var chain = StoreChain()
    var last: Int64? = 0
    while let after = last {
      try work.check()
      let most = try mostBytes()
      let before = chain
      (last, chain) = try store.write { transaction in
        var chain = before
        let last = try transaction.rewriteKept(
          key, without: removal, after: after, &chain, limit: Self.revisions, bytes: most)
        return (last, chain)
      }
      try shortenJournal()
    }
  }

  /// Checkpoints and truncates the write-ahead log if it is larger than a twentieth of the file.
  private func shortenJournal() throws {
    guard let journal = store.journal, let file = try FileStatus(ofPath: journal.path)?.size, journal.size > file / 20
    else { return }
    _ = try store.writer.writeWithoutTransaction { try StoreJournal.cut($0) }
  }

  /// Removes the free pages from the file, which makes the file shorter. Works in steps, so that the write-ahead log stays small.
  private mutating func freePages() throws {
    while true {
      try work.check()
      let (before, after, size) = try store.writer.writeWithoutTransaction { db in
        try db.withStoreErrors {
          let before = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
          // Pages can be removed only if `auto_vacuum` is 2 (incremental). In other modes, which the app's own database may use,
          // free pages stay in the file and later saves reuse them.
          guard try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2,
            let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count"), free > 0
          else { return (before, before, 0) }
          let step = min(free, max(16, min(Self.pages, before / 40)))
          _ = try Row.fetchAll(db, sql: "PRAGMA incremental_vacuum(\(step))")
          let after = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
          return (before, after, try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
        }
      }
      try shortenJournal()
      guard after < before else {
        // SQLite truncates the file itself only when the log is checkpointed, so the log is checkpointed here.
        if store.journal != nil { _ = try store.writer.writeWithoutTransaction { try StoreJournal.cut($0) } }
        return
      }
      report.freedBytes += (before - after) * size
    }
  }
}
