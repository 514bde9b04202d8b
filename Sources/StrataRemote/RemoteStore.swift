public import Foundation
public import GRDB
internal import StrataCore
public import StrataStore
internal import Synchronization

/// Keeps entities in step with a server: what is kept answers at once, what the server says is merged into it, and what is changed here
/// is sent, now or when there is a connection again.
///
///     let remote = try await RemoteStore(
///       entities, RemoteConfiguration(baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Todo.self)))
///     for try await todos in remote.fetch(Todo.order(Column("title"))) { show(todos) }  // what is kept, then what the server says
///     try await entities.save(todo)  // edited as ever
///     try await remote.send()
///
/// Whatever writes the tables through the database of the `EntityStore` is noted, by models, GRDB or SQL. Docs/Refresh.md is the guide.
public final class RemoteStore: Sendable {
  /// What reads and writes the rows.
  public let entities: EntityStore
  private let session: RemoteSession
  private let running = Mutex(Shared())

  private struct Shared {
    var refreshes: [RefreshKey: SharedTask<RemoteRefresh>] = [:]
    var sending: [String: SharedTask<RemoteSending>] = [:]
  }

  private struct RefreshKey: Hashable {
    let account: String
    let entity: String
    let url: URL
    let policy: RemoteRequest.Policy
    let headers: HTTPHeaders
  }

  /// Compares the mappers with entities and tables, makes the tables for what is not sent yet, and notes changes from now on.
  ///
  /// - Parameters:
  ///   - entities: the entities, which have to name all that mappers name.
  ///   - configuration: the server.
  ///   - account: who uses it, whose changes are sent with that one's token only. Any text that stays the same.
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration`, whose reason has all that is wrong; `store`.
  public init(_ entities: EntityStore, _ configuration: RemoteConfiguration, account: String = "") async throws {
    self.entities = entities
    do {
      let (catalog, number) = try await entities.writer.write { db in
        let catalog = try RemoteCatalog(configuration, entities, db)
        try RemoteTables.make(db)
        try CarriedEdits.run(catalog, db)
        try ChangeTriggers.make(catalog.entities, account: account, db)
        try StoredCopies.checkMapping(catalog, db)
        try RemoteTables.forgetDeletions(before: configuration.clock.now(), db)
        let number = try Int64.fetchOne(
          db, sql: "SELECT max(value) FROM strata_remote_meta WHERE name LIKE 'applied/%'")
        return (catalog, number ?? 0)
      }
      session = RemoteSession(catalog, account: account, number: number)
      entities.servers.set(Set(catalog.entities.map(\.type.table))) { [mapped = catalog.entities] nodes, db in
        try RecordRenaming.follow(&nodes, mapped, db)
      }
    } catch { throw RemoteSession.located(error) }
  }

  deinit { session.endEvents() }

  // MARK: Accounts

  /// Who uses it.
  public var account: String { session.account }

  /// Changes who uses it. What the one before has not sent stays in the queue, and is sent when that one is back; answers to requests
  /// that still run are dropped. The rows stay as they are: who must not see another's rows needs a database of their own.
  public func use(account: String) async throws {
    try await session.write { [session] db in
      try db.execute(sql: "UPDATE temp.strata_remote_session SET account = ?", arguments: [account])
      // Both or neither: what is noted as one account's must not wait for another's call.
      db.afterNextTransaction { _ in session.setAccount(account) }
    }
  }

  // MARK: Fetching

  /// What is kept, at once, and then what it has become by the server's answer.
  ///
  /// The first element always comes; the second one where the server had something to say. A refresh that fails is thrown after the
  /// first. Whoever ends the loop before cancels the refresh, unless others wait for it.
  ///
  /// - Parameters:
  ///   - request: the entities, from what is kept.
  ///   - remote: what the server is asked for.
  public func fetch<E: Entity>(
    _ request: QueryInterfaceRequest<E>, from remote: RemoteRequest = .all
  ) -> AsyncThrowingStream<[E], any Error> {
    stream({ [entities] in $0.yield(try await entities.fetchAll(request)) }) { [self] in
      try await refresh(E.self, remote)
    }
  }

  /// As ``fetch(_:from:)-(QueryInterfaceRequest<E>,_)``, for documents of a name.
  public func fetch(
    _ name: String, from remote: RemoteRequest = .all
  ) -> AsyncThrowingStream<[EntityDocument], any Error> {
    stream({ [self] in $0.yield(try await cached(name)) }) { [self] in try await refresh(name, remote) }
  }

  /// - Parameter give: gives what is kept to whoever reads the stream.
  private func stream<Value>(
    _ give: @escaping @Sendable (AsyncThrowingStream<Value, any Error>.Continuation) async throws -> Void,
    _ refresh: @escaping @Sendable () async throws -> RemoteRefresh
  ) -> AsyncThrowingStream<Value, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do {
          try await give(continuation)
          if try await refresh().outcome == .merged { try await give(continuation) }
          continuation.finish()
        } catch { continuation.finish(throwing: error) }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// What is kept. It does not ask the server, and never fails for the network.
  public func cached<E: Entity>(_ request: QueryInterfaceRequest<E>) async throws -> [E] {
    try await entities.fetchAll(request)
  }

  /// The documents of a name that are kept, in the order of their ids.
  public func cached(_ name: String) async throws -> [EntityDocument] {
    let entity = try session.catalog.known(documents: name)
    return try await session.read { db in try EntityDocument.all(in: entity.table.name).fetchAll(db) }
  }

  /// The entities after the server's answer.
  public func refreshed<E: Entity>(
    _ request: QueryInterfaceRequest<E>, from remote: RemoteRequest = .all
  ) async throws -> [E] {
    try await refresh(E.self, remote)
    return try await entities.fetchAll(request)
  }

  /// The documents of a name after the server's answer.
  public func refreshed(_ name: String, from remote: RemoteRequest = .all) async throws -> [EntityDocument] {
    try await refresh(name, remote)
    return try await cached(name)
  }

  /// Asks the server for records and merges its answer, in one transaction.
  ///
  /// Equal refreshes at the same time are one; cancelling one of them leaves the others.
  ///
  /// - Parameters:
  ///   - type: the entity.
  ///   - remote: the records asked for.
  ///   - replacing: the rows that the answer is the whole of, where it is a part of all: of these, what it does not have is deleted.
  /// - Throws: ``RemoteError``, after which no row was changed; `CancellationError`.
  @discardableResult
  public func refresh<E: Entity>(
    _ type: E.Type, _ remote: RemoteRequest = .all, replacing: QueryInterfaceRequest<E>? = nil
  ) async throws -> RemoteRefresh {
    let entity = try session.catalog.known(type)
    let account = session.account
    var refreshing = Refreshing(session: session, entity: entity, request: remote, account: account)
    if let replacing {
      let keys = replacing.select(Column(entity.keyColumn))
      refreshing.scope = { db in
        try Set(Row.fetchAll(db, keys).map { ExactValue($0[0] as DatabaseValue) })
      }
      return try await refreshing.run()
    }
    return try await shared(refreshing)
  }

  /// As ``refresh(_:_:replacing:)``, for documents of a name.
  @discardableResult
  public func refresh(_ name: String, _ remote: RemoteRequest = .all) async throws -> RemoteRefresh {
    let entity = try session.catalog.known(documents: name)
    return try await shared(
      Refreshing(session: session, entity: entity, request: remote, account: session.account))
  }

  /// One refresh for all who ask the same at the same time.
  private func shared(_ refreshing: Refreshing) async throws -> RemoteRefresh {
    let (account, entity, remote) = (refreshing.account, refreshing.entity, refreshing.request)
    let key = RefreshKey(
      account: account, entity: entity.name, url: refreshing.url, policy: remote.policy, headers: remote.headers)
    return try await share(\.refreshes, key) { try await refreshing.run() }
  }

  /// Merges what a server has pushed: by a web socket, a notification or a file. The same counts as for an answer.
  ///
  /// - Parameters:
  ///   - json: a list of records or one, as an answer would have them.
  ///   - type: the entity.
  /// - Throws: ``RemoteError`` with the codes `invalidBody` and `store`, after which no row was changed.
  @discardableResult
  public func apply<E: Entity>(_ json: Data, to type: E.Type) async throws -> RemoteRefresh {
    try await apply(json, session.catalog.known(type))
  }

  /// As ``apply(_:to:)-(_,E.Type)``, for documents of a name.
  @discardableResult
  public func apply(_ json: Data, to name: String) async throws -> RemoteRefresh {
    try await apply(json, session.catalog.known(documents: name))
  }

  private func apply(_ json: Data, _ entity: MappedEntity) async throws -> RemoteRefresh {
    let (account, number, catalog) = (session.account, session.nextNumber(), session.catalog)
    let body = try RemoteBody(json, of: entity)
    let read = try entity.read(body.records, catalog)
    let applied = try await session.write { db in
      var writer = try AnswerWriter(read.nodes, catalog, account: account, number: number, db)
      let applied = try writer.run(entity, isWhole: false, deleted: read.deleted)
      for other in catalog.entities {
        let changed = applied.report[other.table.name]
        if changed.inserted + changed.updated > 0 { try StoredCopies.forget(other, db) }
      }
      return applied
    }
    var refresh = RemoteRefresh(applied, pages: 0)
    refresh.invalid = read.invalid
    session.tell(.didFetch(refresh), entity: entity.name, account: account)
    if refresh.conflicts > 0 { session.tell(.conflicts(refresh.conflicts), entity: entity.name, account: account) }
    return refresh
  }

  // MARK: Sending

  /// Sends what has not been sent, in the order in which it was changed, each record after those that it leads to.
  ///
  /// What the server refuses stays in the queue and holds up only what leads to it. Calls at the same time are one.
  ///
  /// - Throws: ``RemoteError`` where the server cannot be reached, or asks to wait: what was not sent is sent by a later call.
  @discardableResult
  public func send() async throws -> RemoteSending {
    let account = session.account
    let sender = ChangeSender(session: session, account: account)
    return try await share(\.sending, account) { try await sender.run() }
  }

  /// Sends what has not been sent, and then refreshes the lists of all entities, in the order of the mappers: what an
  /// app does when there is a connection again, when it comes to the foreground, and from time to time.
  ///
  /// Cancelling it leaves what was done.
  ///
  /// - Throws: as ``send()`` and ``refresh(_:_:replacing:)``: the first error, at once if there is no connection or no valid token, else
  ///   after all lists were asked for.
  @discardableResult
  public func sync() async throws -> RemoteSync {
    var (sync, failure) = (RemoteSync(), nil as RemoteError?)
    func note(_ error: RemoteError) throws {
      // No other request would do better.
      if [.notConnected, .unauthorized, .accountChanged].contains(error.code) { throw failure ?? error }
      failure = failure ?? error
    }
    do { sync.sending = try await send() } catch let error as RemoteError { try note(error) }
    for entity in session.catalog.entities {
      try Task.checkCancellation()
      let refreshing = Refreshing(session: session, entity: entity, request: .all, account: session.account)
      do { sync.refreshes[entity.name] = try await shared(refreshing) } catch let error as RemoteError {
        try note(error)
      }
    }
    if let failure { throw failure }
    return sync
  }

  /// What is certain about the records of each entity, by what the mapper says of the server.
  public var guarantees: [String: Set<RemoteGuarantee>] {
    Dictionary(
      session.catalog.entities.map { ($0.name, $0.mapper.guarantees) }, uniquingKeysWith: { first, _ in first })
  }

  /// What has not been sent, now and after each change of the queue, of all accounts, in its order.
  public func observeChanges() -> AsyncThrowingStream<[RemoteChange], any Error> {
    ValueObservation.tracking { db in try Self.changes(db) }.removeDuplicates()
      .newest(in: entities.writer) { RemoteSession.located($0) }
  }

  private static func changes(_ db: Database) throws -> [RemoteChange] {
    try UnsentChange.fetchAll(account: nil, db).map { try RemoteChange($0, columns: $0.columns(db)) }
  }

  /// What has not been sent, of all accounts, in its order.
  public func changes() async throws -> [RemoteChange] {
    try await session.read { db in try Self.changes(db) }
  }

  /// Lets a change that the server refused, or that waits for a later time, go out with the next ``send()``.
  ///
  /// - Parameters:
  ///   - change: one of ``changes()``; one that has been sent meanwhile is left alone. One that is uncertain is sent again, and can make a
  ///     record twice.
  ///   - asNew: sends the record as one that the server does not have, where it no longer does.
  public func retry(_ change: RemoteChange, asNew: Bool = false) async throws {
    let catalog = session.catalog
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db) else { return }
      if known.isUncertain { try known.thaw(db) }
      if asNew, known.kind == .update {
        try known.becomeNew(db)
        let entity = try catalog.known(known.entity)
        if !entity.idIsKey {
          try ChangeTriggers.passed(db) {
            try db.execute(
              sql: """
                UPDATE \(entity.quotedTable) SET \(entity.idColumn.quotedDatabaseIdentifier) = NULL
                WHERE \(entity.keyColumn.quotedDatabaseIdentifier) = ?
                """, arguments: [known.record])
          }
        }
      }
      try db.execute(
        sql: """
          UPDATE strata_remote_changes
          SET state = 'waiting', attempts = 0, not_before = NULL, code = NULL, reason = NULL, status = NULL WHERE number = ?
          """, arguments: [change.number])
    }
  }

  /// Settles a change that is ``RemoteChange/State/uncertain``: the server has the new record, with this id.
  ///
  /// The record here gets the id, as by the answer that was lost. What was changed of it since is sent by the next ``send()``.
  ///
  /// - Parameters:
  ///   - change: one of ``changes()``; one that is not uncertain any more is left alone.
  ///   - id: the server's id, as a path has it.
  /// - Throws: ``RemoteError`` with the code `invalidBody` where the property cannot hold the id.
  public func confirm(_ change: RemoteChange, id: String) async throws {
    let (catalog, answered) = (session.catalog, session.nextNumber())
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db), known.isUncertain, let request = known.request else {
        return
      }
      let entity = try catalog.known(known.entity)
      _ = try Acknowledgement(catalog: catalog, entity: entity, sent: known, db: db).run(
        nil, id: entity.stored(idText: id), copy: nil, number: request.number, answered: answered)
      try db.execute(
        cached: "UPDATE strata_remote_changes SET code = NULL, reason = NULL WHERE number = ?", [known.number])
    }
  }

  /// Takes a change back: an edit becomes what the server last said, a record that was made here is deleted, and one that was deleted
  /// comes back with the next refresh.
  ///
  /// - Throws: ``RemoteError`` with the code `store` where other rows lead to a record that was made here.
  public func discard(_ change: RemoteChange) async throws {
    let catalog = session.catalog
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db) else { return }
      let entity = try catalog.known(known.entity)
      let key = "\(entity.keyColumn.quotedDatabaseIdentifier) = ?"
      if known.kind == .insert, try RecordRenaming(catalog, entity, db).isLedTo(known.record) {
        throw RemoteError(
          .store, "other rows lead to the record, which was made here; let them lead elsewhere, or delete it with them",
          entity: entity.name)
      }
      if known.isUncertain {
        try ChangeTriggers.passed(db) {
          try db.execute(sql: "DELETE FROM \(entity.quotedTable) WHERE \(key)", arguments: [known.record])
        }
        try StoredCopies.forget(entity, db)
        return try known.remove(db)
      }
      if known.kind == .insert, known.request != nil {
        // The server may have it: it is noted as deleted, and is deleted there as soon as its id is known.
        return try db.execute(sql: "DELETE FROM \(entity.quotedTable) WHERE \(key)", arguments: [known.record])
      }
      try ChangeTriggers.passed(db) {
        switch known.kind {
        case .insert:
          try db.execute(sql: "DELETE FROM \(entity.quotedTable) WHERE \(key)", arguments: [known.record])
        case .update:
          for (column, base) in try LocalChanges(db).bases(entity, known.record) {
            let base = try entity.holdable(base, in: column, catalog, db)
            try db.execute(
              sql: "UPDATE \(entity.quotedTable) SET \(column.quotedDatabaseIdentifier) = ? WHERE \(key)",
              arguments: [base, known.record])
          }
        case .delete:
          try db.execute(
            sql: "DELETE FROM strata_remote_records WHERE entity = ? AND record = ?",
            arguments: [known.entity, known.record])
        }
      }
      // What the server has is asked for anew.
      try StoredCopies.forget(entity, db)
      try known.remove(db)
    }
  }

  /// A number for a record that is made here and whose primary key is the server's number, until that is known.
  ///
  /// The number is negative, and servers use positive ones. A positive number could belong to another record at the server, and saving an
  /// object with it would overwrite that record. The number has at most 53 bits, as JSON numbers in JavaScript do.
  public func newKey() -> Int64 { -Int64.random(in: 1...(1 << 53) - 1) }

  // MARK: Local removal

  /// Removes rows here, and nothing at the server: the next refresh brings them back.
  ///
  /// A row stays if it has unsent changes, if a record with unsent changes refers to it, or if the database would not let go of it because
  /// of a foreign key.
  ///
  /// - Returns: the number of rows that were removed.
  /// - Throws: ``RemoteError`` with the code `store` if the database fails.
  @discardableResult
  public func evict<E: Entity>(_ request: QueryInterfaceRequest<E>) async throws -> Int {
    let entity = try session.catalog.known(E.self)
    let keys = request.select(Column(entity.keyColumn))
    return try await session.write { [session] db in
      let dependents = try RowDependents(session.catalog, LocalChanges(db), db)
      let key = entity.keyColumn.quotedDatabaseIdentifier
      var count = 0
      for record in try Row.fetchAll(db, keys).map({ $0[0] as DatabaseValue })
      where try !dependents.keeps(entity, record) {
        try ChangeTriggers.passed(db) {
          try db.execute(cached: "DELETE FROM \(entity.quotedTable) WHERE \(key) = ?", [record])
          count += db.changesCount
        }
        try db.execute(
          cached: "DELETE FROM strata_remote_records WHERE entity = ? AND record = ?", [entity.name, record])
      }
      try StoredCopies.forgetDeleted(entity, session.catalog, db)
      return count
    }
  }

  /// Removes all rows of the entities here, and nothing at the server: for an app whose user logs out. Answers to requests that are under way
  /// are dropped.
  ///
  /// - Parameter discardingChanges: also removes unsent changes. Without it, they are an error.
  /// - Throws: ``RemoteError`` with the code `store` if there are unsent changes, or if a row of another table refers to one of the rows.
  ///   Nothing was removed then.
  public func reset(discardingChanges: Bool = false) async throws {
    let number = session.nextNumber()
    try await session.write { [session] db in
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM strata_remote_changes") ?? 0
      guard count == 0 || discardingChanges else {
        throw RemoteError(
          .store, "there are unsent changes of \(count.counting("record")); send them, or say discardingChanges: true")
      }
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
      try ChangeTriggers.passed(db) {
        for entity in session.catalog.entities { try db.execute(sql: "DELETE FROM \(entity.quotedTable)") }
      }
      for entity in session.catalog.entities { try StoredCopies.forget(entity, db) }
      for table in ["changes", "sent", "edits", "conflicts", "records", "deleted", "ids", "awaited"] {
        try db.execute(sql: "DELETE FROM strata_remote_\(table)")
      }
      try RemoteTables.noteReset(number, db)
    }
  }

  // MARK: Conflicts

  /// What both sides changed and no rule decides, oldest first.
  public func conflicts() async throws -> [RemoteConflict] {
    let catalog = session.catalog
    return try await session.read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM strata_remote_conflicts ORDER BY number").compactMap { row in
        try StoredConflict(row, catalog, db)?.shown
      }
    }
  }

  /// Ends a conflict. One that has been resolved, or that the server's next answer ended, is left alone.
  ///
  /// - Throws: ``RemoteError`` with the code `store` where the column cannot hold the value.
  public func resolve(_ conflict: RemoteConflict, _ resolution: RemoteConflict.Resolution) async throws {
    let catalog = session.catalog
    try await session.write { db in
      let row = try Row.fetchOne(
        db, sql: "SELECT * FROM strata_remote_conflicts WHERE number = ?", arguments: [conflict.number])
      guard let row, let stored = try StoredConflict(row, catalog, db) else { return }
      try stored.resolve(resolution, db)
    }
  }

  // MARK: Ids

  /// The primary key that a record has now which was made here with another one, before the server gave it its own.
  public func currentKey<E: Entity>(of key: some DatabaseValueConvertible & Sendable, _ type: E.Type) async throws
    -> DatabaseValue
  {
    try await currentKey(of: key.databaseValue, session.catalog.known(type))
  }

  /// The id that a document of a name has now.
  public func currentKey(of id: String, _ name: String) async throws -> String {
    let found = try await currentKey(of: id.databaseValue, session.catalog.known(documents: name))
    return String.fromDatabaseValue(found) ?? id
  }

  private func currentKey(of old: DatabaseValue, _ entity: MappedEntity) async throws -> DatabaseValue {
    try await session.read { db in
      try DatabaseValue.fetchOne(
        db, sql: "SELECT new FROM strata_remote_ids WHERE entity = ? AND old = ?", arguments: [entity.name, old]) ?? old
    }
  }

  // MARK: Events

  /// What is done from now on, for one reader. Whoever is slow misses what is older than the last 1,024.
  public func events() -> AsyncStream<RemoteEvent> { session.events() }

  // MARK: Sharing

  private func share<Key: Hashable & Sendable, Value: Sendable>(
    _ tasks: any WritableKeyPath<Shared, [Key: SharedTask<Value>]> & Sendable, _ key: Key,
    _ operation: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let new = SharedTask<Value>(isCancelledWithTheLast: true)
    let (task, place, isNew) = running.withLock { shared -> (SharedTask<Value>, Int?, Bool) in
      if let found = shared[keyPath: tasks][key], let place = found.reserve() { return (found, place, false) }
      shared[keyPath: tasks][key] = new
      return (new, new.reserve(), true)
    }
    guard let place else { throw CancellationError() }
    if isNew {
      task.start { [self] in
        defer { running.withLock { if $0[keyPath: tasks][key] === new { $0[keyPath: tasks][key] = nil } } }
        return try await operation()
      }
    }
    return try await task.value(at: place)
  }
}
