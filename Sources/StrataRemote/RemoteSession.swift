internal import Foundation
internal import GRDB
internal import StrataStore
internal import StrataCore

/// The state that all requests of one ``RemoteStore`` share, such as the account, the last request number and the event
/// listeners.
final class RemoteSession: Sendable {
  let catalog: RemoteCatalog
  let writer: any DatabaseWriter
  let lease = SendingLease()
  private let state: Mutex<State>

  private struct State {
    var account: String
    var clients: [String: HTTPClient] = [:]
    /// The number that ``nextNumber()`` has assigned to the latest request.
    var number: Int64
    var listeners: [Int: AsyncStream<RemoteEvent>.Continuation] = [:]
    var lastListener = 0
    /// The state of the database when ``checkRows(_:)`` last checked the rows of an entity, by entity name. While the
    /// state is unchanged, the check is not repeated.
    var checks: [String: DatabaseState] = [:]
  }

  /// The values of SQLite's `data_version` and `schema_version`. They change when another connection writes, or when
  /// the schema changes, for example because a table is recreated.
  private struct DatabaseState: Equatable {
    let data: Int?
    let schema: Int?
  }

  var configuration: RemoteConfiguration { catalog.configuration }
  var clock: RemoteClock { configuration.clock }

  init(_ catalog: RemoteCatalog, _ writer: any DatabaseWriter, account: String, number: Int64) {
    self.catalog = catalog
    self.writer = writer
    state = Mutex(State(account: account, number: number))
  }

  var account: String { state.withLock { $0.account } }

  func setAccount(_ account: String) { state.withLock { $0.account = account } }

  /// Returns a number for a new request. It is greater than all earlier numbers in this process. It is also greater
  /// than the earlier numbers in other processes, unless their clocks differ.
  func nextNumber() -> Int64 {
    let now = Int64(clamping: Int((clock.now().timeIntervalSince1970 * 1_000_000).rounded()))
    return state.withLock { state in
      state.number = max(state.number + 1, now)
      return state.number
    }
  }

  /// Returns the client that sends the requests of the given account. Each account has its own client, because each has
  /// its own token.
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

  /// Runs `body` in a write transaction. Throws `CancellationError` if this task is already cancelled. If the task is
  /// cancelled later, the transaction is still committed.
  func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
    try Task.checkCancellation()
    do {
      // The transaction runs in a separate task. Cancelling the current task therefore does not interrupt it, and a
      // committed change is always reported with an event.
      return try await Task { [writer] in try await writer.write { db in try body(db) } }.value
    } catch { throw Self.located(error) }
  }

  /// Deletes the cached response headers of an entity if some of its rows have disappeared without a recorded deletion,
  /// for example because another connection deleted them. Otherwise the server could respond with 304 (Not Modified),
  /// and the rows would not be restored.
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
      .store, "the database or a model's validation rejected the operation, so nothing was changed",
      entity: (known as? EntityError)?.entity,
      underlying: known)
  }
}
