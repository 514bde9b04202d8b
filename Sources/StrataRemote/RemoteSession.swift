internal import Foundation
internal import GRDB
internal import StrataStore
internal import StrataCore

/// The state that all requests of one ``RemoteStore`` share: the account, the request numbers and the event listeners.
final class RemoteSession: Sendable {
  let catalog: RemoteCatalog
  let lease = SendingLease()
  private let state: Mutex<State>

  private struct State {
    var account: String
    var clients: [String: HTTPClient] = [:]
    /// The number of the most recent request.
    var number: Int64
    var listeners: [Int: AsyncStream<RemoteEvent>.Continuation] = [:]
    var lastListener = 0
    /// For each entity, the state of the database when the entity's rows were last compared with the stored copies.
    var checks: [String: DatabaseState] = [:]
  }

  /// Values that change when a different connection writes, or when the schema changes, for example because a table is
  /// recreated.
  private struct DatabaseState: Equatable {
    let data: Int?
    let schema: Int?
  }

  var configuration: RemoteConfiguration { catalog.configuration }
  var writer: any DatabaseWriter { catalog.store.writer }
  var clock: RemoteClock { configuration.clock }

  init(_ catalog: RemoteCatalog, account: String, number: Int64) {
    self.catalog = catalog
    state = Mutex(State(account: account, number: number))
  }

  var account: String { state.withLock { $0.account } }

  func setAccount(_ account: String) { state.withLock { $0.account = account } }

  /// Returns the number of a new request. The number is greater than all earlier ones. This includes the numbers of
  /// other processes if their clocks agree.
  func nextNumber() -> Int64 {
    let now = Int64(clamping: Int((clock.now().timeIntervalSince1970 * 1_000_000).rounded()))
    return state.withLock { state in
      state.number = max(state.number + 1, now)
      return state.number
    }
  }

  /// Returns the client that sends the requests of this account only.
  func client(_ account: String) -> HTTPClient {
    state.withLock { state in
      if let known = state.clients[account] { return known }
      let client = HTTPClient(
        transport: configuration.transport, retry: configuration.retry,
        authentication: configuration.authentication?(account), headers: configuration.headers,
        sizeLimit: configuration.sizeLimit, timeout: configuration.timeout, clock: configuration.clock)
      state.clients[account] = client
      return client
    }
  }

  // MARK: Events

  func post(_ kind: RemoteEvent.Kind, entity: String, account: String) {
    let event = RemoteEvent(kind: kind, entity: entity, account: account)
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener.yield(event) }
  }

  func events() -> AsyncStream<RemoteEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1024)) { continuation in
      let number = state.withLock { state in
        state.lastListener += 1
        state.listeners[state.lastListener] = continuation
        return state.lastListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
      }
    }
  }

  func endEvents() {
    let listeners = state.withLock { state in
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }

  // MARK: Database

  /// Writes in one transaction. Throws `CancellationError` if the task is already cancelled. Cancelling the task later
  /// has no effect.
  func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    try Task.checkCancellation()
    do {
      // This is a separate task, because cancellation must not interrupt the code between the commit and the event.
      return try await Task { [writer] in try await writer.write { db in try body(db) } }.value
    } catch { throw Self.located(error) }
  }

  /// Deletes the stored copies of an entity if rows have disappeared without being deleted through this connection.
  func checkRows(_ entity: MappedEntity) async throws {
    do {
      try await writer.writeWithoutTransaction { [self] db in
        let found = try DatabaseState(
          data: Int.fetchOne(db.cachedStatement(sql: "PRAGMA data_version")),
          schema: Int.fetchOne(db.cachedStatement(sql: "PRAGMA schema_version")))
        guard state.withLock({ $0.checks[entity.name] }) != found else { return }
        try db.inTransaction {
          try StoredCopies.checkRows(entity, db)
          return .commit
        }
        state.withLock { $0.checks[entity.name] = found }
      }
    } catch { throw Self.located(error) }
  }

  func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    do { return try await writer.read { db in try body(db) } } catch { throw Self.located(error) }
  }

  static func located(_ error: any Error) -> any Error {
    if error is RemoteError || error is CancellationError { return error }
    let known = EntityError.ofDatabase(error)
    return RemoteError(
      .store, "the database or a rule of a model rejected the operation, so nothing was changed",
      entity: (known as? EntityError)?.entity,
      underlying: known)
  }
}
