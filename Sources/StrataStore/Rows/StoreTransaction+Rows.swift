internal import Foundation
internal import GRDB
internal import StrataCore

/// The complete content of a revision. It can be decoded without access to the database.
struct StoredContent: Sendable {
  /// The key and the number of the revision, for error messages.
  var key = ""
  var revision = 0
  let definition: Definition
  /// The bytes of the row, including its first bytes (the head), which may be stored only in the definition.
  let bytes: [UInt8]
  let contents: RowContents
}

extension StoreTransaction {
  // MARK: Finding

  private var selectRow: String { "SELECT \(StoredRow.columns) FROM \(tables.revisions)" }

  /// Returns the identifier and the last revision of a key, or `nil` if the key does not exist.
  func head(of key: String) throws -> (key: Int64, row: StoredRow)? {
    try Self.checkText(key, "a key")
    return try first(of: .head, { $0.bind(key) }) { row in
      let id: Int64 = try row.column(13)
      guard try Int64(StoredKey.checksum(key, id: id, head: row.column(14))) == row.column(15) as Int64 else {
        throw StoreError(.damaged, StoredKey.damage, key: key)
      }
      guard try (row.nullable(0) as Int64?) != nil else {
        throw StoreError(.damaged, "the last revision of a key is missing; check the store, then salvage it", key: key)
      }
      let head = try StoredRow(row)
      guard head.key == id else {
        throw StoreError(
          .damaged, "the last revision of a key belongs to a different key; check the store, then salvage it", key: key)
      }
      return (id, head)
    }
  }

  func revision(_ id: Int64) throws -> StoredRow? {
    try StoredRow.fetch(statement("\(selectRow) WHERE id = ?"), [id])
  }

  func revision(ofKey key: Int64, seq: Int64) throws -> StoredRow? {
    try StoredRow.fetch(statement("\(selectRow) WHERE key = ? AND seq = ?"), [key, seq])
  }

  /// Returns the last revision of a key before the revision with the number `seq`, or `nil` if there is none.
  func revision(ofKey key: Int64, before seq: Int64) throws -> StoredRow? {
    try StoredRow.fetch(statement("\(selectRow) WHERE key = ? AND seq < ? ORDER BY seq DESC LIMIT 1"), [key, seq])
  }

  /// Returns the revisions of a key, in ascending order of their numbers.
  func revisions(ofKey key: Int64) throws -> [StoredRow] {
    try StatementRow.all(of: statement("\(selectRow) WHERE key = ? ORDER BY seq"), [key]) { try StoredRow($0) }
  }

  /// Returns the revision at a point of the key's history, or `nil` if the key does not exist or did not exist at that time.
  ///
  /// - Throws: ``StoreError`` with the code `notFound` for a number or a label that does not exist.
  func row(of key: String, at point: StorePoint) throws -> StoredRow? {
    guard let head = try head(of: key) else {
      switch point {
      case .latest, .time: return nil
      case .revision(let number): throw StoreError.notFound("the key does not exist", key: key, revision: number)
      case .label: throw StoreError.notFound("the key does not exist", key: key)
      }
    }
    switch point {
    case .latest: return head.row
    case .revision(let number):
      guard let row = try revision(ofKey: head.key, seq: Int64(number)) else {
        throw StoreError.notFound("the revision does not exist or was pruned", key: key, revision: number)
      }
      return row
    case .time(let time):
      // Reads the whole row to verify its checksum, because a damaged time could select the wrong revision.
      let later = try StoredRow.fetch(
        statement("\(selectRow) WHERE key = ? AND time > ? ORDER BY seq LIMIT 1"), [head.key, time.milliseconds])
      guard let later else { return head.row }
      if let earlier = try revision(ofKey: head.key, before: later.seq) { return earlier }
      guard later.seq == 1 else {
        throw StoreError.notFound(
          "the revision at the requested time was pruned; the earliest remaining revision is \(later.seq)", key: key)
      }
      return nil
    case .label(let name):
      let id = try revision(ofLabel: name, key: head.key)
      guard let id, let row = try revision(id) else {
        throw StoreError.notFound("the label “\(name)” does not exist", key: key)
      }
      guard row.key == head.key else {
        throw StoreError(
          .damaged,
          "the label “\(name)” refers to a revision of a different key; check the store, then salvage it", key: key)
      }
      return row
    }
  }

  /// Returns the identifier of the revision with a label, or `nil` if the label does not exist.
  private func revision(ofLabel name: String, key: Int64) throws -> Int64? {
    try Self.checkText(name, "a label")
    return try StatementRow.first(
      of: statement("SELECT revision, crc FROM \(tables.labels) WHERE key = ? AND name = ?"), [key, name]
    ) { row in
      let revision: Int64 = try row.column(0)
      try StoredKey.check(label: name, key: key, revision: revision, row.column(1))
      return revision
    }
  }

  // MARK: Content

  /// Returns the content of a revision, or `nil` for a deletion.
  func content(of row: StoredRow) throws -> StoredContent? {
    guard let id = row.definition, row.form != .tombstone else { return nil }
    let definition = try definition(id)
    inflations = 0
    let bytes = try plainBytes(of: row, after: definition.prefix)
    return StoredContent(
      revision: Int(row.seq), definition: definition, bytes: bytes,
      contents: mayReferToPieces(bytes) ? try pieces(of: row.id) : RowContents([:]))
  }

  /// Returns whether a row may refer to strings and data that are stored separately. This is the case if the row's bytes contain
  /// the tag that marks such references.
  private func mayReferToPieces(_ bytes: [UInt8]) -> Bool {
    let tag = RowParts.contentTag
    return bytes.withUnsafeBytes { bytes in
      guard var rest = bytes.baseAddress, bytes.count >= tag.count else { return false }
      let end = rest + bytes.count - (tag.count - 1)
      while rest < end, let found = memchr(rest, Int32(tag[0]), end - rest) {
        let place = UnsafeRawPointer(found)
        if memcmp(place, tag, tag.count) == 0 { return true }
        rest = place + 1
      }
      return false
    }
  }

  /// Returns the content of a row without its first bytes (the head), which are stored in the definition. If the row is a delta,
  /// rebuilds the content by applying the deltas of the chain to the complete row at its start.
  ///
  /// - Parameter head: bytes to prepend to the result.
  func plainBytes(of row: StoredRow, after head: [UInt8] = []) throws -> [UInt8] {
    if row.form == .whole {
      guard let content = row.content else { return head }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(head.count + content.count)
      bytes.append(contentsOf: head)
      bytes.append(contentsOf: content)
      return bytes
    }
    var deltas: [Data] = []
    var row = row
    // The loop terminates because each base must be an earlier revision of the same key.
    while row.form == .delta {
      guard let content = row.content, let id = row.base, let base = try revision(id), base.key == row.key,
        base.seq < row.seq
      else { throw damagedRow(row) }
      deltas.append(content)
      row = base
    }
    var bytes: [UInt8]
    switch row.form {
    case .whole: bytes = row.content.map { [UInt8]($0) } ?? []
    case .blob:
      guard let blob = row.blob else { throw damagedRow(row) }
      bytes = [UInt8](try self.blob(blob))
      inflations += 1
    case .delta, .tombstone: throw damagedRow(row)
    }
    for delta in deltas.reversed() {
      bytes = try RowDelta.apply(delta, to: bytes, limits: store.options.limits)
      if RowDelta.isDeflated(delta) { inflations += 1 }
    }
    return head.isEmpty ? bytes : head + bytes
  }

  func damagedRow(_ row: StoredRow) -> StoreError {
    StoreError(
      .damaged, "parts of a row's content are missing; check the store, then salvage it", revision: Int(row.seq))
  }

  /// Returns a copy of a row with new content. Content of more than 512 bytes is stored as a blob, and shorter content in the row
  /// itself. The given bytes do not include the first bytes of the content (the head).
  ///
  /// - Parameter most: the maximum number of inflations (DEFLATE decompressions) for reading the row. Reading a blob needs one
  ///   inflation, so with 0 the content is stored in the row regardless of its length.
  /// - Returns: the new row. The caller must write it to the table of revisions.
  func storing(_ bytes: [UInt8], in row: StoredRow, inflations most: Int = .max) throws -> StoredRow {
    var row = row
    (row.base, row.content, row.blob) = (nil, nil, nil)
    if bytes.count > RowParts.longestInPlace, most > 0 {
      row.form = .blob
      row.blob = try makeBlob(Data(bytes), digest: SHA256.digest(of: bytes.bytes))
    } else {
      row.form = .whole
      row.content = Data(bytes)
    }
    return row
  }

  /// Converts a revision that is no longer the last revision to a delta, if this saves space. If the revision or its base
  /// cannot be read, nothing is changed.
  func shorten(_ row: StoredRow) throws {
    guard row.form == .whole || row.form == .blob else { return }
    let shortened: StoredRow?
    do {
      shortened = try base(of: row).flatMap { try self.shortened(row, plainBytes(of: row), from: $0) }
    } catch  where StoreError.isDamage(error, db) { return }
    guard let shortened else { return }
    try update(shortened)
    if let blob = row.blob { try removeUnused(blob) }
  }

  /// Returns the revision to use as the base of a revision's delta.
  ///
  /// With revisions numbered from 0, the base's number is the revision's number with the last nonzero hexadecimal digit
  /// decremented. If that revision is missing or is a deletion, the step is repeated. As a result, most revisions are deltas of
  /// the previous revision, and a chain has at most as many deltas as the sum of the hexadecimal digits of the revision's number.
  private func base(of row: StoredRow) throws -> StoredRow? {
    var number = row.seq - 1
    while number > 0 {
      number -= 1 << Int64(number.trailingZeroBitCount / 4 * 4)
      if let base = try revision(ofKey: row.key, seq: number + 1), base.form != .tombstone { return base }
    }
    return nil
  }

  /// Inserts a key or updates the identifier of an existing key's last revision.
  func put(_ name: String, id: Int64, head: Int64, isNew: Bool) throws {
    let crc = Int64(StoredKey.checksum(name, id: id, head: head))
    if isNew {
      try execute(.insertKey) {
        $0.bind(name)
        $0.bind(id)
        $0.bind(head)
        $0.bind(crc)
      }
    } else {
      try execute(.setHead) {
        $0.bind(head)
        $0.bind(crc)
        $0.bind(name)
      }
    }
  }

  func insert(_ row: StoredRow) throws {
    try execute(.insert) {
      $0.bind(row.id)
      $0.bind(row.key)
      $0.bind(row.seq)
      $0.bind(row.time)
      $0.bind(row.definition)
      $0.bind(Int64(row.kind))
      $0.bind(Int64(row.checksum))
      $0.bind(row.content)
      $0.bind(row.base)
      $0.bind(row.blob)
      $0.bind(row.origin)
      $0.bind(row.author)
      $0.bind(row.note)
    }
  }

  func update(_ row: StoredRow) throws {
    try execute(
      """
      UPDATE \(tables.revisions)
      SET definition = ?, kind = ?, crc = ?, content = ?, base = ?, blob = ? WHERE id = ?
      """, [row.definition, row.kind, row.checksum, row.content, row.base, row.blob, row.id])
  }

  // MARK: Blobs

  /// Returns the strings and data that are stored separately as blobs and that a revision refers to.
  func pieces(of revision: Int64) throws -> RowContents {
    let ids = try Int64.fetchAll(
      statement("SELECT blob FROM \(tables.pieces) WHERE revision = ?"), arguments: [revision])
    guard !ids.isEmpty else { return RowContents([:]) }
    var contents: [[UInt8]: Data] = [:]
    for id in ids {
      let hash = try Data.fetchOne(statement("SELECT hash FROM \(tables.blobs) WHERE id = ?"), arguments: [id])
      contents[[UInt8](hash ?? Data())] = try blob(id)
    }
    return RowContents(contents)
  }

  func blob(_ id: Int64) throws -> Data {
    let damage = StoreError(.damaged, "content that rows share is missing or damaged; check the store, then salvage it")
    let row = try StatementRow.first(
      of: statement("SELECT size, crc, bytes FROM \(tables.blobs) WHERE id = ?"), [id]
    ) { (size: try $0.column(0) as Int, crc: try $0.column(1) as Int64, bytes: try $0.column(2) as Data) }
    guard let (size, crc, bytes) = row, size >= 0, size <= store.options.limits.inflatedSize,
      Int64(Self.checksum(of: bytes)) == crc
    else { throw damage }
    guard bytes.count != size else { return bytes }
    var output: [UInt8] = []
    guard try PrimedDeflate.inflate(bytes.bytes, dictionary: RawSpan(), size: size, to: &output) == bytes.count else {
      throw damage
    }
    return Data(output)
  }

  /// Returns the stored size of a blob in bytes, after compression.
  func storedSize(ofBlob id: Int64) throws -> Int {
    try Int.fetchOne(statement("SELECT length(bytes) FROM \(tables.blobs) WHERE id = ?"), arguments: [id]) ?? 0
  }

  /// Returns the identifier of the blob with the given content. Creates the blob if it does not exist. Restores the bytes of a
  /// damaged blob, which repairs all rows that refer to the blob.
  func makeBlob(_ content: Data, digest: [UInt8]) throws -> Int64 {
    let hash = Data(digest)
    let known = try StatementRow.first(
      of: statement("SELECT id, size, crc, bytes FROM \(tables.blobs) WHERE hash = ?"), [hash]
    ) { (id: try $0.column(0) as Int64, isWhole: try Self.isWhole($0, size: content.count)) }
    if let known, known.isWhole { return known.id }
    var deflated: [UInt8] = []
    try PrimedDeflate.deflate(content.bytes, dictionary: RawSpan(), to: &deflated)
    let bytes = deflated.count < content.count - content.count / 16 ? Data(deflated) : content
    if let known {
      try execute(
        "UPDATE \(tables.blobs) SET size = ?, crc = ?, bytes = ? WHERE id = ?",
        [content.count, Self.checksum(of: bytes), bytes, known.id])
      return known.id
    }
    try execute(
      "INSERT INTO \(tables.blobs) (hash, size, crc, bytes) VALUES (?, ?, ?, ?)",
      [hash, content.count, Self.checksum(of: bytes), bytes])
    return db.lastInsertedRowID
  }

  /// Returns whether a blob is undamaged. Checks its size and checksum without inflating the blob.
  private static func isWhole(_ row: StatementRow, size: Int) throws -> Bool {
    do {
      let bytes: Data = try row.column(3)
      return try row.column(1) as Int == size && row.column(2) as Int64 == Int64(checksum(of: bytes))
    } catch let error as StoreError where error.code == .damaged { return false }
  }

  /// Stores strings and data as blobs and adds references from a revision to the blobs.
  func addPieces(_ contents: [[UInt8]: Data], to revision: Int64) throws {
    for (digest, content) in contents {
      try execute(
        "INSERT INTO \(tables.pieces) (revision, blob) VALUES (?, ?)",
        [revision, try makeBlob(content, digest: digest)])
    }
  }

  /// Deletes a blob if no revision refers to it.
  func removeUnused(_ blob: Int64) throws {
    try execute(
      """
      DELETE FROM \(tables.blobs) WHERE id = ?1
      AND NOT EXISTS (SELECT 1 FROM \(tables.revisions) WHERE blob = ?1)
      AND NOT EXISTS (SELECT 1 FROM \(tables.pieces) WHERE blob = ?1)
      """, [blob])
  }

  private static func checksum(of bytes: Data) -> Int32 { Int32(bitPattern: Checksum.crc32(of: bytes.bytes)) }
}
