internal import Foundation
internal import GRDB

extension StoreTransaction {
  /// Returns the last revision of each key that begins with a prefix, sorted by the bytes of the keys.
  ///
  /// - Parameters:
  ///   - prefix: the prefix of the keys. If it is empty, all keys are included.
  ///   - last: the key after which to begin. To read page by page, pass the last key of the previous page.
  ///   - limit: the maximum number of revisions to return.
  ///   - deleted: whether to include keys whose last revision is a deletion.
  /// - Throws: ``StoreError`` with the code `damaged` or `fileSystem`.
  /// - Complexity: linear in the number of returned keys, plus the deleted keys between them.
  public func revisions(
    prefix: String = "", after last: String? = nil, limit: Int = .max, deleted: Bool = false
  ) throws -> [StoreRevision] {
    try rows(prefix: prefix, after: last.map { Data($0.utf8) }, limit: limit, deleted: deleted)
      .map { try described($0.row.get(), $0.key.name) }
  }

  /// Returns all revisions with a higher sequence than the given sequence, in the order in which they were saved.
  ///
  /// - Parameters:
  ///   - sequence: the ``StoreRevision/sequence`` after which to begin.
  ///   - limit: the maximum number of revisions to return.
  /// - Throws: ``StoreError`` with the code `damaged` or `fileSystem`.
  /// - Complexity: linear in the number of returned revisions.
  public func revisions(since sequence: Int64, limit: Int = .max) throws -> [StoreRevision] {
    try rows(since: sequence, limit: limit).map { try $0.revision.get() }
  }

  // MARK: Inside

  /// Returns the result of `body`, which reads one row. If `body` throws because the row is damaged, returns the error as a failure.
  /// Other errors are not about a single row, so they are rethrown.
  func result<R>(_ body: () throws -> R) throws -> Result<R, any Error> {
    do { return .success(try body()) } catch  where StoreError.isDamage(error, db) { return .failure(error) }
  }

  /// Returns the revisions with a higher sequence than the given sequence. If a revision is damaged, its element contains the error
  /// instead.
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

  /// Returns the last revision of each key, sorted by the bytes of the keys.
  ///
  /// - Returns: the keys and their rows. For a damaged row, the element contains the error instead of the row.
  /// - Throws: ``StoreError`` with the code `damaged` if the keys are not sorted, in which case the next page cannot be found.
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
              .damaged, "the last revision of a key belongs to a different key; check the store, then salvage it")
          }
          return stored
        }.mapError { StoreError.ofRow($0, key: key.name, revision: nil) }
      )
    }
  }

  /// Returns the keys that begin with a prefix, sorted by their bytes.
  func keys(prefix: String, after last: Data?, limit: Int) throws -> [StoredKey] {
    try keys(prefix: prefix, after: last, limit: limit, columns: "0", from: "\(tables.keys) k", where: "TRUE") {
      key, _ in key
    }
  }

  /// Selects a page of keys. Calls `body` with each key and its row of selected columns, and returns the results.
  ///
  /// - Parameter columns: the columns to select after the columns of the key.
  private func keys<R>(
    prefix: String, after last: Data?, limit: Int, columns: String, from: String, where condition: String,
    _ body: (StoredKey, StatementRow) throws -> R
  ) throws -> [R] {
    try Self.checkText(prefix, "a prefix")
    let index = columns.split(separator: ",").count
    // The query contains only the higher of the two lower bounds (the prefix and the last key). With both bounds, SQLite would
    // seek to one of them and filter by the other, so it might read all previous pages for each page.
    let beginning = Data(prefix.utf8)
    let isAfter = last.map { !$0.lexicographicallyPrecedes(beginning) } ?? false
    // SQLite compares text by its bytes, and sorts every blob after every text. The empty blob is therefore an upper bound for all
    // keys.
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
        throw StoreError(.damaged, "the keys of the store are not sorted by name; check the store, then salvage it")
      }
      before = key.bytes
      return try body(key, row)
    }
  }
}

extension String {
  /// The smallest string that sorts after all strings that begin with this string, or `nil` if there is no such string.
  var endOfPrefix: (any DatabaseValueConvertible)? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // The surrogates follow U+D7FF. They are skipped because they are not valid in strings.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var end = String.UnicodeScalarView(scalars)
      end.append(scalar)
      return String(end)
    }
    return nil
  }
}
