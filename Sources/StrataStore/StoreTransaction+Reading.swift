public import Foundation
internal import GRDB
public import StrataCore

extension StoreTransaction {
  /// Returns the value of a key. A value that was saved by an older version of its type is upgraded in memory.
  ///
  /// - Returns: the value, or `nil` if the key did not exist at that point or was deleted.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that does not exist, `newerModel`, `damaged`
  ///   or `notDecodable`.
  /// - Complexity: the same as decoding. An earlier revision with number n additionally needs at most ⌈log2 n⌉ + 1 DEFLATE
  ///   decompressions, and reads at most 15 rows for each hexadecimal digit of n.
  public func value<T: Archivable>(
    _ type: T.Type = T.self, for key: String, at point: StorePoint = .latest
  ) throws -> T? {
    try content(for: key, at: point)?.decode(T.self, store.options)
  }

  /// Returns the value of a key as an `ArchiveValue`, without using the program's types.
  ///
  /// - Throws: the same errors as `value(_:for:at:)`.
  public func untypedValue(for key: String, at point: StorePoint = .latest) throws -> ArchiveValue? {
    try content(for: key, at: point)?.value(store.options)
  }

  /// Returns the value of a key as an archive, in the format of `ArchiveEncoder`. The value keeps the model version with which
  /// it was saved.
  ///
  /// - Throws: the same errors as `value(_:for:at:)`, or ``StoreError/Code/notFound`` if the key has no value.
  public func archive(
    of key: String, at point: StorePoint = .latest, compression: CompressionLevel = .balanced
  ) throws -> Data {
    guard let content = try content(for: key, at: point) else {
      throw StoreError.notFound("the key has no value to export", key: key)
    }
    return try content.archive(store.options, compression)
  }

  /// Returns the metadata of a revision, without its content. A deletion is also a revision.
  ///
  /// - Returns: the metadata, or `nil` if the key did not exist at that point.
  /// - Throws: ``StoreError`` with the code `notFound` for a revision or a label that does not exist, or `damaged`.
  public func revision(of key: String, at point: StorePoint = .latest) throws -> StoreRevision? {
    try row(of: key, at: point).map { try described($0, key) }
  }

  /// Returns all revisions of a key, oldest first. Deletions are included. Empty if the key does not exist.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` or `fileSystem`.
  /// - Complexity: linear in the number of revisions. Their contents are read, but not decoded.
  public func history(of key: String) throws -> [StoreRevision] {
    guard let head = try head(of: key) else { return [] }
    return try revisions(ofKey: head.key).map { try described($0, key) }
  }

  /// Returns the differences between two revisions of a key, by key path. The revisions are compared as they were saved,
  /// without upgrades. Shared objects are compared by their fields, and a deletion is compared as null.
  ///
  /// If the two revisions contain different versions of a model, the model is compared field by field. A field that only one version
  /// has is reported as added or removed. To upgrade both revisions before the comparison, use
  /// ``difference(of:as:from:to:elementsBy:)``.
  ///
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - old: the revision to compare from.
  ///   - new: the revision to compare to. The default is the last revision.
  ///   - elements: the field that identifies the elements of arrays.
  /// - Throws: ``StoreError`` with the code `notFound`, `damaged` or `notDecodable`.
  /// - Complexity: the cost of reading both revisions, plus the cost of `ValueDifference`.
  public func difference(
    of key: String, from old: StorePoint, to new: StorePoint = .latest, elementsBy elements: IdentityKey = "id"
  ) throws -> ValueDifference {
    let before = try untypedValue(for: key, at: old), after = try untypedValue(for: key, at: new)
    let aligned = ValueVersions.aligned(before ?? .null, after ?? .null)
    return ValueDifference(from: aligned.old, to: aligned.new, elementsBy: elements)
  }

  /// Returns the differences between two revisions of a key, after upgrading both revisions to the current version of their
  /// type. Changes that result only from migration steps and hooks are therefore not reported.
  ///
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - type: the type that both revisions are decoded as.
  ///   - old: the revision to compare from.
  ///   - new: the revision to compare to. The default is the last revision.
  ///   - elements: the field that identifies the elements of arrays.
  /// - Throws: the same errors as `value(_:for:at:)`, or `notEncodable` if an upgraded value cannot be encoded.
  /// - Complexity: the cost of reading, decoding and encoding both revisions, plus the cost of `ValueDifference`.
  public func difference<T: Archivable>(
    of key: String, as type: T.Type, from old: StorePoint, to new: StorePoint = .latest,
    elementsBy elements: IdentityKey = "id"
  ) throws -> ValueDifference {
    let before = try content(for: key, at: old)?.upgradedValue(type, store.options)
    let after = try content(for: key, at: new)?.upgradedValue(type, store.options)
    return ValueDifference(from: before ?? .null, to: after ?? .null, elementsBy: elements)
  }

  // MARK: Labels

  /// Sets a label on a revision. A ``StorePoint`` can refer to the revision by this label. Pruning keeps labelled revisions. If
  /// another revision of the key already has this label, the label is moved.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `invalid` for a name that is empty or longer than 200 bytes, or
  ///   `readOnly`.
  public func setLabel(_ name: String, of key: String, at point: StorePoint = .latest) throws {
    try checkCanWrite()
    guard !name.isEmpty, name.utf8.count <= 200 else {
      throw StoreError(
        .invalid,
        "a label must be 1 to 200 bytes long")
    }
    try Self.checkText(name, "a label", key: key)
    guard let row = try row(of: key, at: point) else {
      throw StoreError.notFound("the key has no revision to label", key: key)
    }
    // A label is refused if it differs from an existing label only in Unicode normalization. As Swift strings, the two labels
    // are equal, so the dictionary returned by `labels(of:)` could not contain both.
    let known = try String.fetchAll(
      statement("SELECT name FROM \(tables.labels) WHERE key = ?"), arguments: [row.key])
    if let twin = known.first(where: { $0 == name }), !twin.utf8.elementsEqual(name.utf8) {
      throw StoreError(
        .invalid,
        "the key already has the label in a different Unicode normalization; use the existing label, or remove it "
          + "first", key: key)
    }
    try execute(
      """
      INSERT INTO \(tables.labels) (key, name, revision, crc) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (key, name) DO UPDATE SET revision = ?3, crc = ?4
      """, [row.key, name, row.id, StoredKey.checksum(ofLabel: name, key: row.key, revision: row.id)])
  }

  /// Removes a label. The revision is kept.
  ///
  /// - Throws: ``StoreError`` with the code `notFound` or `readOnly`.
  public func removeLabel(_ name: String, of key: String) throws {
    try checkCanWrite()
    try Self.checkText(name, "a label", key: key)
    guard let head = try head(of: key) else { throw StoreError.notFound("the key does not exist", key: key) }
    try execute("DELETE FROM \(tables.labels) WHERE key = ? AND name = ?", [head.key, name])
    guard db.changesCount > 0 else { throw StoreError.notFound("the label “\(name)” does not exist", key: key) }
  }

  /// Returns the labels of a key, with the number of each label's revision. Empty if the key does not exist.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` or `fileSystem`.
  public func labels(of key: String) throws -> [String: Int] {
    guard let head = try head(of: key) else { return [:] }
    var labels: [String: Int] = [:]
    for (name, revision) in try self.labels(ofKey: head.key) {
      let seq = try Int.fetchOne(statement("SELECT seq FROM \(tables.revisions) WHERE id = ?"), arguments: [revision])
      guard let seq else {
        throw StoreError(
          .damaged,
          "the label “\(name)” refers to a missing revision; remove the label, or set it again", key: key)
      }
      labels[name] = seq
    }
    return labels
  }

  /// Returns the labels of a key, with the ``StoreRevision/sequence`` of each label's revision.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the checksum of a label does not match.
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

  /// Returns the content of a revision, or `nil` for a deletion. If an error is thrown, it includes the key and the revision number.
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

  /// Decodes the content and thereby upgrades it to the current version of the type. Returns the result as an `ArchiveValue`.
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
