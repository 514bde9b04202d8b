internal import Foundation
internal import GRDB
internal import StrataCore

/// A transaction of a store: all of its changes are kept, or none.
///
///     try await store.write { transaction in
///       try transaction.save(order, as: "order/7")
///       try transaction.delete("cart/7")
///     }
///
/// A transaction is valid only within the closure that receives it. Afterwards, every call throws ``StoreError/Code/invalid``. In a
/// read-only transaction, saves throw ``StoreError/Code/readOnly``.
public final class StoreTransaction {
  let db: Database
  let store: SnapshotStore
  let canWrite: Bool
  /// Whether the database transaction had no changes before this transaction began. Definitions that are read before the first one
  /// is created or repaired are then committed.
  private let isWhole: Bool
  private var madeDefinitions = false
  /// Definitions that are possibly uncommitted.
  private var ownDefinitions: [Int64: Definition] = [:]
  private var ownNewest: [DefinitionCache.StampKey: Definition] = [:]
  /// The changes to the counts of revisions and last revisions, by definition.
  private var counted: [Int64: (revisions: Int, heads: Int)] = [:]
  /// The error of a save that failed after its first change of a table.
  private var failure: (any Error)?
  /// The identifier of the next revision of the store.
  private var nextID: Int64?
  private(set) var hasSaved = false
  /// Whether the closure that received the transaction has returned.
  private var hasEnded = false
  /// The number of inflations for reading the last row, without the inflations of the long strings that it refers to.
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

  /// The statements of ``StoreTables``, prepared on first use.
  private var known: [Statement?] = Array(repeating: nil, count: StoreTables.Query.allCases.count)

  /// Returns a statement that every save or read needs. It is not looked up by its text each time.
  private func statement(_ query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void) throws -> Statement {
    try checkOpen()
    let statement: Statement
    if let known = known[query.rawValue] {
      statement = known
    } else {
      statement = try db.cachedStatement(sql: tables.queries[query.rawValue])
      // From now on, the statement runs with the arguments that `StatementBinder` binds.
      statement.setUncheckedArguments([])
      known[query.rawValue] = statement
    }
    try StatementBinder.bind(statement, bind)
    return statement
  }

  func execute(_ query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void) throws {
    try statement(query, bind).execute()
  }

  /// Returns the result of `body` for the first row of a query; `nil` if there are no rows.
  func first<R>(
    of query: StoreTables.Query, _ bind: (inout StatementBinder) -> Void, _ body: (StatementRow) throws -> R
  ) throws -> R? {
    try StatementRow.first(of: statement(query, bind), nil, body)
  }

  func execute(_ sql: String, _ arguments: StatementArguments) throws {
    try statement(sql).execute(arguments: arguments)
  }

  /// Ends the transaction. Later calls throw, because GRDB terminates the program if its connection is used afterwards.
  func end() { hasEnded = true }

  private func checkOpen() throws {
    guard !hasEnded else {
      throw StoreError(.invalid, "the transaction has ended; use it within the closure that it is passed to")
    }
  }

  func checkCanWrite() throws {
    try checkOpen()
    guard canWrite else {
      throw StoreError(.readOnly, "this transaction is read-only; save inside write")
    }
  }

  // MARK: Definitions

  func definition(_ id: Int64) throws -> Definition {
    if let known = ownDefinitions[id] ?? store.definitions[id] { return known }
    let definition = try readDefinition(id)
    cache(definition, isCommitted: isWhole && !madeDefinitions)
    return definition
  }

  /// Reads a definition from its table.
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

  /// Returns the newest definition for a stamp. A row with that stamp refers to it if it has the row's shapes.
  func newestDefinition(for stamp: DefinitionCache.StampKey) throws -> Definition? {
    if let known = ownNewest[stamp] ?? store.definitions.newest(stamp) { return known }
    let ids = try Int64.fetchAll(
      statement("SELECT id FROM \(tables.definitions) WHERE type = ? AND version IS ? ORDER BY id DESC LIMIT 16"),
      arguments: [stamp.typeName, stamp.modelVersion])
    for id in ids {
      let found: Definition
      // New rows do not need a damaged definition, because they can use another one.
      do { found = try definition(id) } catch  where StoreError.isDamage(error, db) { continue }
      if DefinitionCache.StampKey(found.content) == stamp { return found }
    }
    return nil
  }

  /// Returns the definition with a content, and creates it if needed.
  func definition(with content: Definition.Content) throws -> Definition {
    let bytes = try content.bytes()
    let hash = Data(SHA256.digest(of: bytes.bytes))
    if let id = try Int64.fetchOne(
      statement("SELECT id FROM \(tables.definitions) WHERE hash = ?"), arguments: [hash])
    {
      let definition: Definition
      do { definition = try self.definition(id) } catch  where StoreError.isDamage(error, db) {
        // The digest shows that the damaged definition had these bytes. Restoring them repairs all rows that refer to it.
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

  /// Records that a revision was added.
  func noteSaved() { hasSaved = true }

  /// Records that a save failed after its first change, so that the transaction fails even if the caller catches the error.
  func noteHalfSaved(_ error: any Error) { failure = failure ?? error }

  /// Reserves and returns the identifier of the next revision of the store.
  func reserveID() throws -> Int64 {
    let last = try nextID.map { $0 - 1 } ?? store.lastSequence(in: db)
    guard last >= 0, last < .max - 1 else {
      throw StoreError(.damaged, "the number of the last revision is invalid; salvage the store")
    }
    nextID = last + 2
    return last + 1
  }

  /// Writes the counts. Must be called at the end of each writing transaction.
  ///
  /// - Throws: also the error of an incomplete save, so that the transaction is rolled back.
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
