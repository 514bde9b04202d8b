public import Foundation
public import GRDB
internal import StrataCore
public import StrataStore

/// Synchronizes the entities of an `EntityStore` with a server. Reads return the rows in the database immediately. The server's responses
/// are merged into these rows. Local changes stay in a queue until ``send()`` sends them.
///
///     let remote = try await RemoteStore(
///       entities, RemoteConfiguration(baseURL: url, mappers: EntityMapper(Project.self), EntityMapper(Todo.self)))
///     for try await todos in remote.fetch(Todo.order(Column("title"))) { show(todos) }  // stored rows, then the merged rows
///     try await entities.save(todo)  // an ordinary edit
///     try await remote.send()
///
/// Every write through the database connection of the `EntityStore` is recorded as a change, whether it is made with models, GRDB
/// records or SQL. See Docs/Refresh.md for a guide.
public final class RemoteStore: Sendable {
  /// The store with the entities that are synchronized.
  public let entities: EntityStore
  let session: RemoteSession
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

  /// Creates a store. Checks the mappers against the entities and the tables, creates the tables for the change queue, and starts
  /// recording changes.
  ///
  /// - Parameters:
  ///   - entities: the entities, which must include every entity that a mapper names.
  ///   - configuration: the configuration of the server, the mappers and the limits.
  ///   - account: a stable identifier of the current user. Changes made under an account are sent only with that account's token.
  /// - Throws: ``RemoteError`` with the code `invalidConfiguration`, whose reason lists every mistake, or with the code `store`
  ///   if the database fails.
  public init(_ entities: EntityStore, _ configuration: RemoteConfiguration, account: String = "") async throws {
    self.entities = entities
    do {
      let writer = try entities.writer
      let (catalog, number) = try await writer.write { db in
        let catalog = try RemoteCatalog(configuration, entities, db)
        try RemoteTables.create(db)
        try CarriedEdits.run(catalog, db)
        try ChangeTriggers.create(catalog.entities, account: account, db)
        try StoredCopies.checkMapping(catalog, db)
        try RemoteTables.forgetDeletions(before: configuration.clock.now(), db)
        let number = try Int64.fetchOne(
          db, sql: "SELECT max(value) FROM strata_remote_meta WHERE name LIKE 'applied/%'")
        return (catalog, number ?? 0)
      }
      session = RemoteSession(catalog, writer, account: account, number: number)
      entities.servers.set(Set(catalog.entities.map(\.type.table))) { [mapped = catalog.entities] nodes, db in
        try RecordRenaming.follow(&nodes, mapped, db)
      }
    } catch { throw RemoteSession.located(error) }
  }

  deinit { session.endEvents() }

  // MARK: Accounts

  /// The account under which requests are sent and changes are recorded.
  public var account: String { session.account }

  /// Changes the current account. Unsent changes of the previous account stay in the queue until that account is current again.
  /// Responses to running requests of the previous account are dropped. The rows in the database are not changed. If accounts
  /// must not see each other's rows, use one database for each account.
  public func use(account: String) async throws {
    try await session.write { [session] db in
      try db.execute(sql: "UPDATE temp.strata_remote_session SET account = ?", arguments: [account])
      // The account of the session is set only after the commit, so that it always matches the account under which the triggers record
      // changes.
      db.afterNextTransaction { _ in session.setAccount(account) }
    }
  }

  // MARK: Fetching

  /// Returns a stream that first yields the entities stored in the database and then yields them again after the server's response has been
  /// merged.
  ///
  /// The second element is omitted if no response was merged. If the refresh fails, the stream throws the error after the first
  /// element. If the loop over the stream ends early, the refresh is cancelled, unless other callers wait for it.
  ///
  /// - Parameters:
  ///   - request: the entities to read from the database.
  ///   - remote: the records to request from the server.
  public func fetch<E: Entity>(
    _ request: QueryInterfaceRequest<E>, from remote: RemoteRequest = .all
  ) -> AsyncThrowingStream<[E], any Error> {
    AsyncThrowingStream { continuation in
      let task = Task { [self] in
        do {
          continuation.yield(try await entities.fetchAll(request))
          if try await refresh(E.self, remote).outcome == .merged {
            continuation.yield(try await entities.fetchAll(request))
          }
          continuation.finish()
        } catch { continuation.finish(throwing: error) }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Returns the entities that are stored in the database. No request is sent, so the network cannot cause an error.
  public func cached<E: Entity>(_ request: QueryInterfaceRequest<E>) async throws -> [E] {
    try await entities.fetchAll(request)
  }

  /// Refreshes records from the server and then returns the requested entities from the database.
  public func refreshed<E: Entity>(
    _ request: QueryInterfaceRequest<E>, from remote: RemoteRequest = .all
  ) async throws -> [E] {
    try await refresh(E.self, remote)
    return try await entities.fetchAll(request)
  }

  /// Requests records from the server and merges the response in one transaction.
  ///
  /// Identical refreshes that run at the same time share one request. Cancelling one refresh does not cancel the other refreshes.
  /// A refresh with `replacing` is not shared.
  ///
  /// - Parameters:
  ///   - type: the entity.
  ///   - remote: the records to request.
  ///   - replacing: selects the local rows that the server's list covers, for example the tasks of one project. A selected row is deleted
  ///     if its record is missing from the response.
  /// - Throws: ``RemoteError``, in which case no row was changed; `CancellationError`.
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

  /// Runs a single refresh for all callers that make the same request at the same time.
  private func shared(_ refreshing: Refreshing) async throws -> RemoteRefresh {
    let (account, entity, remote) = (refreshing.account, refreshing.entity, refreshing.request)
    let key = RefreshKey(
      account: account, entity: entity.name, url: refreshing.url, policy: remote.policy, headers: remote.headers)
    return try await share(\.refreshes, key) { try await refreshing.run() }
  }

  /// Merges JSON that the server has sent without a request, for example over a WebSocket or in a notification. The same rules apply as for
  /// a response.
  ///
  /// - Parameters:
  ///   - json: one record or a list of records, in the same form as in a response.
  ///   - type: the entity.
  /// - Throws: ``RemoteError`` with the code `invalidBody` or `store`, in which case no row was changed.
  @discardableResult
  public func apply<E: Entity>(_ json: Data, to type: E.Type) async throws -> RemoteRefresh {
    try await apply(json, session.catalog.known(type))
  }

  private func apply(_ json: Data, _ entity: MappedEntity) async throws -> RemoteRefresh {
    let (account, number, catalog) = (session.account, session.nextNumber(), session.catalog)
    let body = try RemoteBody(json, of: entity)
    let read = try entity.read(body.records, catalog)
    let applied = try await session.write { db in
      let applied = try AnswerWriter.write(read, of: entity, catalog, account: account, number: number, db)
      for other in catalog.entities {
        let changed = applied.report[other.table.name]
        if changed.inserted + changed.updated > 0 { try StoredCopies.forget(other, db) }
      }
      return applied
    }
    var refresh = RemoteRefresh(applied, pages: 0)
    refresh.invalid = read.invalid
    session.post(.didFetch(refresh), entity: entity.name, account: account)
    if refresh.conflicts > 0 { session.post(.conflicts(refresh.conflicts), entity: entity.name, account: account) }
    return refresh
  }

  // MARK: Sending

  /// Sends the unsent changes of the current account in the order in which they were made, except that a record is sent after the records
  /// that it refers to.
  ///
  /// A change that the server refuses stays in the queue and blocks only the changes that depend on it. If the method is called
  /// while it is already running, both calls share the same run and result.
  ///
  /// - Throws: ``RemoteError`` if the server cannot be reached, or asks the client to wait. A later call sends the remaining
  ///   changes.
  @discardableResult
  public func send() async throws -> RemoteSending {
    let account = session.account
    let sender = ChangeSender(session: session, account: account)
    return try await share(\.sending, account) { try await sender.run() }
  }

  /// Sends the unsent changes and then refreshes the lists of all entities in the order of the mappers. Call this method when the
  /// connection is restored, when the app comes to the foreground, and at regular intervals.
  ///
  /// If the task is cancelled, everything that has already been sent or merged is kept.
  ///
  /// - Throws: the first error that ``send()`` or ``refresh(_:_:replacing:)`` throws. The error is thrown at once if there is no
  ///   connection or no valid token, or if the account was changed. Otherwise the error is thrown after all lists have been
  ///   requested.
  @discardableResult
  public func sync() async throws -> RemoteSync {
    var (sync, failure) = (RemoteSync(), nil as RemoteError?)
    func note(_ error: RemoteError) throws {
      // The error is thrown at once, because every further request would fail for the same reason.
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

  /// The guarantees that apply to the records of each entity, by entity name.
  public var guarantees: [String: Set<RemoteGuarantee>] {
    Dictionary(
      session.catalog.entities.map { ($0.name, $0.mapper.guarantees) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns a temporary primary key for a new record of an entity that uses the server's numeric id as its primary key.
  ///
  /// The key is negative, because servers assign positive numbers. With a positive key, saving the new record could overwrite the
  /// row of another record to which the server has assigned the same number. The key has at most 53 bits, so that JavaScript can
  /// represent it.
  public func newKey() -> Int64 { -Int64.random(in: 1...(1 << 53) - 1) }

  // MARK: Conflicts

  /// The unresolved conflicts, oldest first.
  public func conflicts() async throws -> [RemoteConflict] {
    let catalog = session.catalog
    return try await session.read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM strata_remote_conflicts ORDER BY number").compactMap { row in
        try StoredConflict(row, catalog, db)?.shown
      }
    }
  }

  /// Resolves a conflict. Does nothing if the conflict no longer exists, because it has already been resolved, or because a later server
  /// response has removed it.
  ///
  /// - Throws: ``RemoteError`` with the code `store` if the column cannot store the value, if `.value` is used for a reference,
  ///   or if the server's value refers to a record that does not exist locally.
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

  /// Returns the current primary key of a record that was created with a local key. If the server's id has replaced the local
  /// key, this is the server's id. Otherwise the given key is returned.
  public func currentKey<E: Entity>(of key: some DatabaseValueConvertible & Sendable, _ type: E.Type) async throws
    -> DatabaseValue
  {
    try await currentKey(of: key.databaseValue, session.catalog.known(type))
  }

  private func currentKey(of old: DatabaseValue, _ entity: MappedEntity) async throws -> DatabaseValue {
    try await session.read { db in
      try DatabaseValue.fetchOne(
        db, sql: "SELECT new FROM strata_remote_ids WHERE entity = ? AND old = ?", arguments: [entity.name, old]) ?? old
    }
  }

  // MARK: Events

  /// Returns a stream of all future events, for a single reader. If the reader falls behind, only the latest 1,024 unread events
  /// are kept.
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
