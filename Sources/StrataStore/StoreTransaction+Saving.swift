public import Foundation
internal import GRDB
public import StrataCore

extension StoreTransaction {
  /// Saves a value under a key, as a new revision. If the value is the same as in the last revision and no note is given, no revision
  /// is added.
  ///
  /// - Parameters:
  ///   - value: the value, of any type that an archive can hold.
  ///   - key: the name under which the store keeps the value, of 1 to 1,000 bytes.
  ///   - author: the author to record in the history.
  ///   - note: the reason to record in the history.
  ///   - condition: the condition on the key's last revision. If the condition is not met, `conflict` is thrown.
  ///   - overNewer: whether to save even if the last revision contains model versions that are newer than those of this
  ///     program. The new revision then lacks the fields that only newer versions have. The history keeps these fields.
  /// - Throws: ``StoreError`` with the code `conflict`, `newerModel`, `notEncodable`, `invalid` or `readOnly`, and errors of
  ///   the database.
  /// - Complexity: the cost of encoding the value, plus the cost of reading an earlier revision of the key with
  ///   `value(_:for:at:)`.
  @discardableResult
  public func save<T: Archivable>(
    _ value: T, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always,
    overNewer: Bool = false
  ) throws -> StoreRevision {
    let head = try begin(key, condition)
    let encoder = store.options.encoder
    let stamp = encoder.stamp(of: value)
    return try save(key, head, stamp, stamp.hasCollectionName, author, note) { shapes in
      try encoder.encodeRow(value, shapes: shapes)
    } check: { definition in
      if !overNewer, let head, head.row.definition != definition.id {
        let catalog = SchemaCatalog(of: T.self, and: store.options.subclasses)
        try checkKnown(head.row, key, definition) { catalog[$0]?.modelVersion }
      }
    }
  }

  /// Saves the value of an archive under a key. The value can be of any type. If it is the same as in the last revision and no note is
  /// given, no revision is added.
  ///
  /// - Parameters:
  ///   - archive: an archive of a single value, not a stream of values.
  ///   - key: the name under which the store keeps the value, of 1 to 1,000 bytes.
  ///   - author: the author to record in the history.
  ///   - note: the reason to record in the history.
  ///   - condition: the condition on the key's last revision. If the condition is not met, `conflict` is thrown.
  ///   - overNewer: whether to save even if the last revision contains newer versions of the archive's models.
  /// - Throws: the same errors as ``save(_:as:author:note:if:overNewer:)``. Throws `newerModel` if the last revision contains a
  ///   newer version of one of the archive's models, and `notEncodable` if the bytes are not an archive.
  @discardableResult
  public func saveArchive(
    _ archive: Data, as key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always,
    overNewer: Bool = false
  ) throws -> StoreRevision {
    let head = try begin(key, condition)
    let (stamp, value): (Stamp, ArchiveValue)
    do { (stamp, value) = try store.options.decoder.decodeStampedValue(from: archive) } catch {
      throw StoreError.ofSaving(error, key: key)
    }
    let countsElements = stamp.hasCollectionName && value.elementCount.map { UInt64($0) } == stamp.count
    return try save(key, head, stamp, countsElements, author, note) { shapes in
      try store.options.encoder.encodeRow(value, stamp: stamp, shapes: shapes)
    } check: { definition in
      if !overNewer, let head, head.row.definition != definition.id {
        let known = definition.content.shapes.flatMap(\.versions)
        let versions = Dictionary(known.map { ($0.typeName, $0.version) }, uniquingKeysWith: max)
        try checkKnown(head.row, key, definition) { versions[$0] }
      }
    }
  }

  /// Deletes the value of a key by adding a revision without a value. The history of the key is kept, and
  /// ``undo(_:author:note:)`` restores the value.
  ///
  /// - Throws: ``StoreError`` with the code `conflict`, `readOnly` or, if the key has no value, `notFound`.
  @discardableResult
  public func delete(
    _ key: String, author: String? = nil, note: String? = nil, if condition: SaveCondition = .always
  ) throws -> StoreRevision {
    guard let head = try begin(key, condition), head.row.form != .tombstone else {
      throw StoreError.notFound("the key has no value to delete", key: key)
    }
    return try append(to: key, head, author, note) { revision in
      revision.form = .tombstone
      revision.action = .delete
    }
  }

  /// Restores an earlier state of a key by saving it as a new revision. The later revisions are kept.
  ///
  /// - Throws: ``StoreError`` with the code `notFound`, `readOnly` or `damaged`.
  @discardableResult
  public func restore(
    _ key: String, to point: StorePoint, author: String? = nil, note: String? = nil
  ) throws -> StoreRevision {
    let head = try begin(key, .always)
    guard let head, let row = try row(of: key, at: point) else {
      throw StoreError.notFound("the key has no revision to restore", key: key)
    }
    return try repeated(row, as: .restore, key, head, author, note)
  }

  // MARK: Inside

  /// Checks the transaction, the key and the condition before a save. Returns the key's last revision, or `nil` for a new key.
  func begin(_ key: String, _ condition: SaveCondition) throws -> (key: Int64, row: StoredRow)? {
    try checkCanWrite()
    guard !key.isEmpty, key.utf8.count <= 1000 else {
      throw StoreError(.invalid, "a key must be 1 to 1,000 bytes long; the given key has \(key.utf8.count) bytes")
    }
    try Self.checkText(key, "a key")
    let head = try head(of: key)
    let exists = head.map { $0.row.form != .tombstone } ?? false
    switch condition {
    case .always: break
    case .isAbsent:
      guard !exists else {
        throw StoreError(
          .conflict,
          "the key already has a value; to replace the value, read it, and save with the condition .isStill "
            + "and its revision number", key: key,
          revision: head.map { Int($0.row.seq) })
      }
    case .isStill(let number):
      guard let head, head.row.seq == Int64(number) else {
        throw StoreError(
          .conflict,
          "the last revision is no longer revision \(number); read the value again, repeat the change, and save",
          key: key, revision: head.map { Int($0.row.seq) })
      }
    }
    return head
  }

  /// Encodes a value with the `encode` closure and saves it as a new revision. The encoder reuses the record shapes of the newest
  /// definition that has the same stamp (type and version).
  func save(
    _ key: String, _ head: (key: Int64, row: StoredRow)?, _ stamp: Stamp, _ countsElements: Bool, _ author: String?,
    _ note: String?, encode: ([RecordShape]) throws -> EncodedRow, check: (Definition) throws -> Void = { _ in }
  ) throws -> StoreRevision {
    let newest = try newestDefinition(for: DefinitionCache.StampKey(stamp))
    var row: EncodedRow
    do {
      row = try encode(newest?.content.shapes ?? [])
      if let newest, row.parts.shapes.count > newest.content.shapes.count, row.mixesVersions { row = try encode([]) }
    } catch { throw StoreError.ofSaving(error, key: key) }
    let definition: Definition
    if let newest, newest.fits(row, countsElements: countsElements) {
      definition = newest
    } else {
      let content = Definition.Content(of: row, countsElements: countsElements)
      definition = try newest.flatMap { $0.content == content ? $0 : nil } ?? self.definition(with: content)
    }
    try check(definition)
    if note == nil, let head, let known = head.row.definition, head.row.form != .tombstone {
      var (other, last) = (row, definition)
      if known != definition.id {
        // For the comparison, encodes the row with the last revision's definition, because the newest definition may contain shapes
        // that only other keys use.
        last = try self.definition(known)
        other = try encode(last.content.shapes)
      }
      let isSameKind =
        known == definition.id || Definition.Content(of: other, countsElements: countsElements) == last.content
      if isSameKind, isSame(other, as: head.row, last) { return StoreRevision(head.row, key: key, last) }
    }
    let bytes = Array(row.bytes[definition.prefix.count...])
    return try append(to: key, head, author, note) { revision in
      revision.definition = definition.id
      revision = try storing(bytes, in: revision)
    } contents: {
      row.parts.contents
    }
  }

  /// Returns whether a row has the same content as an existing revision.
  private func isSame(_ row: EncodedRow, as known: StoredRow, _ definition: Definition) -> Bool {
    // A revision that cannot be read is treated as different, so that a new revision is saved.
    guard let bytes = try? plainBytes(of: known), bytes.elementsEqual(row.bytes[definition.prefix.count...]),
      let pieces = try? pieces(of: known.id).all
    else { return false }
    return pieces == row.parts.contents
  }

  /// Throws `newerModel` if the last revision contains a model version that is newer than the version that `known` returns for this
  /// model. Does not throw if the new revision contains the same newer version. This is possible if a newer program defined the version
  /// but allows this program to write it.
  private func checkKnown(_ head: StoredRow, _ key: String, _ own: Definition, _ known: (String) -> Int?) throws {
    guard let id = head.definition else { return }
    for (name, version) in try definition(id).content.shapes.flatMap(\.versions) {
      guard let known = known(name), version > known,
        !own.content.shapes.contains(where: { $0.versions.contains { $0.typeName == name && $0.version == version } })
      else { continue }
      throw StoreError(
        .newerModel,
        "a newer program saved the last revision, and this save would discard data that this program does "
          + "not know; update this program, or save with overNewer: true", key: key, revision: Int(head.seq),
        typeName: name,
        foundVersion: version, supportedVersion: known)
    }
  }

  /// Adds a revision to a key. Creates the key if it does not exist.
  private func append(
    to key: String, _ head: (key: Int64, row: StoredRow)?, _ author: String?, _ note: String?,
    _ fill: (inout StoredRow) throws -> Void, contents: () -> [[UInt8]: Data] = { [:] }
  ) throws -> StoreRevision {
    try Self.checkText(author, "an author", key: key)
    try Self.checkText(note, "a note", key: key)
    let id = try reserveID()
    guard head?.row.seq != .max else {
      throw StoreError(.damaged, "the number of the last revision is invalid; salvage the store", key: key)
    }
    // A new key gets the identifier of its first revision, so no separate identifier has to be assigned.
    var row = StoredRow(
      id: id, key: head?.key ?? id, seq: (head?.row.seq ?? 0) + 1, time: store.options.clock().milliseconds,
      form: .whole, action: .save, author: author, note: note)
    try fill(&row)
    do {
      try add(row, contents(), to: key, after: head?.row)
      noteSaved()
      return StoreRevision(row, key: key, try row.definition.map { try definition($0) })
    } catch {
      noteHalfSaved(error)
      throw error
    }
  }

  /// Inserts a revision as the last revision of its key. May replace the content of the previous revision with a delta.
  func add(_ row: StoredRow, _ contents: [[UInt8]: Data], to key: String, after head: StoredRow?) throws {
    try put(key, id: row.key, head: row.id, isNew: head == nil)
    try insert(row)
    try addPieces(contents, to: row.id)
    if let head {
      count(head.definition, revisions: 0, heads: -1)
      try shorten(head)
    }
    count(row.definition, revisions: 1, heads: 1)
  }

  /// Adds a revision that repeats the state of an earlier revision.
  func repeated(
    _ source: StoredRow, as action: StoreRevision.Action, _ key: String, _ head: (key: Int64, row: StoredRow),
    _ author: String?, _ note: String?
  ) throws -> StoreRevision {
    let pieces = try pieces(of: source.id)
    return try append(to: key, head, author, note) { revision in
      revision.action = action
      revision.origin = source.seq
      revision.definition = source.definition
      if source.form == .tombstone {
        revision.form = .tombstone
      } else {
        revision = try storing(plainBytes(of: source), in: revision)
      }
    } contents: {
      pieces.all
    }
  }
}

extension EncodedRow {
  /// Whether the row's record shapes contain two versions of the same type. This occurs if the encoder reused shapes of a
  /// definition that a different version of the program wrote. The caller then encodes the row again without these shapes.
  var mixesVersions: Bool {
    var versions: [String: Int?] = [:]
    return parts.shapes.contains { shape in
      let known = versions.updateValue(shape.modelVersion, forKey: shape.typeName)
      return known.map { $0 != shape.modelVersion } ?? false
    }
  }
}

extension Stamp {
  /// Whether the type is an array, a set or a dictionary.
  var hasCollectionName: Bool {
    typeName.hasPrefix("[") && typeName.hasSuffix("]") || typeName.hasPrefix("Set<") && typeName.hasSuffix(">")
  }
}

extension RecordShape {
  /// The models that define the fields of this shape, with their versions. These are the record's own model and its superclasses.
  fileprivate var versions: [(typeName: String, version: Int)] {
    let own = modelVersion.map { [(typeName, $0)] } ?? []
    return own + levels.map { ($0.typeName, $0.modelVersion) }
  }
}
