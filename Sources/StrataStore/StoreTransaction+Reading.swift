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
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: IdentityKey = "id"
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
    elementsBy elements: IdentityKey = "id"
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
    try Self.checkText(name, "a label", key: key)
    guard let row = try row(of: key, at: point) else { throw StoreError.notFound("revision to label", key: key) }
    // Texts that differ in their bytes alone are one for Swift, and so for whoever reads the labels.
    let known = try String.fetchAll(
      statement("SELECT name FROM \(tables.labels) WHERE key = ?"), arguments: [row.key])
    if let twin = known.first(where: { $0 == name }), !twin.utf8.elementsEqual(name.utf8) {
      throw StoreError(
        .invalid, "the key has this label in another Unicode normalization; use the same, or remove it first", key: key)
    }
    try execute(
      """
      INSERT INTO \(tables.labels) (key, name, revision, crc) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (key, name) DO UPDATE SET revision = ?3, crc = ?4
      """, [row.key, name, row.id, StoredKey.checksum(ofLabel: name, key: row.key, revision: row.id)])
  }

  /// Takes a label away. The revision stays.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `readOnly`.
  public func removeLabel(_ name: String, of key: String) throws {
    try checkCanWrite()
    try Self.checkText(name, "a label", key: key)
    guard let head = try head(of: key) else { throw StoreError.notFound("such key", key: key) }
    try execute("DELETE FROM \(tables.labels) WHERE key = ? AND name = ?", [head.key, name])
    guard db.changesCount > 0 else { throw StoreError.notFound("label \(name)", key: key) }
  }

  /// The labels of a key, with the numbers of their revisions; none where there is no such key.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  public func labels(of key: String) throws -> [String: Int] {
    guard let head = try head(of: key) else { return [:] }
    var labels: [String: Int] = [:]
    for (name, revision) in try self.labels(ofKey: head.key) {
      let seq = try Int.fetchOne(statement("SELECT seq FROM \(tables.revisions) WHERE id = ?"), arguments: [revision])
      guard let seq else {
        throw StoreError(.damaged, "label \(name) is on no revision; remove it, or set it anew", key: key)
      }
      labels[name] = seq
    }
    return labels
  }

  /// The labels of a key, with the sequences of their revisions.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` where one of them is not as it was set.
  func labels(ofKey key: Int64) throws -> [(name: String, revision: Int64)] {
    try StatementRow.all(of: statement("SELECT name, revision, crc FROM \(tables.labels) WHERE key = ?"), [key]) {
      row in
      let name: String = try row.column(0), revision: Int64 = try row.column(1)
      try StoredKey.check(label: name, key: key, revision: revision, row.column(2))
      return (name, revision)
    }
  }

  // MARK: Inside

  func described(_ row: StoredRow, _ key: String) throws -> StoreRevision {
    StoreRevision(row, key: key, try row.definition.map { try definition($0) })
  }

  func content(for key: String, at point: StorePoint) throws -> KeyedContent? {
    do {
      guard let row = try row(of: key, at: point) else { return nil }
      return try keyed(row, key)
    } catch { throw StoreError.ofRow(error, key: key, revision: nil, db) }
  }

  /// What a revision holds, with the key and number that errors name.
  func keyed(_ row: StoredRow, _ key: String) throws -> KeyedContent? {
    do {
      return try content(of: row).map { KeyedContent(key: key, revision: Int(row.seq), content: $0) }
    } catch { throw StoreError.ofRow(error, key: key, revision: Int(row.seq), db) }
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
        T.self, from: content.bytes.bytes, definitions: content.definition.records, contents: content.contents,
        report: &report)
    }
  }

  func value(_ options: StoreOptions) throws -> ArchiveValue {
    try inRow {
      try options.decoder.decodeRowValue(
        from: content.bytes.bytes, definitions: content.definition.records, contents: content.contents)
    }
  }

  /// The value as today's type would be saved, without its types.
  func upgradedValue<T: Archivable>(_ type: T.Type, _ options: StoreOptions) throws -> ArchiveValue {
    let value = try decode(type, options)
    let row: EncodedRow
    do { row = try options.encoder.encodeRow(value, shapes: []) } catch { throw StoreError.ofSaving(error, key: key) }
    return try inRow {
      try options.decoder.decodeRowValue(
        from: row.bytes.bytes, definitions: ArchiveReader.definitions(of: row.parts.shapes),
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
