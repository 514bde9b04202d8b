import Foundation
import GRDB
import StrataCore
import StrataStore
import Testing

@testable import StrataRemote

/// Tests which responses are stored, and when the server is asked again (RFC 9110, section 13; RFC 9111).
@Suite("HTTP rules: stored copies", .timeLimit(.minutes(20)))
struct HTTPRulesTests {
  static let tag: HTTPHeaders = ["ETag": "\"a\""]

  /// Creates a desk whose server sends these headers in its first response and answers conditional requests with 304.
  private func desk(_ headers: HTTPHeaders, writer: (any DatabaseWriter)? = nil) async throws -> Desk {
    try await Desk(writer: writer) { request, _ in
      request.conditions.isEmpty ? request.answered(Desk.list("1", "2"), headers) : request.answered(status: 304)
    }
  }

  @Test(
    "F-9: the validators of a response are stored, and the next request is conditional",
    arguments: [
      (tag, ["If-None-Match: \"a\""]), (["ETag": "W/\"a\""], ["If-None-Match: W/\"a\""]),
      (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], ["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"]),
      (["ETag": "\"a\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], ["If-None-Match: \"a\""]), ([:], []),
    ] as [(HTTPHeaders, [String])])
  func validators(headers: HTTPHeaders, expected: [String]) async throws {
    let desk = try await desk(headers)
    #expect(try await desk.remote.refresh(Todo.self).inserted == 2)
    let again = try await desk.remote.refresh(Todo.self)
    #expect(again.outcome == (expected.isEmpty ? .merged : .notModified))
    #expect(desk.requests.map(\.conditions) == [[], expected])
    #expect(try await desk.ids() == ["1", "2"])
  }

  @Test("F-9: a 304 decodes nothing, touches no entity row and makes one small write")
  func notModified() async throws {
    let desk = try await Desk { request, number in
      number == 1 ? request.answered(Desk.list("1", "2"), Self.tag) : request.answered("<html>", status: 304)
    }
    try await desk.remote.refresh(Todo.self)
    let (statements, changes) = (Log(), Log())
    let observation = DatabaseRegionObservation(tracking: Table("todo"), Table("project"))
      .start(in: desk.office.writer, onError: { _ in }, onChange: { _ in changes.add("changed") })
    defer { observation.cancel() }
    try await desk.office.writer.write { db in db.trace { statements.add("\($0)") } }
    let events = desk.remote.events()
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    try await desk.office.writer.write { db in db.trace() }
    #expect(statements.lines.filter { $0.contains("\"todo\"") || $0.contains(" todo") } == [])
    #expect(
      statements.lines.filter { $0.hasPrefix("INSERT") || $0.hasPrefix("UPDATE") || $0.hasPrefix("DELETE") }.count == 1)
    #expect(changes.lines == [])
    var told: [RemoteRefresh] = []
    for await event in events {
      guard case .didFetch(let refresh) = event.kind else { continue }
      told.append(refresh)
      break
    }
    #expect(told.map(\.outcome) == [.notModified] && told.map(\.ids) == [[]])
  }

  @Test("Rows that another connection deleted cause an unconditional request", arguments: [true, false])
  func rowsThatAreGone(isRunning: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // If the folder cannot be removed, the test is not affected.
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "db").path
    var desk = try await desk(Self.tag, writer: DatabaseQueue(path: path))
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    if !isRunning { try desk.office.writer.close() }
    let other = try DatabaseQueue(path: path)
    try await other.write { db in try db.execute(sql: "DELETE FROM todo WHERE myId = '1'") }
    if !isRunning { desk = try await self.desk(Self.tag, writer: DatabaseQueue(path: path)) }
    let refresh = try await desk.remote.refresh(Todo.self)
    #expect((refresh.outcome, refresh.inserted) == (.merged, 1))
    #expect(try await desk.ids() == ["1", "2"])
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
  }

  @Test("An unsent local deletion stays and causes no unconditional request")
  func unsentDeletions() async throws {
    let desk = try await desk(Self.tag)
    try await desk.remote.refresh(Todo.self)
    try await desk.office.writer.write { db in _ = try Todo.deleteAll(db) }
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    #expect(try await desk.ids() == [])
    #expect(try await desk.remote.changes().map(\.kind) == [.delete, .delete])
    // Discards the deletions, so that the next refresh has to insert the records again.
    for change in try await desk.remote.changes() { try await desk.remote.discard(change) }
    #expect(try await desk.remote.refresh(Todo.self).inserted == 2)
  }

  @Test("A mapper that reads more properties makes an unconditional request")
  func mappingThatChanged() async throws {
    let queue = try DatabaseQueue()
    let first = try await Desk(writer: queue) {
      $0.mappers[1] = EntityMapper(Todo.self, keys: ["desc": "d", "myId": "id"])
    } script: { request, _ in
      request.answered(#"[{"id": "1", "title": "a", "description": "b"}]"#, Self.tag)
    }
    try await first.remote.refresh(Todo.self)
    let second = try await Desk(writer: queue) { request, _ in
      request.conditions.isEmpty
        ? request.answered(#"[{"id": "1", "title": "a", "description": "b"}]"#, Self.tag)
        : request.answered(status: 304)
    }
    try await second.remote.refresh(Todo.self)
    #expect(try await second.office.todo("1")?.desc == "b")
    let third = try await Desk(writer: queue) { request, _ in request.answered(status: 304) }
    #expect(try await third.remote.refresh(Todo.self).outcome == .notModified)
  }

  @Test(
    "Cache-Control, Expires, Date and Age determine when the server is asked again",
    arguments: [
      ("Cache-Control: max-age=60", 59.0, 60.0), ("Cache-Control: max-age=60, must-revalidate", 59, 60),
      ("Cache-Control: private, max-age=\"60\"", 59, 60), ("Cache-Control: max-age=60|Age: 50", 9, 10),
      ("Expires: Sun, 06 Nov 1994 08:50:37 GMT", 59, 60),
      ("Expires: Sun, 06 Nov 1994 08:50:37 GMT|Date: Sun, 06 Nov 1994 08:49:27 GMT", 59, 60),
      ("Cache-Control: max-age=10|Expires: Sun, 06 Nov 1994 08:50:37 GMT", 9, 10),
    ])
  func freshness(lines: String, fresh: Double, stale: Double) async throws {
    var headers = Self.tag
    for line in lines.split(separator: "|") {
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      headers.add(parts[0], parts[1])
    }
    let desk = try await desk(headers)
    try await desk.remote.refresh(Todo.self)
    desk.clock.advance(fresh)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .fresh)
    #expect(desk.requests.count == 1)
    desk.clock.advance(stale - fresh)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    #expect(desk.requests.count == 2)
  }

  @Test(
    "A response that requires revalidation is revalidated each time",
    arguments: [
      ["Cache-Control": "no-cache"], ["Cache-Control": "no-cache, max-age=60"], ["Cache-Control": "max-age=0"],
      ["Cache-Control": "max-age=60, max-age=70"], ["Expires": "0"],
      ["Pragma": "no-cache", "Expires": "Sun, 06 Nov 1994 08:50:37 GMT"], [:],
    ] as [HTTPHeaders])
  func neverFresh(headers: HTTPHeaders) async throws {
    let desk = try await desk(HTTPHeaders(Self.tag.fields + headers.fields))
    for outcome in [RemoteRefresh.Outcome.merged, .notModified, .notModified] {
      #expect(try await desk.remote.refresh(Todo.self).outcome == outcome)
    }
  }

  @Test("A response with no-store is merged, but nothing is stored of it")
  func noStore() async throws {
    let desk = try await desk(["ETag": "\"a\"", "Cache-Control": "no-store, max-age=60"])
    for inserted in [2, 0] { #expect(try await desk.remote.refresh(Todo.self).inserted == inserted) }
    #expect(desk.requests.map(\.conditions) == [[], []])
    let kept = try await desk.office.writer.read { db in
      try Int.fetchOne(db, sql: "SELECT count(*) FROM strata_remote_copies")
    }
    #expect(kept == 0)
  }

  @Test("A 304 with no-store deletes the stored copy")
  func noStoreLater() async throws {
    let desk = try await Desk { request, _ in
      request.conditions.isEmpty
        ? request.answered(Desk.list("1"), Self.tag) : request.answered("", ["Cache-Control": "no-store"], status: 304)
    }
    for outcome in [RemoteRefresh.Outcome.merged, .notModified, .merged] {
      #expect(try await desk.remote.refresh(Todo.self).outcome == outcome)
    }
    #expect(desk.requests.map(\.conditions.isEmpty) == [true, false, true])
  }

  @Test("A copy with Vary is used only for requests with the same values, and never with *")
  func vary() async throws {
    let desk = try await desk(["ETag": "\"a\"", "Vary": "X-Tenant, Accept", "Cache-Control": "max-age=60"])
    func outcome(_ tenant: String?) async throws -> RemoteRefresh.Outcome {
      var request = RemoteRequest.all
      if let tenant { request.headers = ["x-tenant": tenant] }
      return try await desk.remote.refresh(Todo.self, request).outcome
    }
    for expected in [RemoteRefresh.Outcome.merged, .fresh] { #expect(try await outcome("a") == expected) }
    for expected in [RemoteRefresh.Outcome.merged, .fresh] { #expect(try await outcome("b") == expected) }
    for expected in [RemoteRefresh.Outcome.merged, .fresh] { #expect(try await outcome(nil) == expected) }
    let star = try await self.desk(["ETag": "\"a\"", "Vary": "*", "Cache-Control": "max-age=60"])
    for _ in 0..<2 { #expect(try await star.remote.refresh(Todo.self).outcome == .merged) }
    #expect(star.requests.map(\.conditions) == [[], []])
  }

  @Test("A refresh can force revalidation or an unconditional reload")
  func policies() async throws {
    let desk = try await desk(["ETag": "\"a\"", "Cache-Control": "max-age=60"])
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.remote.refresh(Todo.self, .all.with(.revalidate)).outcome == .notModified)
    #expect(try await desk.remote.refresh(Todo.self, .all.with(.reload)).outcome == .merged)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .fresh)
    #expect(desk.requests.map(\.conditions) == [[], ["If-None-Match: \"a\""], []])
    #expect(desk.requests.map { $0.headers["Cache-Control"] } == [nil, "no-cache", "no-cache"])
  }

  @Test(
    "Cache directives of the request are respected (RFC 9111, section 5.2.1)",
    arguments: [
      (["Cache-Control": "no-cache"], false), (["Cache-Control": "max-age=9"], false), (["Pragma": "no-cache"], false),
      (["Cache-Control": "max-age=10"], true), (["Cache-Control": "min-fresh=51"], false),
      (["Cache-Control": "min-fresh=50"], true), (["Cache-Control": "max-stale"], true),
    ] as [(HTTPHeaders, Bool)])
  func requestDirectives(headers: HTTPHeaders, isFresh: Bool) async throws {
    let desk = try await desk(["ETag": "\"a\"", "Cache-Control": "max-age=60"])
    try await desk.remote.refresh(Todo.self)
    desk.clock.advance(10)
    var request = RemoteRequest.all
    request.headers = headers
    #expect(try await desk.remote.refresh(Todo.self, request).outcome == (isFresh ? .fresh : .notModified))
  }

  @Test("The headers of a 304 renew the freshness of the copy")
  func freshenedBy304() async throws {
    let desk = try await Desk { request, number in
      number == 1
        ? request.answered(Desk.list("1"), ["ETag": "\"a\"", "Cache-Control": "max-age=5", "Age": "5"])
        : request.answered("", ["ETag": "W/\"a\"", "Cache-Control": "max-age=60"], status: 304)
    }
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    desk.clock.advance(59)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .fresh)
    desk.clock.advance(1)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    #expect(desk.requests.map(\.conditions) == [[], ["If-None-Match: \"a\""], ["If-None-Match: W/\"a\""]])
  }

  @Test(
    "A 304 with another ETag, or for a list with more pages, confirms nothing (RFC 9111, section 4.3.4)",
    arguments: [["ETag": "\"b\""], ["Link": "</api/todos?p=2>; rel=\"next\""]] as [HTTPHeaders])
  func foreign304(headers: HTTPHeaders) async throws {
    let desk = try await Desk { request, number in
      request.conditions.isEmpty
        ? request.answered(number == 1 ? Desk.list("1") : Desk.list("1", "2"), Self.tag)
        : request.answered("", headers, status: 304)
    }
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.remote.refresh(Todo.self).inserted == 1)
    #expect(desk.requests.map(\.conditions.isEmpty) == [true, false, true])
  }

  @Test("A 304 to an unconditional request throws invalidResponse")
  func unasked304() async throws {
    let desk = try await Desk { request, _ in request.answered(status: 304) }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.code == .invalidResponse)
  }

  @Test("A redirected response is never fresh and is confirmed only by the same final URL")
  func redirected() async throws {
    let place = Mutex("https://example.com/api/v1")
    let desk = try await Desk { request, _ in
      var answer =
        request.conditions.isEmpty
        ? request.answered(Desk.list("1"), ["ETag": "\"a\"", "Cache-Control": "max-age=60"])
        : request.answered(status: 304)
      answer.url = URL(string: place.withLock { $0 }) ?? answer.url
      return answer
    }
    for outcome in [RemoteRefresh.Outcome.merged, .notModified] {
      #expect(try await desk.remote.refresh(Todo.self).outcome == outcome)
    }
    place.withLock { $0 = "https://example.com/api/v2" }
    for outcome in [RemoteRefresh.Outcome.merged, .notModified] {
      #expect(try await desk.remote.refresh(Todo.self).outcome == outcome)
    }
  }

  @Test("A change at a URL invalidates its copies (RFC 9111, section 4.4)")
  func unsafeMethods() async throws {
    let desk = try await Desk {
      $0.mappers[1] = EntityMapper(Todo.self, keys: ["myId": "id"], precondition: .none)
    } script: {
      request, _ in
      request.method == "GET"
        ? request.answered(#"{"id": "1", "title": "a"}"#, ["ETag": "\"a\"", "Cache-Control": "max-age=60"])
        : request.answered(status: 204)
    }
    try await desk.remote.refresh(Todo.self, .one("1"))
    #expect(try await desk.remote.refresh(Todo.self, .one("1")).outcome == .fresh)
    try await desk.office.edit("1") { $0.title = "b" }
    #expect(try await desk.remote.send().sent == 1)
    #expect(try await desk.remote.refresh(Todo.self, .one("1")).outcome == .merged)
    #expect(desk.requests.map(\.method) == ["GET", "PATCH", "GET"])
    #expect(desk.requests.last?.conditions == [])
  }

  @Test("F-15: the copy of a record is deleted with its row, so that the record can return", arguments: [true, false])
  func copiesOfDeletedRecords(byList: Bool) async throws {
    let isThere = Mutex(true)
    let desk = try await Desk { request, _ in
      guard request.url.lastPathComponent == "1" else { return request.answered(Desk.list("2")) }
      guard isThere.withLock({ $0 }) else { return request.answered(status: 404) }
      return request.conditions.isEmpty
        ? request.answered(#"{"id": "1", "title": "a"}"#, Self.tag) : request.answered(status: 304)
    }
    try await desk.remote.refresh(Todo.self, .one("1"))
    if byList {
      #expect(try await desk.remote.refresh(Todo.self).deleted == 1)
    } else {
      isThere.withLock { $0 = false }
      #expect(try await desk.remote.refresh(Todo.self, .one("1")).deleted == 1)
      isThere.withLock { $0 = true }
    }
    #expect(try await desk.remote.refresh(Todo.self, .one("1")).inserted == 1)
  }
}

/// A log that any thread can append to.
final class Log: Sendable {
  private let state = Mutex<[String]>([])

  var lines: [String] { state.withLock { $0 } }

  func add(_ line: String) { state.withLock { $0.append(line) } }
}
