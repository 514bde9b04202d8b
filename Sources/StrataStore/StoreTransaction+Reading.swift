public import Foundation
internal import GRDB
public import StrataCore

extension StoreTransaction {
  /// The value of a key, upgraded in memory if an older version saved it.
  ///
  /// - Returns: `nil` if there is no such key at that point, or if it was deleted.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that does not exist, `newerModel`,
  ///   `damaged`, `notDecodable`.
  /// - Complexity: as decoding; for an earlier revision n also at most ⌈log2 n⌉ + 1 inflations, and reading at most 15
  ///   rows for each hexadecimal digit of n.
  public func value<T: Archivable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) throws -> T? {
    try content(for: key, at: point)?.decode(T.self, store.options)
  }

  /// The value of a key as an `ArchiveValue`, without its types.
  ///
  /// - Throws: the same errors as `value(_:for:at:)`.
  public func untypedValue(for key: String, at point: StorePoint = .latest) throws -> ArchiveValue? {
    try content(for: key, at: point)?.value(store.options)
  }

  /// The archive of a value, as `ArchiveEncoder` encodes it, in the version of the model that saved it.
  ///
  /// - Throws: the same errors as `value(_:for:at:)`; ``StoreError/Code/notFound`` if there is no value.
  public func archive(
    of key: String, at point: StorePoint = .latest, compression: CompressionLevel = .balanced
  ) throws -> Data {
    guard let content = try content(for: key, at: point) else { throw StoreError.notFound("value to export", key: key) }
    return try content.archive(store.options, compression)
  }

  /// The metadata of a revision, without its content.
  ///
  /// - Returns: `nil` if there is no such key at that point. A deletion is a revision.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that does not exist, `damaged`.
  public func revision(of key: String, at point: StorePoint = .latest) throws -> StoreRevision? {
    try row(of: key, at: point).map { try described($0, key) }
  }

  /// All revisions of a key, the first one first; empty if there is no such key. Deletions are revisions too.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  /// - Complexity: linear in the number of revisions, whose content is read but not decoded.
  public func history(of key: String) throws -> [StoreRevision] {
    guard let head = try head(of: key) else { return [] }
    return try revisions(ofKey: head.key).map { try described($0, key) }
  }

  /// The difference between two revisions of a key as they were saved, by key path. Objects with identity are compared by
  /// their fields, and a deletion is compared as null.
  ///
  /// If the revisions hold different versions of a model, it is compared field by field: a field that only one version
  /// has counts as added or removed. ``difference(of:as:from:to:elementsBy:)`` upgrades both sides first.
  ///
  /// - Parameters:
  ///   - key: its name in the store.
  ///   - old: the old side.
  ///   - new: the new side; by default the last revision.
  ///   - elements: the key that identifies the elements of arrays.
  /// - Throws: ``StoreError`` with the code `notFound`, `damaged`, `notDecodable`.
  /// - Complexity: as opening both revisions, and as `ValueDifference`.
  public func difference(
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: IdentityKey = "id"
  ) throws -> ValueDifference {
    let before = try untypedValue(for: key, at: old), after = try untypedValue(for: key, at: new)
    let aligned = ValueVersions.aligned(before ?? .null, after ?? .null)
    return ValueDifference(from: aligned.old, to: aligned.new, elementsBy: elements)
  }

  /// The difference between two revisions of a key, both upgraded to the current version of their type: changes by
  /// migration steps and hooks are not differences.
  ///
  /// - Parameters:
  ///   - key: its name in the store.
  ///   - type: the type that both are decoded as.
  ///   - old: the old side.
  ///   - new: the new side; by default the last revision.
  ///   - elements: the key that identifies the elements of arrays.
  /// - Throws: the same errors as `value(_:for:at:)`; `notEncodable` if a value that was read cannot be encoded.
  /// - Complexity: as opening, decoding and encoding both revisions, and as `ValueDifference`.
  public func difference<T: Archivable>(
    of key: String, as type: T.Type, from old: StorePoint, to new: StorePoint = .latest,
    elementsBy elements: IdentityKey = "id"
  ) throws -> ValueDifference {
    let before = try content(for: key, at: old)?.upgradedValue(type, store.options)
    let after = try content(for: key, at: new)?.upgradedValue(type, store.options)
    return ValueDifference(from: before ?? .null, to: after ?? .null, elementsBy: elements)
  }

  // MARK: Labels

  /// Sets a label on a revision, by which it can be found. Prunes keep labelled revisions. A label of another revision of
  /// the key moves to this one.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `invalid` for a name that is empty or of more than 200 bytes,
  ///   `readOnly`.
  public func setLabel(_ name: String, of key: String, at point: StorePoint = .latest) throws {
    try checkCanWrite()
    guard !name.isEmpty, name.utf8.count <= 200 else { throw StoreError(.invalid, "a label must have 1 to 200 bytes") }
    try Self.checkText(name, "a label", key: key)
    guard let row = try row(of: key, at: point) else { throw StoreError.notFound("revision to label", key: key) }
    // Texts that differ only in normalization are equal in Swift, so `labels(of:)` could not return both.
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

  /// Removes a label. The revision is kept.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `readOnly`.
  public func removeLabel(_ name: String, of key: String) throws {
    try checkCanWrite()
    try Self.checkText(name, "a label", key: key)
    guard let head = try head(of: key) else { throw StoreError.notFound("such key", key: key) }
    try execute("DELETE FROM \(tables.labels) WHERE key = ? AND name = ?", [head.key, name])
    guard db.changesCount > 0 else { throw StoreError.notFound("label \(name)", key: key) }
  }

  /// The labels of a key, with the numbers of their revisions; empty if there is no such key.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, `fileSystem`.
  public func labels(of key: String) throws -> [String: Int] {
    guard let head = try head(of: key) else { return [:] }
    var labels: [String: Int] = [:]
    for (name, revision) in try self.labels(ofKey: head.key) {
      let seq = try Int.fetchOne(statement("SELECT seq FROM \(tables.revisions) WHERE id = ?"), arguments: [revision])
      guard let seq else {
        throw StoreError(.damaged, "label \(name) refers to no revision; remove it, or set it again", key: key)
      }
      labels[name] = seq
    }
    return labels
  }

  /// The labels of a key, with the sequences of their revisions.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the checksum of one of them is wrong.
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

  func content(for key: String, at point: StorePoint) throws -> StoredContent? {
    do {
      guard let row = try row(of: key, at: point) else { return nil }
      return try keyed(row, key)
    } catch { throw StoreError.ofRow(error, key: key, revision: nil, db) }
  }

  /// The content of a revision, with the key and number for errors.
  func keyed(_ row: StoredRow, _ key: String) throws -> StoredContent? {
    do {
      var content = try content(of: row)
      content?.key = key
      return content
    } catch { throw StoreError.ofRow(error, key: key, revision: Int(row.seq), db) }
  }
}

extension StoredContent {
  func decode<T: Archivable>(_ type: T.Type, _ options: StoreOptions) throws -> T {
    var report = DecodingReport()
    return try inRow {
      try options.decoder.decodeRow(
        T.self, from: bytes.bytes, definitions: definition.records, contents: contents, report: &report)
    }
  }

  func value(_ options: StoreOptions) throws -> ArchiveValue {
    try inRow {
      try options.decoder.decodeRowValue(from: bytes.bytes, definitions: definition.records, contents: contents)
    }
  }

  /// The value as the current type would save it, without its types.
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
        .encode(asRead: root, stamp: definition.stamp(of: root))
    }
  }

  func inRow<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch { throw StoreError.ofRow(error, key: key, revision: revision) }
  }
}
