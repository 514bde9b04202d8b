internal import Foundation
internal import GRDB
internal import StrataCore

extension StoreTransaction {
  /// Returns the result of `body`, or `nil` if `body` fails because of damage.
  func intact<R>(_ body: () throws -> R?) throws -> R? {
    do { return try body() } catch  where StoreError.isDamage(error, db) { return nil }
  }

  /// Returns the content of a revision, or `nil` for a deletion. Finds separately stored strings and data by their digests in the
  /// content, because the table that lists them may be damaged.
  func salvaged(_ row: StoredRow) throws -> StoredContent? {
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
    do { _ = try content.value(store.options) } catch let error
      as StoreError
      where error.code == .notDecodable
    {
      // A revision that cannot be decoded is kept, because its bytes are intact and another program may be able to decode them.
    }
    return content
  }

  /// Returns the digests in all byte sequences that look like references to separately stored content. A reference consists of the CBOR
  /// tag 57342 and a byte string of 33 bytes.
  private static func digests(in bytes: [UInt8]) -> [[UInt8]] {
    let mark: [UInt8] = [0xD9, 0xDF, 0xFE, 0x58, 0x21]
    var found: [[UInt8]] = []
    var index = 0
    while index + mark.count + 33 <= bytes.count {
      guard bytes[index] == mark[0], bytes[index..<index + mark.count].elementsEqual(mark) else {
        index += 1
        continue
      }
      let start = index + mark.count + 1
      found.append(Array(bytes[start..<start + 32]))
      index = start + 32
    }
    return found
  }

  /// Copies a revision from another store to this store. The copy keeps the sequence, number and time of the revision.
  ///
  /// - Parameter content: the content of the revision, or `nil` for a deletion.
  /// - Returns: `true` if the revision was copied, or `false` if the key already has a revision with this number or a higher
  ///   number.
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
    try add(row, content?.contents.all ?? [:], to: name, after: head?.row)
    return true
  }

  /// Raises the last sequence of the store to at least `last`, so that new revisions get greater sequences.
  func setLastSequence(_ last: Int64) throws {
    try execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [last, tables.revisions])
    // If the store has never had a revision, there was no row to update, so the row is inserted.
    guard db.changesCount == 0, last > 0 else { return }
    try execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [tables.revisions, last])
  }
}
