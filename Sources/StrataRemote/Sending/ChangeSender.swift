internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// Sends the queued changes of one account, in order.
struct ChangeSender: Sendable {
  let session: RemoteSession
  let account: String

  /// The result of handling one change in a run.
  private enum Step: Sendable {
    case done
    case skipped
    /// The change waits for a conflict to be resolved, so it is not tried again in this run, even after other changes have been sent.
    case held
    /// The change is a deletion. It waits until changes to other records have removed the references to the deleted record from the
    /// server.
    case behind
    /// The change was handled. Other changes may have been waiting for it, so all skipped changes are tried again.
    case freed
  }

  /// The number of consecutive failed requests after which a run ends, because the server is probably unavailable.
  private static let failuresInRow = 3

  /// The result that a task returns for one change.
  private struct Finished: Sendable {
    let number: Int64
    let result: Result<Step, any Error>
    let sending: RemoteSending
  }

  /// Sends all changes that can be sent now.
  ///
  /// - Throws: ``RemoteError`` if the server cannot be reached, or currently accepts no requests. Changes that have not
  ///   been sent stay in the queue.
  func run() async throws -> RemoteSending {
    var sending = RemoteSending()
    var passed = Set<Int64>()
    var held = Set<Int64>()
    var behind = Set<Int64>()
    var active = Set<Int64>()
    // The search for the next change continues from this number, because earlier changes have been handled or skipped.
    var place: Int64 = 0
    var failure: (any Error)?
    var inRow = 0
    try await withThrowingTaskGroup(of: Finished.self) { group in
      var isEnding = false
      while true {
        while !isEnding, active.count < session.configuration.requestsAtOnce,
          let number = try await next(from: place, except: passed, held, active)
        {
          guard session.account == account else {
            failure = RemoteError(
              .accountChanged,
              "the account changed during the call; send the new account's changes with a separate call")
            isEnding = true
            break
          }
          active.insert(number)
          group.addTask { await finished(number) }
        }
        guard let finished = try await group.next() else { break }
        let number = finished.number
        active.remove(number)
        sending.add(finished.sending)
        let step: Step
        switch finished.result {
        case .success(let found):
          step = found
          if step == .done || step == .freed { inRow = 0 }
        case .failure(let error as RemoteError) where error.isOfOneRequest:
          // One failed request does not prevent changes to other records from being sent.
          failure = failure ?? error
          inRow += 1
          isEnding = isEnding || inRow >= Self.failuresInRow
          step = .skipped
        case .failure(let error):
          // This failure ends the run once the requests already in progress have completed. It is reported instead of an earlier
          // failure of a single request.
          failure = isEnding ? failure ?? error : error
          isEnding = true
          step = .skipped
        }
        switch step {
        case .done:
          place = behind.isEmpty ? number : 0
          passed.subtract(behind)
          behind.removeAll()
        case .skipped: passed.insert(number)
        case .held: held.insert(number)
        case .behind:
          passed.insert(number)
          behind.insert(number)
        case .freed: (place, passed) = (0, [])
        }
      }
    }
    if let failure { throw failure }
    sending.waiting = try await session.read { [account] db in
      try Int.fetchOne(
        db, sql: "SELECT count(*) FROM strata_remote_changes WHERE account = ? AND state = 'waiting'",
        arguments: [account]) ?? 0
    }
    return sending
  }

  private func finished(_ number: Int64) async -> Finished {
    var sending = RemoteSending()
    do {
      let step = try await endingLease(of: number) { try await send(number, &sending) }
      return Finished(number: number, result: .success(step), sending: sending)
    } catch { return Finished(number: number, result: .failure(error), sending: sending) }
  }

  private func next(from place: Int64, except others: Set<Int64>...) async throws -> Int64? {
    let now = session.clock.now().timeIntervalSince1970
    // Entities without a mapper are not included, because another `RemoteStore` with the same database sends their changes.
    let names = session.catalog.entities.map(\.name)
    return try await session.read { [account] db in
      let cursor = try Int64.fetchCursor(
        db,
        sql: """
          SELECT number FROM strata_remote_changes WHERE number >= ? AND account = ? AND state = 'waiting'
            AND (not_before IS NULL OR not_before <= ?)
            AND entity IN (\(names.map { _ in "?" }.joined(separator: ", "))) ORDER BY number
          """, arguments: [place, account, now] + StatementArguments(names))
      while let number = try cursor.next() { if !others.contains(where: { $0.contains(number) }) { return number } }
      return nil
    }
  }

  // MARK: One change

  private func send(_ number: Int64, _ sending: inout RemoteSending) async throws -> Step {
    var fetched: ArchiveValue?
    // The change as it was sent, if the outcome of the request is unknown.
    var uncertain: UnsentChange?
    for _ in 0..<4 {
      guard let (outcome, entity) = try await prepare(number, fetched, &sending) else { return .done }
      switch outcome {
      case .nothing:
        if let uncertain {
          // The server's record already contains the change, so the earlier request was successful.
          sending.sent += 1
          let shown = RemoteChange(uncertain, columns: [])
          post(.didSend(shown), shown)
        }
        return .freed
      case .waits: return .skipped
      case .held: return .held
      case .behind: return .behind
      case .stuck:
        try await refuse(number, entity, &sending)
        return .skipped
      case .again: continue
      case .needsRecord:
        fetched = try await fetch(number, entity, &sending)
        guard fetched != nil else { return .skipped }
      case .uncertain(let change):
        uncertain = change
        guard change.request?.verb != "POST" else {
          guard entity.mapper.ids == .client else {
            try await noteUncertain(change, entity)
            return .skipped
          }
          if try await !lookUp(change, entity, &sending) {
            _ = try await send(change, entity, false, isNew: false, &sending)
          }
          return .freed
        }
        fetched = try await settled(number, entity, &sending)
        guard fetched != nil else { return .skipped }
      case .ready(let change, let isNew):
        switch try await send(change, entity, fetched != nil, isNew: isNew, &sending) {
        case .settled: return change.kind == .insert ? .freed : .done
        case .changed(let record): fetched = record
        case .uncertain(let record): (uncertain, fetched) = (change, record)
        }
      }
    }
    // The record changed on the server before each attempt to send the change. A later call of `send()` tries again.
    try await postpone(
      number, attempts: 1,
      because: RemoteError(
        .conflict,
        "the record changed on the server again before the change could be sent; try again later", status: 412))
    return .skipped
  }

  /// The result of one request.
  enum Sent: Sendable {
    /// Nothing more is sent for this change for now.
    case settled
    /// Another client has changed the record. The server's record was fetched and merged, and the remaining edits are
    /// sent next.
    case changed(ArchiveValue)
    /// The outcome of the request is unknown. The server's record was fetched and merged.
    case uncertain(ArchiveValue)
  }

  /// Runs `body`. Afterwards, ends the lease that ``prepare(_:_:_:)`` has acquired, even if `body` throws or the task is cancelled.
  private func endingLease(of number: Int64, _ body: () async throws -> Step) async throws -> Step {
    let result: Result<Step, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    try await Task { [session] in
      try await session.write { [lease = session.lease] db in try lease.end(number, db) }
    }.value
    return try result.get()
  }

  private func prepare(
    _ number: Int64, _ fetched: ArchiveValue?, _ sending: inout RemoteSending
  ) async throws -> (ChangeRequest.Outcome, MappedEntity)? {
    do { return try await prepare(number, fetched) } catch let error as RemoteError where error.isOfOneRecord {
      guard let change = try await session.read({ db in try UnsentChange.fetch(number, db) }) else { return nil }
      try await refuse(change, error, shown(change), &sending)
      return nil
    }
  }

  private func prepare(_ number: Int64, _ fetched: ArchiveValue?) async throws -> (ChangeRequest.Outcome, MappedEntity)?
  {
    let (request, now) = (session.nextNumber(), session.clock.now())
    return try await session.write { [catalog = session.catalog, lease = session.lease, account] db in
      _ = try ChangeTriggers.account(catalog.entities, db)
      guard let change = try UnsentChange.fetch(number, db), change.account == account, change.state != .refused else {
        return nil
      }
      let entity = try catalog.known(change.entity)
      guard try lease.acquire(number, at: now, db) else { return (.waits, entity) }
      let made = ChangeRequest(
        catalog: catalog, entity: entity, change: change, fetched: fetched, number: request, db: db)
      let outcome = try made.prepare()
      if let reason = outcome.reason { try change.setReason(reason, db) }
      return (outcome, entity)
    }
  }

  private func send(
    _ change: UnsentChange, _ entity: MappedEntity, _ wasFetched: Bool, isNew: Bool, _ sending: inout RemoteSending
  ) async throws -> Sent {
    guard let stored = change.request else { return .settled }
    let shown = try await shown(change)
    let url: URL
    do {
      guard let path = try await path(of: change, stored.verb, entity) else { return .settled }
      url = session.configuration.url(path)
    } catch let error as RemoteError where error.isOfOneRecord {
      // A repeated request is kept, because the server may have received an earlier attempt.
      try await refuse(change, error, shown, keepsRequest: !isNew, &sending)
      return .settled
    }
    post(.willSend(shown), shown)
    var request = HTTPRequest(stored.verb, url, headers: HTTPHeaders(stored.headers), body: stored.body)
    request.headers["Idempotency-Key"] = "\"\(stored.key)\""
    request.headers["Accept"] = "application/json"
    let asked = session.clock.now()
    let response: HTTPResponse
    do {
      response = try await session.client(account).answer(to: request, isRepeatable: entity.canRepeat(stored))
    } catch let error as RemoteError {
      let located = error.located(entity: entity.name, method: stored.verb, url: url)
      try await postpone(
        change.number, attempts: change.attempts + 1, because: located,
        discardsRequest: isNew && !entity.canRepeat(stored))
      post(.sendFailed(shown, located), shown)
      throw located
    }
    if let error = RemoteError(
      refusing: response, to: request, retry: session.configuration.retry, now: session.clock.now())
    {
      return try await handle(
        error.located(entity: entity.name, method: stored.verb, url: url), change, entity, shown, wasFetched,
        discardsRequest: isNew && !entity.canRepeat(stored), &sending)
    }
    guard response.status != 304 else {
      try await refuse(
        change,
        RemoteError(
          .invalidResponse,
          "the server responded to \(stored.verb) with status 304 (Not Modified), which is not valid for a "
            + "change", status: 304),
        shown, &sending)
      return .settled
    }
    do {
      let applied = try await acknowledge(change, entity, request, response, stored.number, asked)
      note(applied, of: shown, &sending)
    } catch let error as RemoteError where error.code == .invalidBody {
      let located = error.located(entity: entity.name, method: stored.verb, url: url)
      // The response cannot be read, but fetching the record shows whether the server has made the change.
      guard stored.verb == "POST" else {
        return try await settled(change.number, entity, &sending).map { .uncertain($0) } ?? .settled
      }
      // The `POST` is repeated, because the server may return a readable response next time.
      if change.attempts + 1 < Self.unreadableAnswers {
        try await postpone(change.number, attempts: change.attempts + 1, because: located)
        post(.sendFailed(shown, located), shown)
      } else {
        try await refuse(change, located, shown, keepsRequest: true, &sending)
      }
    }
    return .settled
  }

  /// Counts the effects of a response to a change and posts the events. If `applied` is `nil`, nothing happens, because the change had
  /// already left the queue.
  func note(_ applied: AppliedAnswer?, of shown: RemoteChange, _ sending: inout RemoteSending) {
    guard let applied else { return }
    if let error = applied.notApplied {
      sending.refused += 1
      post(.refused(shown, error), shown)
    } else {
      sending.sent += 1
      post(.didSend(shown), shown)
    }
    sending.conflicts += applied.conflicts
    if applied.conflicts > 0 {
      post(.conflicts(applied.conflicts), shown)
    }
  }

  func post(_ kind: RemoteEvent.Kind, _ change: RemoteChange) {
    session.post(kind, entity: change.entity, account: account)
  }

  /// The number of unreadable responses after which a change is marked as refused.
  private static let unreadableAnswers = 5

  func shown(_ change: UnsentChange) async throws -> RemoteChange {
    try await session.read { db in try RemoteChange(change, columns: change.columns(db)) }
  }
}

extension UnsentChange {
  /// Returns the names of the changed columns of an update. Empty for an insertion or a deletion.
  func columns(_ db: Database) throws -> [String] {
    guard kind == .update else { return [] }
    return try String.fetchAll(
      db, sql: "SELECT field FROM strata_remote_edits WHERE entity = ? AND record = ? ORDER BY field",
      arguments: [entity, record])
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
