internal import Foundation
internal import GRDB
internal import StrataCore
internal import StrataStore

/// A refresh, which requests records from the server and merges the response into the rows.
struct Refreshing: Sendable {
  let session: RemoteSession
  let entity: MappedEntity
  let request: RemoteRequest
  let account: String
  /// Returns the primary keys of the rows that the requested list covers, for example the tasks of one project. Only these rows are
  /// deleted if they are missing from the list. If the closure is `nil`, missing rows are deleted only if the list contains all records
  /// and ``EntityMapper/missing`` is ``EntityMapper/Missing/delete``.
  var scope: (@Sendable (Database) throws -> Set<ExactValue>)?

  private struct Pages: Sendable {
    var read: ReadRecords
    var isList = true
    var count = 0
    /// Whether all pages of the list were fetched.
    var isComplete = true
    var copy: HTTPCopy?
  }

  private enum Answer: Sendable {
    case fresh
    /// The server responded with 304 (Not Modified). The value contains the updated headers to cache, or is `nil` if
    /// the cached headers must be deleted.
    case notModified(HTTPCopy?)
    case pages(Pages)
    case gone(RemoteError)
  }

  var url: URL {
    switch request.target {
    case .list(let path, let query):
      session.configuration.url(path ?? entity.path, query: query)
    case .one(let id): session.configuration.url(entity.paths.record.filled { _ in id })
    }
  }

  private var isOne: Bool { if case .one = request.target { true } else { false } }

  func run() async throws -> RemoteRefresh { try await fetch().refresh }

  /// Runs the refresh. Also returns the JSON of the first record in the response, as the server sent it.
  func fetch() async throws -> (refresh: RemoteRefresh, record: ArchiveValue?) {
    session.post(.willFetch, entity: entity.name, account: account)
    do {
      let (refresh, record) = try await refreshed()
      session.post(.didFetch(refresh), entity: entity.name, account: account)
      if refresh.conflicts > 0 { session.post(.conflicts(refresh.conflicts), entity: entity.name, account: account) }
      return (refresh, record)
    } catch {
      let known = (error as? RemoteError)?.located(entity: entity.name, method: "GET", url: url)
      if let known { session.post(.fetchFailed(known), entity: entity.name, account: account) }
      throw known ?? error
    }
  }

  private func refreshed() async throws -> (RemoteRefresh, ArchiveValue?) {
    guard session.account == account else {
      throw RemoteError(
        .accountChanged,
        "the account changed before the request; repeat the call for the current account")
    }
    let number = session.nextNumber()
    try await session.checkRows(entity)
    let generation = try await session.read { db in try StoredCopies.generation(entity, db) }
    switch try await answer() {
    case .fresh: return (RemoteRefresh(.fresh), nil)
    case .notModified(let copy):
      try await session.write { db in
        try keep(StoredCopies.generation(entity, db) == generation ? copy : nil, number, db)
      }
      return (RemoteRefresh(.notModified), nil)
    case .gone(let error): return (try await remove(error, number), nil)
    case .pages(let pages):
      let applied = try await session.write { db in try apply(pages, number, generation, db) }
      var refresh = RemoteRefresh(applied, pages: pages.count)
      refresh.invalid = pages.read.invalid
      return (refresh, pages.read.first)
    }
  }

  private func apply(
    _ pages: Pages, _ number: Int64, _ generation: Int64, _ db: Database
  ) throws -> AppliedAnswer {
    let isComplete = pages.isComplete && pages.read.invalid.isEmpty
    let isCurrent = try StoredCopies.generation(entity, db) == generation
    let isWhole =
      pages.isList && isComplete && (scope != nil || request.isWhole && entity.mapper.missing == .delete)
    let applied = try AnswerWriter.write(
      pages.read, of: entity, session.catalog, account: account, number: number, copy: isOne ? pages.copy : nil,
      isWhole: isWhole, among: isWhole ? scope?(db) : nil, db)
    // The headers of a response are cached only if the whole response was merged. Otherwise a later 304 would hide the
    // parts that were skipped.
    let isInFull = isCurrent && isComplete && applied.kept == 0 && applied.passedOver == 0 && applied.awaited == 0
    try keep(isInFull ? pages.copy : nil, number, db)
    for other in session.catalog.entities {
      let changed = applied.report[other.table.name]
      guard changed.inserted + changed.updated > 0 else { continue }
      if other.number == entity.number { try StoredCopies.forget(entity, after: number, db) }
      try StoredCopies.forget(other, except: url.absoluteString, account: account, db)
    }
    return applied
  }

  /// Deletes the record for which the server has returned 404 or 410.
  ///
  /// - Throws: the given error, if the record is not stored locally or if the mapper keeps missing records.
  private func remove(_ error: RemoteError, _ number: Int64) async throws -> RemoteRefresh {
    guard case .one(let id) = request.target, entity.mapper.missing == .delete else { throw error }
    let applied = try await session.write { db -> AppliedAnswer in
      let nodes = try entity.adapter.nodes(of: .array([]), in: session.catalog.store.catalog)
      var writer = try AnswerWriter(nodes, session.catalog, account: account, number: number, db)
      let found = try entity.record(withID: id.databaseValue, db)
      try StoredCopies.forget(account: account, url: url.absoluteString, number: number, db)
      return try writer.run(entity, isWhole: true, among: Set(found.map { [ExactValue($0)] } ?? []))
    }
    // If the record was stored locally, no error is thrown. The result shows whether the record was deleted or kept.
    guard applied.report.total.deleted > 0 || applied.kept > 0 else { throw error }
    return RemoteRefresh(applied, pages: 0)
  }

  // MARK: The request

  private func answer() async throws -> Answer {
    let stored = try await session.read { db in
      try StoredCopies.fetch(account: account, url: url.absoluteString, db)
    }
    var first = HTTPRequest("GET", entity.mapper.pagination.first(url), headers: request.headers)
    if first.headers["Accept"] == nil { first.headers["Accept"] = "application/json" }
    let known = stored.flatMap { $0.matches(completed(first)) ? $0 : nil }
    if request.policy == .useCache, known?.isFresh(at: session.clock.now(), for: completed(first)) ?? false {
      return .fresh
    }
    if request.policy != .useCache, first.headers["Cache-Control"] == nil {
      first.headers["Cache-Control"] = "no-cache"
    }
    let asks = request.policy != .reload && known?.conditions.fields.isEmpty == false
    if asks, let answer = try await answer(to: first, since: known) { return answer }
    guard let answer = try await answer(to: first, since: nil) else {
      throw RemoteError(
        .invalidResponse,
        "the server responded with status 304 (Not Modified) to an unconditional request", status: 304)
    }
    return answer
  }

  /// Sends a request, which is conditional if there are cached headers of an earlier response.
  ///
  /// - Returns: `nil` if the response is a 304 that does not confirm the cached headers. An unconditional request is
  ///   needed in that case.
  private func answer(to request: HTTPRequest, since known: HTTPCopy?) async throws -> Answer? {
    var conditional = request
    for field in known?.conditions.fields ?? [] { conditional.headers[field.name] = field.value }
    let asked = session.clock.now()
    let response: HTTPResponse
    do { response = try await session.client(account).send(conditional) } catch let error as RemoteError
      where error.code == .notFound
    {
      return .gone(error)
    }
    guard response.status == 304 else { return try await .pages(pages(conditional, response, asked)) }
    // If there is a next page, the 304 does not cover that page, so all pages are requested.
    guard let known, known.isConfirmed(by: response, to: completed(request)), !RemotePagination.hasNext(response) else {
      return nil
    }
    guard !CacheControl(response.headers).isNoStore, !CacheControl(completed(request).headers).isNoStore else {
      return .notModified(nil)
    }
    return .notModified(known.updated(by: response, requestedAt: asked, receivedAt: session.clock.now()))
  }

  /// Returns the request with the configured headers, because `Vary` can also name headers of the configuration.
  private func completed(_ request: HTTPRequest) -> HTTPRequest { request.adding(session.configuration.headers) }

  private func pages(_ first: HTTPRequest, _ response: HTTPResponse, _ asked: Date) async throws -> Pages {
    var records: [ArchiveValue] = []
    var (count, isList, request, response) = (0, true, first, response)
    var seen: Set<String> = [Self.resource(first.url)]
    while true {
      guard response.status == 200 || response.status == 203 else {
        throw RemoteError(
          .invalidBody, "the response is neither a list nor a record, so nothing was merged", status: response.status)
      }
      let body = try RemoteBody(response.body, of: entity, isOne: isOne)
      records += body.records
      count += 1
      isList = isList && body.isList
      session.post(.didReceive(pages: count, records: records.count), entity: entity.name, account: account)
      guard body.isList,
        let next = try entity.mapper.pagination.next(
          after: request.url, response: response, count: body.records.count, received: records.count)
      else { break }
      guard seen.insert(Self.resource(next)).inserted else {
        throw RemoteError(
          .invalidResponse,
          "the pages of the list link to each other in a cycle, so nothing was merged")
      }
      guard count < session.configuration.pageLimit else {
        throw RemoteError(
          .tooLarge,
          "the list has more than \(session.configuration.pageLimit) pages, so nothing was merged; request fewer "
            + "records, or increase pageLimit")
      }
      request = HTTPRequest("GET", next, headers: first.headers)
      for name in ["If-None-Match", "If-Modified-Since"] { request.headers[name] = nil }
      response = try await session.client(account).send(request)
    }
    var pages = Pages(read: try entity.read(records, session.catalog), isList: isList, count: count)
    if count == 1 {
      // The headers are cached only for a list with a single page, because a 304 response does not cover any other page.
      pages.copy = HTTPCopy(
        request: completed(first), response: response, requestedAt: asked, receivedAt: session.clock.now())
    }
    // The list is incomplete if the response links to a next page that was not fetched, even if the mapper declares no
    // pagination.
    pages.isComplete = !RemotePagination.hasNext(response)
    return pages
  }

  /// Returns a URL without its fragment, which is not part of the request.
  private static func resource(_ url: URL) -> String {
    String(url.absoluteString.prefix { $0 != "#" })
  }

  // MARK: Stored copies

  /// Caches the headers of the response, or deletes the cached headers if `copy` is `nil`.
  private func keep(_ copy: HTTPCopy?, _ number: Int64, _ db: Database) throws {
    guard try ChangeTriggers.account(session.catalog.entities, db) == account else {
      throw RemoteError(.accountChanged, "the account changed during the request, so the response was discarded")
    }
    let url = url.absoluteString
    if let copy {
      try StoredCopies.save(copy, account: account, url: url, entity, number: number, db)
    } else {
      try StoredCopies.forget(account: account, url: url, number: number, db)
    }
  }
}
