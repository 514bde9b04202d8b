internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Handles requests that the server has refused, that have failed, or whose outcome is unknown.
extension ChangeSender {
  func handle(
    _ error: RemoteError, _ change: UnsentChange, _ entity: MappedEntity, _ shown: RemoteChange,
    _ wasFetched: Bool, discardsRequest: Bool, _ sending: inout RemoteSending
  ) async throws -> Sent {
    let verb = change.request?.verb
    switch error.code {
    case .unavailable, .unauthorized:
      try await postpone(change.number, attempts: change.attempts + 1, because: error, discardsRequest: discardsRequest)
      post(.sendFailed(shown, error), shown)
      throw error
    case .notFound where verb == "DELETE":
      let (catalog, number) = (session.catalog, session.nextNumber())
      _ = try await session.write { db in
        try Acknowledgement(catalog: catalog, entity: entity, sent: change, db: db).run(
          nil, id: nil, copy: nil, number: number, answered: number)
      }
      sending.sent += 1
      post(.didSend(shown), shown)
      return .settled
    // A 409 response usually means that another client has changed the record. If the record was fetched just before, the cause must be
    // different, such as a duplicate value, so the change is refused.
    case .conflict where error.status == 412 && verb != "POST" || (verb == "PATCH" || verb == "PUT") && !wasFetched:
      return try await settled(change.number, entity, &sending).map { .changed($0) } ?? .settled
    default:
      try await refuse(change, error, shown, &sending)
      return .settled
    }
  }

  /// Marks the change of a new record as refused, because the record is one of several new records that require
  /// references to each other.
  func refuse(_ number: Int64, _ entity: MappedEntity, _ sending: inout RemoteSending) async throws {
    let change = try await session.read { db in try UnsentChange.fetch(number, db) }
    guard let change else { return }
    let error = RemoteError(
      .store,
      "new records refer to each other in a cycle, so none of the records can be sent first; allow null in "
        + "one of the referring columns",
      entity: entity.name)
    try await refuse(change, error, shown(change), &sending)
  }

  /// Marks a change as refused.
  ///
  /// - Parameter keepsRequest: whether the request is kept, so that a retry repeats the same request. This is necessary
  ///   if the server may have received it.
  func refuse(
    _ change: UnsentChange, _ error: RemoteError, _ shown: RemoteChange, keepsRequest: Bool = false,
    _ sending: inout RemoteSending
  ) async throws {
    try await session.write { db in
      guard let known = try UnsentChange.fetch(change.number, db), known.request?.key == change.request?.key else {
        return
      }
      try known.refuse(error, keepsRequest: keepsRequest, db)
    }
    sending.refused += 1
    post(.refused(shown, error), shown)
  }

  /// Delays the next attempt to send a change. The request is kept, because the server may have received it.
  ///
  /// There is no delay after `notConnected`, `cutOff`, `timedOut` and `unauthorized`, because the app decides when to
  /// call `send()` again.
  ///
  /// - Parameter discardsRequest: whether the request is discarded if it is certain that it had no effect. The record then need not be
  ///   fetched before the next attempt.
  func postpone(
    _ number: Int64, attempts: Int, because error: RemoteError? = nil, discardsRequest: Bool = false
  ) async throws {
    let discardsRequest = discardsRequest && error?.hadNoEffect ?? false
    let retry = session.configuration.retry
    let delay = min(retry.maximumDelay.seconds, retry.baseDelay.seconds * pow(2, Double(min(attempts, 30))))
    let hasAnswer =
      switch error?.code {
      case .notConnected, .cutOff, .timedOut, .unauthorized: false
      default: true
      }
    let wait = max(delay * session.clock.random(), error?.retryAfter?.seconds ?? 0)
    let time = hasAnswer ? session.clock.now().addingTimeInterval(wait).timeIntervalSince1970 : nil
    // A separate task is used, so that the failure is stored even if the current task is cancelled.
    try await Task { [session, account] in
      try await session.write { db in
        let change = try UnsentChange.fetch(number, db)
        try change?.postpone(attempts: attempts, until: time, error, db)
        if discardsRequest { try change?.discardRequest(db) }
        if error?.status == 429, error?.retryAfter != nil, let time {
          try UnsentChange.postponeAll(of: account, until: time, db)
        }
      }
    }.value
  }

  /// Marks the change of a new record as uncertain, unless it is already marked as such.
  func noteUncertain(_ change: UnsentChange, _ entity: MappedEntity) async throws {
    guard change.state != .uncertain else { return }
    let error = RemoteError(
      .uncertain,
      "the response to the request that creates the record was lost, so the server may already have the "
        + "record; call confirm(_:id:) if it does, or retry the change if it does not",
      entity: entity.name)
    try await session.write { db in try change.becomeUncertain(error, db) }
    let shown = try await shown(change)
    post(.sendFailed(shown, error), shown)
  }
}

extension RemoteError {
  /// Whether it is certain that the failed request had no effect on the server.
  fileprivate var hadNoEffect: Bool {
    switch code {
    case .unauthorized: true
    // If the error did not occur before sending, the request may have reached the server.
    case .notConnected: underlyingError.map(Self.isBeforeSending) ?? true
    case .unavailable: status == 429
    default: false
    }
  }

  private static func isBeforeSending(_ error: any Error) -> Bool {
    switch (error as? URLError)?.code {
    case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet: true
    default: false
    }
  }

  /// Whether the error affects only the record in the request. If so, changes to other records can still be sent.
  var isOfOneRecord: Bool {
    switch code {
    case .refused, .invalidConfiguration, .invalidBody: return true
    case .store:
      switch (underlyingError as? EntityError)?.code {
      case .notReadable, .notStorable, .invalid, .invalidSource: return true
      case nil: return underlyingError is ArchiveError
      default: return false
      }
    default: return false
    }
  }

  /// Whether the error affects only this request. If so, other requests may still succeed.
  var isOfOneRequest: Bool {
    switch code {
    case .unavailable: status != 429
    case .timedOut, .cutOff: true
    default: false
    }
  }
}
