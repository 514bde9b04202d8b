public import Foundation
public import GRDB
internal import StrataCore
public import StrataStore

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

  /// What is kept. It does not ask the server, and never fails for the network.
  public func cached<E: Entity>(_ request: QueryInterfaceRequest<E>) async throws -> [E] {
    try await entities.fetchAll(request)
  }

  /// The entities after the server's answer.
  public func refreshed<E: Entity>(
    _ request: QueryInterfaceRequest<E>, from remote: RemoteRequest = .all
  ) async throws -> [E] {
    try await refresh(E.self, remote)
    return try await entities.fetchAll(request)
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

  /// The guarantees for the records of each entity, by its name.
  public var guarantees: [String: Set<RemoteGuarantee>] {
    Dictionary(
      session.catalog.entities.map { ($0.name, $0.mapper.guarantees) }, uniquingKeysWith: { first, _ in first })
  }

  /// A number for a record that is made here and whose primary key is the server's number, until that is known.
  ///
  /// The number is negative, and servers use positive ones. A positive number could belong to another record at the server, and saving an
  /// object with it would overwrite that record. The number has at most 53 bits, as JSON numbers in JavaScript do.
  public func newKey() -> Int64 { -Int64.random(in: 1...(1 << 53) - 1) }

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
