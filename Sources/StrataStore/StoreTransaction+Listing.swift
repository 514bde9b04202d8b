internal import Foundation
internal import GRDB

extension StoreTransaction {
  /// The last revisions of the keys that begin with a prefix, in the order of the keys' bytes.
  ///
  /// - Parameters:
  ///   - prefix: the prefix of the keys; all keys if it is empty.
  ///   - last: the key after which to begin, for reading page by page.
  ///   - limit: the most revisions to return.
  ///   - deleted: whether to include keys without a value.
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of returned keys, and of deleted ones between them.
  public func revisions(
    prefix: String = "", after last: String? = nil, limit: Int = .max, deleted: Bool = false
  ) throws -> [StoreRevision] {
    try rows(prefix: prefix, after: last.map { Data($0.utf8) }, limit: limit, deleted: deleted)
      .map { try described($0.row.get(), $0.key.name) }
  }

  /// All revisions of the store after one, in the order in which they were saved.
  ///
  /// - Parameters:
  ///   - sequence: the ``StoreRevision/sequence`` after which to begin.
  ///   - limit: the most revisions to return.
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of returned revisions.
  public func revisions(since sequence: Int64, limit: Int = .max) throws -> [StoreRevision] {
    try rows(since: sequence, limit: limit).map { try $0.revision.get() }
  }

  // MARK: Inside

  /// The result of reading one row. Damage is a failure of that row. Other errors are thrown, because they concern no row.
  func result<R>(_ body: () throws -> R) throws -> Result<R, any Error> {
    do { return .success(try body()) } catch  where StoreError.isDamage(error, db) { return .failure(error) }
  }

  /// All revisions after a sequence. A damaged one is replaced by its error.
  func rows(since sequence: Int64, limit: Int) throws -> [(id: Int64, revision: Result<StoreRevision, any Error>)] {
    let sql = """
      SELECT \(StoredRow.qualifiedColumns), \(StoredKey.columns) FROM \(tables.revisions) r
      LEFT JOIN \(tables.keys) k ON k.id = r.key WHERE r.id > ? ORDER BY r.id LIMIT ?
      """
    return try StatementRow.all(of: statement(sql), [sequence, limit]) { row in
      let id: Int64 = try row.column(0)
      var name: String?
      let revision = try result {
        guard try (row.nullable(14) as Int64?) != nil else {
          throw StoreError(.damaged, "the key of a revision is missing; check the store, then salvage it")
        }
        let key = try StoredKey(row, at: 13)
        name = key.name
        try key.check()
        return try described(StoredRow(row), key.name)
      }
      return (id, revision.mapError { StoreError.ofRow($0, key: name, revision: nil) })
    }
  }

  /// The last revisions of keys, in the order of the keys' bytes.
  ///
  /// - Returns: the rows. A damaged one is replaced by its error.
  /// - Throws: ``StoreError`` with the code `damaged` if the keys are not in order, so that the next page cannot be found.
  func rows(
    prefix: String, after last: Data?, limit: Int, deleted: Bool
  ) throws -> [(key: StoredKey, row: Result<StoredRow, any Error>)] {
    try keys(
      prefix: prefix, after: last, limit: limit, columns: StoredRow.qualifiedColumns,
      from: "\(tables.keys) k LEFT JOIN \(tables.revisions) r ON r.id = k.head",
      where: deleted ? "TRUE" : "(r.id IS NULL OR r.definition IS NOT NULL)"
    ) { key, row in
      (
        key,
        try result {
          try key.check()
          guard try (row.nullable(0) as Int64?) != nil else {
            throw StoreError(.damaged, "the last revision of a key is missing; check the store, then salvage it")
          }
          let stored = try StoredRow(row)
          guard stored.key == key.id else {
            throw StoreError(
              .damaged, "the last revision of a key belongs to a different key; " + "check the store, then salvage it")
          }
          return stored
        }.mapError { StoreError.ofRow($0, key: key.name, revision: nil) }
      )
    }
  }

  /// Keys that begin with a prefix, in the order of their bytes.
  func keys(prefix: String, after last: Data?, limit: Int) throws -> [StoredKey] {
    try keys(prefix: prefix, after: last, limit: limit, columns: "0", from: "\(tables.keys) k", where: "TRUE") {
      key, _ in key
    }
  }

  /// - Parameter columns: the columns to select before the columns of the key.
  private func keys<R>(
    prefix: String, after last: Data?, limit: Int, columns: String, from: String, where condition: String,
    _ body: (StoredKey, StatementRow) throws -> R
  ) throws -> [R] {
    try Self.checkText(prefix, "a prefix")
    let index = columns.split(separator: ",").count
    // Only the higher lower bound is used. SQLite seeks by one bound and compares each row with the other, so a page
    // might read all pages before it.
    let beginning = Data(prefix.utf8)
    let isAfter = last.map { !$0.lexicographicallyPrecedes(beginning) } ?? false
    // Text is compared by its bytes, and any blob sorts after any text.
    let sql = """
      SELECT \(columns), \(StoredKey.columns) FROM \(from)
      WHERE k.name \(isAfter ? ">" : ">=") CAST(?1 AS TEXT) AND k.name < ?2 AND \(condition) ORDER BY k.name LIMIT ?3
      """
    var before = last ?? Data()
    return try StatementRow.all(
      of: statement(sql), [isAfter ? last : beginning, prefix.endOfPrefix ?? Data(), limit]
    ) { row in
      let key = try StoredKey(row, at: index)
      guard before.lexicographicallyPrecedes(key.bytes) else {
        throw StoreError(.damaged, "the keys are not in the order of their names; check the store, then salvage it")
      }
      before = key.bytes
      return try body(key, row)
    }
  }
}

extension String {
  /// The least text that sorts after all texts with this prefix; `nil` if there is none.
  var endOfPrefix: (any DatabaseValueConvertible)? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // U+D7FF is followed by surrogates, which no text has.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var end = String.UnicodeScalarView(scalars)
      end.append(scalar)
      return String(end)
    }
    return nil
  }
}
