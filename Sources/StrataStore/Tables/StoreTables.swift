internal import GRDB

/// The names and columns of a store's tables. Docs/StoreFormat.md describes the tables. In the app's own database, the names
/// begin with a prefix.
struct StoreTables: Sendable {
  /// The `PRAGMA application_id` of a store's file: "Stra" in ASCII.
  static let applicationID = 0x5374_7261

  /// The name of the row that the `meta` table contains while a format change is unfinished.
  private static let change = "schemaChange"

  let schema: StoreSchema
  let prefix: String
  let meta, definitions, counts, keys, revisions, labels, blobs, pieces, failures: String

  /// The queries that almost every save or read runs. Each transaction keeps their prepared statements.
  enum Query: Int, CaseIterable { case head, insert, insertKey, setHead }

  /// The SQL of the queries, indexed by the raw values of ``Query``.
  let queries: [String]

  /// The names of all tables.
  var all: [String] { [meta, definitions, counts, keys, revisions, labels, blobs, pieces, failures] }

  /// - Throws: ``StoreError`` with the code `invalid` if `prefix` cannot begin a table name.
  init(prefix: String, _ schema: StoreSchema = .today) throws {
    guard prefix.utf8.allSatisfy({ $0 == 95 || (48...57).contains($0) || (65...90).contains($0 & 0xDF) }),
      !(prefix.utf8.first.map { (48...57).contains($0) } ?? false), prefix.utf8.count <= 64
    else {
      throw StoreError(
        .invalid,
        "a table prefix must contain only ASCII letters, digits and underscores, and must not begin with a digit")
    }
    self.prefix = prefix
    self.schema = schema
    func name(_ table: String) -> String { prefix + table }
    meta = name("meta")
    definitions = name("definitions")
    counts = name("counts")
    keys = name("keys")
    revisions = name("revisions")
    labels = name("labels")
    blobs = name("blobs")
    pieces = name("pieces")
    failures = name("failures")
    queries = Query.allCases.map { [keys, revisions] query in
      switch query {
      case .head:
        """
        SELECT \(StoredRow.qualifiedColumns), k.id, k.head, k.crc FROM \(keys) k LEFT JOIN \(revisions) r ON r.id = k.head
        WHERE k.name = ?
        """
      case .insert:
        "INSERT INTO \(revisions) (\(StoredRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      case .insertKey: "INSERT INTO \(keys) (name, id, head, crc) VALUES (?, ?, ?, ?)"
      case .setHead: "UPDATE \(keys) SET head = ?, crc = ? WHERE name = ?"
      }
    }
  }

  /// Creates the tables in the first format, then upgrades them to the current format.
  func create(in db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE \(meta) (name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
        CREATE TABLE \(definitions) (
          id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, type TEXT NOT NULL, version INTEGER, content BLOB NOT NULL);
        CREATE INDEX \(definitions)_type ON \(definitions) (type, version);
        CREATE TABLE \(counts) (
          definition INTEGER PRIMARY KEY REFERENCES \(definitions) (id) ON DELETE RESTRICT,
          revisions INTEGER NOT NULL, heads INTEGER NOT NULL);
        CREATE TABLE \(keys) (
          name TEXT PRIMARY KEY NOT NULL, id INTEGER NOT NULL UNIQUE, head INTEGER NOT NULL, crc INTEGER NOT NULL)
          WITHOUT ROWID;
        CREATE TABLE \(blobs) (
          id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, crc INTEGER NOT NULL,
          bytes BLOB NOT NULL);
        CREATE TABLE \(revisions) (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          key INTEGER NOT NULL REFERENCES \(keys) (id) ON DELETE RESTRICT,
          seq INTEGER NOT NULL, time INTEGER NOT NULL,
          definition INTEGER REFERENCES \(definitions) (id) ON DELETE RESTRICT,
          kind INTEGER NOT NULL, crc INTEGER NOT NULL, content BLOB,
          base INTEGER REFERENCES \(revisions) (id) ON DELETE RESTRICT,
          blob INTEGER REFERENCES \(blobs) (id) ON DELETE RESTRICT,
          origin INTEGER, author TEXT, note TEXT, UNIQUE (key, seq));
        CREATE INDEX \(revisions)_base ON \(revisions) (base) WHERE base IS NOT NULL;
        CREATE INDEX \(revisions)_blob ON \(revisions) (blob) WHERE blob IS NOT NULL;
        CREATE TABLE \(labels) (
          key INTEGER NOT NULL REFERENCES \(keys) (id) ON DELETE RESTRICT, name TEXT NOT NULL,
          revision INTEGER NOT NULL REFERENCES \(revisions) (id) ON DELETE RESTRICT, crc INTEGER NOT NULL,
          PRIMARY KEY (key, name)) WITHOUT ROWID;
        CREATE INDEX \(labels)_revision ON \(labels) (revision);
        CREATE TABLE \(pieces) (
          revision INTEGER NOT NULL REFERENCES \(revisions) (id) ON DELETE RESTRICT,
          blob INTEGER NOT NULL REFERENCES \(blobs) (id) ON DELETE RESTRICT,
          PRIMARY KEY (revision, blob)) WITHOUT ROWID;
        CREATE INDEX \(pieces)_blob ON \(pieces) (blob);
        CREATE TABLE \(failures) (
          revision INTEGER PRIMARY KEY REFERENCES \(revisions) (id) ON DELETE RESTRICT,
          time INTEGER NOT NULL, code TEXT NOT NULL, error TEXT NOT NULL);
        """)
    try set(StoreVersions(format: 1, minimumReader: 1, minimumWriter: 1, known: schema.format), in: db)
    try apply(from: 1, in: db)
  }

  /// Upgrades the tables from the given format to the format that this program writes.
  func apply(from format: Int, in db: Database) throws {
    let steps = schema.steps.dropFirst(format - 1)
    guard var versions = try versions(in: db), !steps.isEmpty else { return }
    for step in steps {
      try step.run(prefix) { try db.execute(sql: $0) }
      versions.format += 1
      versions.minimumReader = max(versions.minimumReader, step.minimumReader)
      versions.minimumWriter = max(versions.minimumWriter, step.minimumWriter)
    }
    try set(versions, in: db)
  }

  private func set(_ versions: StoreVersions, in db: Database) throws {
    for (name, value) in [
      ("format", versions.format), ("minimumReader", versions.minimumReader), ("minimumWriter", versions.minimumWriter),
    ] {
      try db.execute(sql: "INSERT OR REPLACE INTO \(meta) (name, value) VALUES (?, ?)", arguments: [name, value])
    }
  }

  /// Records in the `meta` table that a format change is unfinished, or removes this record.
  func setChanging(_ isChanging: Bool, in db: Database) throws {
    try db.execute(
      sql: isChanging
        ? "INSERT OR REPLACE INTO \(meta) (name, value) VALUES (?, 1)" : "DELETE FROM \(meta) WHERE name = ?",
      arguments: [Self.change])
  }

  /// Checks that the stored counts of revisions and their sums are plausible, because counts have no checksum.
  ///
  /// - Throws: ``StoreError`` with the code `damaged` if the counts are implausible.
  func checkCounts(in db: Database) throws {
    let most = 1 << 53
    let isRight = try Bool.fetchOne(
      db,
      sql: """
        SELECT ifnull(
          min(typeof(revisions) = 'integer' AND typeof(heads) = 'integer' AND revisions >= 0 AND heads >= 0), 1)
        AND total(revisions) <= \(most) AND total(heads) <= \(most) FROM \(counts)
        """)
    guard isRight == true else {
      throw StoreError(
        .damaged, "the recorded revision counts are invalid; check the store, then salvage it")
    }
  }

  /// Returns the format versions recorded in the store's tables, or `nil` if the tables do not exist.
  func versions(in db: Database) throws -> StoreVersions? {
    guard try db.tableExists(meta) else { return nil }
    let rows = try StatementRow.all(
      of: db.cachedStatement(sql: "SELECT name, value FROM \(meta) WHERE name IN (?, ?, ?, ?)"),
      ["format", "minimumReader", "minimumWriter", Self.change]
    ) { (try $0.column(0) as String, try $0.column(1) as Int) }
    let values = Dictionary(rows, uniquingKeysWith: { first, _ in first })
    guard let format = values["format"], let reader = values["minimumReader"], let writer = values["minimumWriter"]
    else { throw StoreError(.damaged, "the table “\(meta)” does not contain the store's format") }
    return StoreVersions(
      format: format, minimumReader: reader, minimumWriter: writer, isChanging: values[Self.change] != nil,
      known: schema.format)
  }
}

/// The format version of a store, and the lowest format versions that a program must support to read and to write the store.
struct StoreVersions: Sendable {
  var format: Int
  var minimumReader: Int
  var minimumWriter: Int
  /// Whether a format change is unfinished. If so, a program has changed the tables, but the store has not been checked yet.
  var isChanging = false
  /// The highest format that this program supports.
  var known: Int

  var isReadable: Bool { minimumReader <= known }
  var isWritable: Bool { isReadable && minimumWriter <= known }

  func checkReadable() throws {
    guard !isReadable else { return }
    throw StoreError(
      .newerStore, "a newer program created the store; update this program",
      foundVersion: minimumReader, supportedVersion: known)
  }

  func checkWritable() throws {
    try checkReadable()
    guard !isWritable else {
      guard isChanging else { return }
      throw StoreError(
        .busy,
        "another program is changing the store's tables; save again when it has finished, or reopen the store to "
          + "finish an interrupted change")
    }
    throw StoreError(
      .readOnly, "a newer program made the store read-only for this program; update this program",
      foundVersion: minimumWriter, supportedVersion: known)
  }
}
