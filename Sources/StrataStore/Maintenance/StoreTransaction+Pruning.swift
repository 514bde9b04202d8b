internal import Foundation
internal import GRDB
internal import StrataCore

extension StoreTransaction {
  /// Returns the identifiers, numbers and times of a key's revisions, in ascending order of their numbers. Includes only
  /// revisions with a number above `seq`, and at most `limit` revisions.
  func outline(
    ofKey key: Int64, after seq: Int64 = 0, limit: Int = .max
  ) throws -> [(id: Int64, seq: Int64, time: Int64)] {
    try StatementRow.all(
      of: statement("SELECT id, seq, time FROM \(tables.revisions) WHERE key = ? AND seq > ? ORDER BY seq LIMIT ?"),
      [key, seq, limit]
    ) { (try $0.column(0), try $0.column(1), try $0.column(2)) }
  }

  func labelledRevisions(ofKey key: Int64) throws -> Set<Int64> { Set(try labels(ofKey: key).map(\.revision)) }

  /// Prepares a prune of a key. Rewrites each kept revision that is stored as a delta of a revision to remove, or that would exceed
  /// the limits on deltas and inflations. Examines the revisions in ascending order of their numbers.
  ///
  /// - Parameters:
  ///   - removed: the identifiers of the revisions to remove.
  ///   - seq: the revision number after which to begin.
  ///   - chain: the kept revisions up to number `seq`. This method adds the kept revisions that it examines.
  ///   - limit: the maximum number of revisions to examine.
  ///   - most: the number of written bytes after which to stop.
  /// - Returns: the number of the last examined revision, or `nil` if the key has no revisions after `seq`.
  /// - Throws: ``StoreError`` with the code `damaged` if a revision cannot be read, in which case the caller must roll back.
  func rewriteKept(
    _ key: StoredKey, without removed: Set<Int64>, after seq: Int64 = 0, _ chain: inout StoreChain, limit: Int = .max,
    bytes most: Int = .max
  ) throws -> Int64? {
    let outline = try outline(ofKey: key.id, after: seq, limit: limit)
    var bytes = 0
    for entry in outline {
      // Reads all revisions, even those to remove, because a key with a damaged revision is not pruned.
      guard var row = try revision(entry.id) else { throw missingRow(entry.seq) }
      guard !removed.contains(entry.id) else { continue }
      // Throws if this kept revision is damaged. The revisions to remove may then be the only readable ones, so they must not be
      // removed.
      _ = try content(of: row)
      if !chain.holds(row) {
        row = try storing(plainBytes(of: row), in: row, after: chain, isHead: row.id == key.head)
        try update(row)
        bytes += row.content?.count ?? 4096
      }
      chain.add(row)
      if bytes >= most { return entry.seq }
    }
    return outline.last?.seq
  }

  /// Removes revisions of a key. The identifiers must be given in descending order, so that a delta is removed before its base. A
  /// save that ran after ``rewriteKept(_:without:after:_:limit:bytes:)`` may have stored a revision as a delta of a revision to
  /// remove. Such a delta is first replaced with the complete content of its revision.
  ///
  /// - Returns: the approximate number of bytes removed.
  func remove(_ removed: [Int64]) throws -> Int {
    var unused: Set<Int64> = []
    var definitions: [Int64?] = []
    var bytes = 0
    for id in removed {
      guard let row = try revision(id) else { throw missingRow(nil) }
      let deltas = try deltas(of: id)
      if !deltas.isEmpty {
        let base = try plainBytes(of: row)
        for id in deltas {
          let delta = try self.delta(id, of: row, base)
          try update(storing(delta.bytes, in: delta.row))
        }
      }
      bytes += try size(ofRevision: id)
      unused.formUnion(try removePieces(of: id))
      if let blob = row.blob { unused.insert(blob) }
      try execute("DELETE FROM \(tables.failures) WHERE revision = ?", [id])
      try execute("DELETE FROM \(tables.revisions) WHERE id = ?", [id])
      definitions.append(row.definition)
    }
    for blob in unused.sorted() { try removeUnused(blob) }
    // Changes the counts last, because they are kept in memory and would not be rolled back if a previous step failed.
    for definition in definitions { count(definition, revisions: -1, heads: 0) }
    return bytes
  }

  /// Returns the identifiers of the revisions that are stored as deltas of the given revision. There may be many: if saves and
  /// deletions alternate, a sixteenth of all revisions of the key are deltas of the first revision.
  func deltas(of id: Int64) throws -> [Int64] {
    try Int64.fetchAll(statement("SELECT id FROM \(tables.revisions) WHERE base = ?"), arguments: [id])
  }

  /// Returns the row and the content of a revision that is stored as a delta of `base`. The content does not include its first
  /// bytes (the head), which are stored in the revision's definition. Does not change `inflations`.
  ///
  /// - Parameter bytes: the content of the base, without its head.
  /// - Throws: ``StoreError`` with the code `damaged`, or `ArchiveError` if the compressed data is damaged.
  func delta(_ id: Int64, of base: StoredRow, _ bytes: [UInt8]) throws -> (row: StoredRow, bytes: [UInt8]) {
    guard let row = try revision(id) else { throw missingRow(nil) }
    guard let content = row.content, row.form == .delta, row.key == base.key, row.seq > base.seq else {
      throw damagedRow(row)
    }
    return (row, try RowDelta.apply(content, to: bytes, limits: store.options.limits))
  }

  /// Returns the error for a revision that is listed in an index of the table but is missing from the table itself.
  func missingRow(_ seq: Int64?) -> StoreError {
    StoreError(.damaged, "a revision is missing; check the store, then salvage it", revision: seq.map { Int($0) })
  }

  /// Returns the approximate size of a revision in bytes, including all shared content that the revision refers to.
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

  /// Deletes a revision's references to strings and data that are stored separately as blobs.
  ///
  /// - Returns: the identifiers of the blobs that the revision referred to.
  func removePieces(of revision: Int64) throws -> [Int64] {
    let blobs = try Int64.fetchAll(
      statement("SELECT blob FROM \(tables.pieces) WHERE revision = ?"), arguments: [revision])
    if !blobs.isEmpty { try execute("DELETE FROM \(tables.pieces) WHERE revision = ?", [revision]) }
    return blobs
  }
}
