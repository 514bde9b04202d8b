internal import Foundation
internal import GRDB
internal import StrataCore

extension StoreTransaction {
  /// The revisions of a key without their content, the first one first.
  func outline(ofKey key: Int64) throws -> [(id: Int64, seq: Int64, time: Int64)] {
    try StatementRow.all(
      of: statement("SELECT id, seq, time FROM \(tables.revisions) WHERE key = ? ORDER BY seq"), [key]
    ) { (try $0.column(0), try $0.column(1), try $0.column(2)) }
  }

  func labelledRevisions(ofKey key: Int64) throws -> Set<Int64> { Set(try labels(ofKey: key).map(\.revision)) }

  /// Removes revisions of a key. Kept deltas of them are stored anew first.
  ///
  /// - Returns: the approximate number of bytes removed.
  /// - Throws: ``StoreError`` with the code `damaged` if a kept revision cannot be read. The caller must then roll back.
  func remove(_ leaving: Set<Int64>, ofKey key: Int64, head: Int64) throws -> Int {
    var chain = StoreChain()
    let outline = try outline(ofKey: key)
    for entry in outline where !leaving.contains(entry.id) {
      guard let row = try revision(entry.id) else { throw missingRow(entry.seq) }
      // If this revision cannot be read, those to remove may be all that is left of the key.
      _ = try content(of: row)
      chain.add(try kept(row, after: chain, head: head))
    }
    // The last one first, because a delta is removed before its base.
    return try removeRows(outline.reversed().map(\.id).filter { leaving.contains($0) })
  }

  /// Returns a kept row, stored anew if it is a delta of a removed one.
  ///
  /// - Parameter chain: the kept rows before it.
  func kept(_ row: StoredRow, after chain: StoreChain, head: Int64) throws -> StoredRow {
    guard !chain.holds(row) else { return row }
    let stored = try storing(plainBytes(of: row), in: row, after: chain, isHead: row.id == head)
    try update(stored)
    return stored
  }

  /// Removes revisions of a key, given in descending order. Deltas of them that others saved meanwhile are stored whole.
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

  /// The deltas of a revision, with their content and the number of inflations that each takes.
  func deltas(of id: Int64) throws -> [(row: StoredRow, bytes: [UInt8], inflations: Int)] {
    try Int64.fetchAll(statement("SELECT id FROM \(tables.revisions) WHERE base = ?"), arguments: [id]).map { id in
      guard let row = try revision(id) else { throw missingRow(nil) }
      inflations = 0
      return (row, try plainBytes(of: row), inflations)
    }
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
    // Counted last, because counts are not rolled back if an earlier step fails.
    for definition in definitions { count(definition, revisions: -1, heads: 0) }
    return bytes
  }

  /// The error for a revision that an index has and the table lacks.
  func missingRow(_ seq: Int64?) -> StoreError {
    StoreError(.damaged, "a revision is missing; check the store, then salvage it", revision: seq.map { Int($0) })
  }

  /// Whether a revision exists. Identifiers are never reused.
  func isThere(_ id: Int64) throws -> Bool {
    try Int64.fetchOne(statement("SELECT id FROM \(tables.revisions) WHERE id = ?"), arguments: [id]) != nil
  }

  /// The approximate size of a revision in bytes, with the shared content that it may be the only one to refer to.
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

  /// The identifiers of up to `limit` revisions of a key after the number `seq`, in ascending order.
  func revisionIDs(ofKey key: Int64, after seq: Int64, limit: Int) throws -> [(id: Int64, seq: Int64)] {
    try StatementRow.all(
      of: statement("SELECT id, seq FROM \(tables.revisions) WHERE key = ? AND seq > ? ORDER BY seq LIMIT ?"),
      [key, seq, limit]
    ) { (try $0.column(0), try $0.column(1)) }
  }

  /// - Returns: the blobs that the revision referred to.
  func removePieces(of revision: Int64) throws -> [Int64] {
    let blobs = try Int64.fetchAll(
      statement("SELECT blob FROM \(tables.pieces) WHERE revision = ?"), arguments: [revision])
    if !blobs.isEmpty { try execute("DELETE FROM \(tables.pieces) WHERE revision = ?", [revision]) }
    return blobs
  }
}
