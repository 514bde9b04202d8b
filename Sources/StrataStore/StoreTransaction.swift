internal import Foundation
internal import GRDB
internal import StrataCore

/// A transaction of a store. Either all of its changes are committed, or none.
///
///     try await store.write { transaction in
///       try transaction.save(order, as: "order/7")
///       try transaction.delete("cart/7")
///     }
///
/// A transaction is valid only within the closure that receives it. After the closure has returned, every call throws
/// ``StoreError/Code/invalid``. In a read-only transaction, saves throw ``StoreError/Code/readOnly``.
public final class StoreTransaction {
  let db: Database
  let store: SnapshotStore
  let canWrite: Bool
  /// Whether this store transaction is the whole database transaction, rather than a part of the app's transaction. If so, the
  /// definitions that it reads before it creates or repairs a definition are known to be committed and can be cached.
  private let isWhole: Bool
  private var madeDefinitions = false
  /// Definitions that may be uncommitted, by identifier. They are not added to the store's cache, because the cache outlives
  /// the transaction.
  private var ownDefinitions: [Int64: Definition] = [:]
  private var ownNewest: [DefinitionCache.StampKey: Definition] = [:]
  /// The pending changes to the table of revision counts, by definition identifier. `revisions` is the change in the number of
  /// revisions that use the definition, and `heads` is the change in how many of them are the last revision of their key.
  private var counted: [Int64: (revisions: Int, heads: Int)] = [:]
  /// The error of a save that failed after it had already changed a table. With this error, the whole transaction fails.
  private var failure: (any Error)?
  /// The identifier of the store's next revision. `nil` until the first identifier is reserved.
  private var nextID: Int64?
  private(set) var hasSaved = false
  /// Whether the closure that received the transaction has returned.
  private var hasEnded = false
  /// The number of DEFLATE streams that were decompressed to read the last row. Streams of long strings that the row refers to
  /// are not counted.
  package var inflations = 0

  var tables: StoreTables { store.tables }

  init(_ db: Database, _ store: SnapshotStore, canWrite: Bool, isWhole: Bool) {
    self.db = db
    self.store = store
    self.canWrite = canWrite
    self.isWhole = isWhole
  }

  func statement(_ sql: String) throws -> Statement {
    try checkOpen()
    return try db.cachedStatement(sql: sql)
  }

  /// A cache of prepared statements, indexed by ``StoreTables/Query``. `nil` for a statement that has not been used yet.
  private var known: [Statement?] = Array(repeating: nil, count: StoreTables.Query.allCases.count)

  /// Returns the prepared statement for a frequent query, with its arguments bound. This is faster than GRDB's cache, which looks up
  /// statements by SQL text.
  private func statement(_ query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void) throws -> Statement {
    try checkOpen()
    let statement: Statement
    if let known = known[query.rawValue] {
      statement = known
    } else {
      statement = try db.cachedStatement(sql: tables.queries[query.rawValue])
      // Prevents GRDB from binding arguments itself, because `StatementBinder` binds them.
      statement.setUncheckedArguments([])
      known[query.rawValue] = statement
    }
    try StatementBinder.bind(statement, bind)
    return statement
  }

  func execute(_ query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void) throws {
    try statement(query, bind).execute()
  }

  /// Returns the result of `body` for the first row of a query, or `nil` if the query has no rows.
  func first<R>(
    of query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void, _ body: (StatementRow) throws -> R
  ) throws -> R? {
    try StatementRow.first(of: statement(query, bind), nil, body)
  }

  func execute(_ sql: String, _ arguments: StatementArguments) throws {
    try statement(sql).execute(arguments: arguments)
  }

  /// Invalidates the transaction, so that later calls throw an error. Otherwise, GRDB would terminate the program, because a
  /// connection must not be used outside of its closure.
  func end() { hasEnded = true }

  private func checkOpen() throws {
    guard !hasEnded else {
      throw StoreError(.invalid, "the transaction has ended; use the transaction only inside its closure")
    }
  }

  func checkCanWrite() throws {
    try checkOpen()
    guard canWrite else {
      throw StoreError(.readOnly, "the transaction is read-only; save in a write transaction")
    }
  }

  // MARK: Definitions

  func definition(_ id: Int64) throws -> Definition {
    if let known = ownDefinitions[id] ?? store.definitions[id] { return known }
    let definition = try readDefinition(id)
    cache(definition, isCommitted: isWhole && !madeDefinitions)
    return definition
  }

  /// Reads a definition from its table, without using the caches.
  func readDefinition(_ id: Int64) throws -> Definition {
    let row = try StatementRow.first(
      of: statement("SELECT content, hash FROM \(tables.definitions) WHERE id = ?"), [id]
    ) { (content: try $0.column(0) as Data, hash: try $0.column(1) as Data) }
    let damage = StoreError(
      .damaged, "the definition of a row is missing or damaged; check the store, then salvage it")
    guard let row, SHA256.digest(of: row.content.bytes) == [UInt8](row.hash) else { throw damage }
    return Definition(id: id, content: try Definition.Content(bytes: row.content, limits: store.options.limits))
  }

  private func cache(_ definition: Definition, isCommitted: Bool) {
    if isCommitted { return store.definitions.add(definition) }
    ownDefinitions[definition.id] = definition
    ownNewest[DefinitionCache.StampKey(definition.content)] = definition
  }

  /// Returns the newest definition for a stamp (type and version), or `nil` if none exists. A new row with that stamp can refer
  /// to this definition if the definition contains the row's shapes.
  func newestDefinition(for stamp: DefinitionCache.StampKey) throws -> Definition? {
    if let known = ownNewest[stamp] ?? store.definitions.newest(stamp) { return known }
    let ids = try Int64.fetchAll(
      statement("SELECT id FROM \(tables.definitions) WHERE type = ? AND version IS ? ORDER BY id DESC LIMIT 16"),
      arguments: [stamp.typeName, stamp.modelVersion])
    for id in ids {
      let found: Definition
      // Skips a damaged definition, because new rows can refer to an older definition or to a new one.
      do { found = try definition(id) } catch  where StoreError.isDamage(error, db) { continue }
      if DefinitionCache.StampKey(found.content) == stamp { return found }
    }
    return nil
  }

  /// Returns the definition with the given content. Creates it if it does not exist.
  func definition(with content: Definition.Content) throws -> Definition {
    let bytes = try content.bytes()
    let hash = Data(SHA256.digest(of: bytes.bytes))
    if let id = try Int64.fetchOne(
      statement("SELECT id FROM \(tables.definitions) WHERE hash = ?"), arguments: [hash])
    {
      let definition: Definition
      do { definition = try self.definition(id) } catch  where StoreError.isDamage(error, db) {
        // The stored digest proves that the definition had these bytes before it was damaged. Writing the bytes again repairs all
        // rows that refer to the definition.
        try execute(
          "UPDATE \(tables.definitions) SET type = ?, version = ?, content = ? WHERE id = ?",
          [content.typeName, content.modelVersion, Data(bytes), id])
        madeDefinitions = true
        definition = try self.definition(id)
      }
      ownNewest[DefinitionCache.StampKey(content)] = definition
      return definition
    }
    try execute(
      "INSERT INTO \(tables.definitions) (hash, type, version, content) VALUES (?, ?, ?, ?)",
      [hash, content.typeName, content.modelVersion, Data(bytes)])
    madeDefinitions = true
    let definition = Definition(id: db.lastInsertedRowID, content: content)
    cache(definition, isCommitted: false)
    return definition
  }

  // MARK: Counting

  func count(_ definition: Int64?, revisions: Int, heads: Int) {
    guard let definition else { return }
    let known = counted[definition] ?? (0, 0)
    counted[definition] = (known.revisions + revisions, known.heads + heads)
  }

  func noteSaved() { hasSaved = true }

  /// Records that a save failed after it had already changed a table. The transaction then fails even if `body` catches the
  /// error.
  func noteHalfSaved(_ error: any Error) { failure = failure ?? error }

  func reserveID() throws -> Int64 {
    let last = try nextID.map { $0 - 1 } ?? store.lastSequence(in: db)
    guard last >= 0, last < .max - 1 else {
      throw StoreError(.damaged, "the number of the last revision is invalid; salvage the store")
    }
    nextID = last + 2
    return last + 1
  }

  /// Writes the pending changes of the revision counts to the table of counts. Must be called at the end of each write
  /// transaction.
  ///
  /// - Throws: the error of a save that failed after it had changed a table, so that the transaction is rolled back, or an
  ///   error of the database.
  func finish() throws {
    if let failure { throw failure }
    for (definition, change) in counted where change != (0, 0) {
      try execute(
        """
        INSERT INTO \(tables.counts) (definition, revisions, heads) VALUES (?1, ?2, ?3)
        ON CONFLICT (definition) DO UPDATE SET revisions = revisions + ?2, heads = heads + ?3
        """, [definition, change.revisions, change.heads])
    }
    counted = [:]
  }
}
