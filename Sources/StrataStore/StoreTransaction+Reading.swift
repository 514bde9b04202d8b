public import Foundation
internal import GRDB
public import StrataCore

extension StoreTransaction {
  /// The value of a key, upgraded in memory where an older version saved it.
  ///
  /// - Returns: `nil` where there is no such key at that point, or where it was deleted.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that is not there, `newerModel`, `damaged`,
  ///   `notDecodable`.
  /// - Complexity: that of decoding; of an earlier revision n also of at most ⌈log2 n⌉ + 1 inflations, and of reading at most
  ///   15 rows for each hexadecimal digit of n.
  public func value<T: Archivable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) throws -> T? {
    try content(for: key, at: point)?.decode(T.self, core.options)
  }

  /// What a key holds, without its types.
  ///
  /// - Throws: as `value(_:for:at:)`.
  public func untypedValue(for key: String, at point: StorePoint = .latest) throws -> ArchiveValue? {
    try content(for: key, at: point)?.value(core.options)
  }

  /// The archive of a value: the bytes that `ArchiveEncoder` makes of it, by the model's version that saved it.
  ///
  /// - Throws: as `value(_:for:at:)`; ``StoreError/Code/notFound`` where there is no value.
  public func archive(
    of key: String, at point: StorePoint = .latest, compression: CompressionLevel = .balanced
  ) throws -> Data {
    guard let content = try content(for: key, at: point) else { throw StoreError.notFound("value to export", key: key) }
    return try content.archive(core.options, compression)
  }

  /// What is known of a revision without its content.
  ///
  /// - Returns: `nil` where there is no such key at that point. A deletion is a revision.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that is not there, `damaged`.
  public func revision(of key: String, at point: StorePoint = .latest) throws -> StoreRevision? {
    try row(of: key, at: point).map { try described($0, key) }
  }

  /// All revisions of a key, the first one first; none where there is no such key. Deletions are revisions too.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of revisions, whose content is read and not decoded.
  public func history(of key: String) throws -> [StoreRevision] {
    guard let head = try head(of: key) else { return [] }
    return try revisions(ofKey: head.key).map { try described($0, key) }
  }

  /// What differs between two revisions of a key, key path by key path, as they were saved. Objects with identity are
  /// compared by their fields, and a deletion is compared as null.
  ///
  /// Where the revisions hold different versions of a model, it is compared field by field: a field that only one version
  /// has was added or removed. ``difference(of:as:from:to:elementsBy:)`` upgrades both sides before.
  ///
  /// - Parameters:
  ///   - key: its name in the store.
  ///   - old: the revision that is compared with the other one.
  ///   - new: the other one; the last one unless given.
  ///   - elements: the key that tells the elements of arrays apart.
  /// - Throws: ``StoreError`` with the code `notFound`, `damaged`, `notDecodable`.
  /// - Complexity: that of opening both revisions, and of `ValueDifference`.
  public func difference(
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: String = "id"
  ) throws -> ValueDifference {
    let before = try untypedValue(for: key, at: old), after = try untypedValue(for: key, at: new)
    let aligned = ValueVersions.aligned(before ?? .null, after ?? .null)
    return ValueDifference(from: aligned.old, to: aligned.new, elementsBy: elements)
  }

  /// What differs between two revisions of a key, both upgraded to today's version of their type: what steps and hooks
  /// make of an older one is no difference.
  ///
  /// - Parameters:
  ///   - key: its name in the store.
  ///   - type: the type that both are decoded as.
  ///   - old: the revision that is compared with the other one.
  ///   - new: the other one; the last one unless given.
  ///   - elements: the key that tells the elements of arrays apart.
  /// - Throws: as `value(_:for:at:)`; `notEncodable` where a value that was read cannot be encoded.
  /// - Complexity: that of opening, decoding and encoding both revisions, and of `ValueDifference`.
  public func difference<T: Archivable>(
    of key: String, as type: T.Type, from old: StorePoint, to new: StorePoint = .latest,
    elementsBy elements: String = "id"
  ) throws -> ValueDifference {
    let before = try content(for: key, at: old)?.upgradedValue(type, core.options)
    let after = try content(for: key, at: new)?.upgradedValue(type, core.options)
    return ValueDifference(from: before ?? .null, to: after ?? .null, elementsBy: elements)
  }

  // MARK: Labels

  /// Gives a revision a name, by which it is found and for which it is kept. A label that another revision of the key has
  /// moves to this one.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `invalid` for a name that is empty or of more than 200 bytes,
  ///   `readOnly`.
  public func setLabel(_ name: String, of key: String, at point: StorePoint = .latest) throws {
    try checkCanWrite()
    guard !name.isEmpty, name.utf8.count <= 200 else { throw StoreError(.invalid, "a label has from 1 to 200 bytes") }
    guard let row = try row(of: key, at: point) else { throw StoreError.notFound("revision to label", key: key) }
    try execute(
      """
      INSERT INTO \(tables.labels) (key, name, revision) VALUES (?1, ?2, ?3)
      ON CONFLICT (key, name) DO UPDATE SET revision = ?3
      """, [row.key, name, row.id])
  }

  /// Takes a label away. The revision stays.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `readOnly`.
  public func removeLabel(_ name: String, of key: String) throws {
    try checkCanWrite()
    guard let head = try head(of: key) else { throw StoreError.notFound("such key", key: key) }
    try execute("DELETE FROM \(tables.labels) WHERE key = ? AND name = ?", [head.key, name])
    guard db.changesCount > 0 else { throw StoreError.notFound("label \(name)", key: key) }
  }

  /// The labels of a key, with the numbers of their revisions; none where there is no such key.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  public func labels(of key: String) throws -> [String: Int] {
    guard let head = try head(of: key) else { return [:] }
    let rows = try Row.fetchAll(
      statement(
        """
        SELECT l.name, r.seq FROM \(tables.labels) l JOIN \(tables.revisions) r ON r.id = l.revision WHERE l.key = ?
        """), arguments: [head.key])
    return try Dictionary(rows.map { (try $0.column(0), try $0.column(1)) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Keys

  /// The last revisions of the keys that begin with a prefix, in the order of the keys' bytes.
  ///
  /// - Parameters:
  ///   - prefix: what the keys begin with; all keys where it is empty.
  ///   - last: the key after which to begin, which allows to go on page by page.
  ///   - limit: how many at most.
  ///   - deleted: whether keys without a value are among them.
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of keys that are given, and of deleted ones between them.
  public func revisions(
    prefix: String = "", after last: String? = nil, limit: Int = .max, deleted: Bool = false
  ) throws -> [StoreRevision] {
    try rows(prefix: prefix, after: last, limit: limit, deleted: deleted).map { try described($0.row.get(), $0.key) }
  }

  /// All revisions of the store after one, in the order in which they were saved.
  ///
  /// - Parameters:
  ///   - sequence: the ``StoreRevision/sequence`` after which to begin.
  ///   - limit: how many at most.
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of revisions that are given.
  public func revisions(since sequence: Int64, limit: Int = .max) throws -> [StoreRevision] {
    let sql = """
      SELECT \(StoredRow.qualifiedColumns), k.name FROM \(tables.revisions) r JOIN \(tables.keys) k ON k.id = r.key
      WHERE r.id > ? ORDER BY r.id LIMIT ?
      """
    let rows = try Row.fetchCursor(statement(sql), arguments: [sequence, limit])
      .map { (try StoredRow($0), try $0.column(13) as String) }
    return try Array(rows).map { try described($0, $1) }
  }

  // MARK: Inside

  /// - Returns: the rows, and instead of those that are damaged the errors.
  func rows(
    prefix: String, after last: String?, limit: Int, deleted: Bool
  ) throws -> [(key: String, row: Result<StoredRow, any Error>)] {
    // Text is compared by its bytes, and any blob is more than any text.
    let sql = """
      SELECT \(StoredRow.qualifiedColumns), k.name FROM \(tables.keys) k JOIN \(tables.revisions) r ON r.id = k.head
      WHERE k.name >= ?1 AND k.name > ?2 AND k.name < ?3 AND (?4 OR r.definition IS NOT NULL)
      ORDER BY k.name LIMIT ?5
      """
    var found: [(key: String, row: Result<StoredRow, any Error>)] = []
    let cursor = try Row.fetchCursor(
      statement(sql), arguments: [prefix, last ?? "", prefix.endOfPrefix ?? Data(), deleted, limit])
    while let row = try cursor.next() {
      let key: String = try row.column(13)
      found.append((key, Result { try StoredRow(row) }.mapError { StoreError.ofRow($0, key: key, revision: nil) }))
    }
    return found
  }

  func described(_ row: StoredRow, _ key: String) throws -> StoreRevision {
    StoreRevision(row, key: key, try row.definition.map { try definition($0) })
  }

  func content(for key: String, at point: StorePoint) throws -> KeyedContent? {
    do {
      guard let row = try row(of: key, at: point) else { return nil }
      return try keyed(row, key)
    } catch { throw StoreError.ofRow(error, key: key, revision: nil) }
  }

  /// What a revision holds, with the key and number that errors name.
  func keyed(_ row: StoredRow, _ key: String) throws -> KeyedContent? {
    do {
      return try content(of: row).map { KeyedContent(key: key, revision: Int(row.seq), content: $0) }
    } catch { throw StoreError.ofRow(error, key: key, revision: Int(row.seq)) }
  }
}

/// What a revision holds and where it came from. Decoding needs no database.
struct KeyedContent: Sendable {
  let key: String
  let revision: Int
  let content: StoredContent

  func decode<T: Archivable>(_ type: T.Type, _ options: StoreOptions) throws -> T {
    var report = DecodingReport()
    return try decode(type, options, &report)
  }

  func decode<T: Archivable>(_ type: T.Type, _ options: StoreOptions, _ report: inout DecodingReport) throws -> T {
    try inRow {
      try options.decoder.decodeRow(
        T.self, from: content.bytes.span.bytes, definitions: content.definition.records, contents: content.contents,
        report: &report)
    }
  }

  func value(_ options: StoreOptions) throws -> ArchiveValue {
    try inRow {
      try options.decoder.decodeRowValue(
        from: content.bytes.span.bytes, definitions: content.definition.records, contents: content.contents)
    }
  }

  /// The value as today's type would be saved, without its types.
  func upgradedValue<T: Archivable>(_ type: T.Type, _ options: StoreOptions) throws -> ArchiveValue {
    let value = try decode(type, options)
    let row: EncodedRow
    do { row = try options.encoder.encodeRow(value, shapes: []) } catch { throw StoreError.ofSaving(error, key: key) }
    return try inRow {
      try options.decoder.decodeRowValue(
        from: row.bytes.span.bytes, definitions: ArchiveReader.definitions(of: row.parts.shapes),
        contents: RowContents(row.parts.contents))
    }
  }

  func archive(_ options: StoreOptions, _ compression: CompressionLevel) throws -> Data {
    let root = try value(options)
    return try inRow {
      try ArchiveEncoder(compression: compression, limits: options.limits)
        .encode(asRead: root, stamp: content.definition.stamp(of: root))
    }
  }

  func inRow<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw StoreError.ofRow(error, key: key, revision: revision) }
  }
}

extension String {
  /// The least text that is more than all that begin with this one; `nil` where there is none.
  var endOfPrefix: (any DatabaseValueConvertible)? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // What follows D7FF are surrogates, which no text has.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var end = String.UnicodeScalarView(scalars)
      end.append(scalar)
      return String(end)
    }
    return nil
  }
}
