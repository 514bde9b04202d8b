import Foundation
import GRDB
import StrataCore
import StrataStore
import StrataTestSupport
import Testing

@testable import StrataRemote

/// Tests which responses are merged, and for which account.
@Suite("HTTP rules: responses", .timeLimit(.minutes(20)))
struct AnswerRulesTests {
  @Test(
    "F-3: an error status or an invalid body merges nothing and keeps the stored copy",
    arguments: [
      (400, "[]", .refused), (401, "[]", .unauthorized), (403, "[]", .forbidden), (404, "[]", .notFound),
      (409, "[]", .conflict), (410, "[]", .notFound), (412, "[]", .conflict), (422, "[]", .refused),
      (429, "[]", .unavailable), (500, "[]", .unavailable), (501, "[]", .unavailable), (503, "[]", .unavailable),
      (302, "[]", .redirected), (204, "", .invalidBody), (205, "", .invalidBody), (206, "[]", .invalidBody),
      (201, "[]", .invalidBody), (200, "", .invalidBody), (200, " ", .invalidBody),
      (200, "<!doctype html><title>Sign in</title>", .invalidBody),
      (200, #"[{"id": "1", "title": "x"}, {"id"#, .invalidBody),
      (200, "null", .invalidBody), (200, "7", .invalidBody), (200, #""text""#, .invalidBody),
      (200, "[1, 2]", .invalidBody), (200, #"[{"id": "1", "title": 7}]"#, .invalidBody),
      (200, #"[{"title": "no id"}]"#, .invalidBody), (200, #"[{"id": null, "title": "no id"}]"#, .invalidBody),
      (200, #"{"error": "sign in"}"#, .invalidBody), (200, #"[{"id": "1", "title": "x"}, {"id": "9"}]"#, .store),
      (200, #"[{"id": "1", "title": null}]"#, .invalidBody),
      (200, #"[{"id": "1", "id": "2", "title": "x"}]"#, .invalidBody),
      (200, "[] []", .invalidBody),
    ] as [(Int, String, RemoteError.Code)])
  func noAnswers(status: Int, body: String, code: RemoteError.Code) async throws {
    let desk = try await Desk { request, number in
      if number == 2 {
        return request.answered(body, ["ETag": "\"bad\"", "Cache-Control": "max-age=60"], status: status)
      }
      return request.conditions.isEmpty
        ? request.answered(Desk.list("1", "2"), ["ETag": "\"a\""]) : request.answered(status: 304)
    }
    try await desk.remote.refresh(Todo.self)
    let error = await #expect(throws: RemoteError.self, "\(status) \(body)") {
      try await desk.remote.refresh(Todo.self)
    }
    #expect(error?.code == code, "\(error?.description ?? "")")
    #expect(try await desk.titles() == ["task 1", "task 2"])
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    #expect(desk.requests.last?.conditions == ["If-None-Match: \"a\""])
  }

  @Test("A record that contains records of its own type under a list key is the record", arguments: ["todos", "todo"])
  func recordOfItsKind(key: String) async throws {
    let inside = #"{"id": "8", "title": "inner"}"#
    let body = #"{"id": "7", "title": "outer", "\#(key)": \#(key == "todo" ? inside : "[\(inside)]")}"#
    let desk = try await Desk(
      { configuration in
        configuration.mappers[1] = EntityMapper(
          Todo.self, keys: ["desc": "description", "myId": "id", "projectID": "project_id"], update: .put)
      },
      script: { request, _ in
        request.method == "GET" ? request.answered(body, ["ETag": "\"a\""]) : request.answered(status: 204)
      })
    #expect(try await desk.remote.refresh(Todo.self, .one("7")).ids == ["7"])
    #expect(try await desk.titles() == ["outer"])
    try await desk.office.edit("7") { $0.desc = "mine" }
    #expect(try await desk.remote.send().sent == 1)
    let sent = try #require(desk.requests.last)
    #expect(sent.method == "PUT" && sent.url.path.hasSuffix("/7"))
    #expect(try JSONReader().read(sent.body ?? Data())["title"] == "outer")
  }

  @Test("A list is found in an object with an id, and a list under a key of the model stays a relation")
  func keysOfBodies() async throws {
    let desk = try await Desk { request, _ in
      request.answered(#"{"id": "request 5", "todos": \#(Desk.list("1", "2"))}"#)
    }
    try await desk.remote.refresh(Todo.self)
    #expect(try await desk.ids() == ["1", "2"])
    let club = try await Club([:]) {
      $0.mappers = [
        EntityMapper(Team.self, path: "teams", name: "Member"),
        EntityMapper(Member.self, keys: ["teamID": "team_id"], path: "members", name: "Person"),
      ]
    }
    let team = #"{"id": "t", "name": "A", "members": [{"id": "m", "name": "B", "team_id": "t"}]}"#
    try await club.remote.apply(Data(team.utf8), to: Team.self)
    #expect(try await club.team()?.members.map(\.id) == ["m"])
  }

  @Test("A single record is found in an envelope that has its own id")
  func envelopeWithID() async throws {
    let desk = try await Desk { request, _ in
      request.answered(#"{"id": "request 5", "todo": {"id": "7", "title": "seven"}}"#)
    }
    try await desk.remote.refresh(Todo.self, .one("7"))
    #expect(try await desk.ids() == ["7"])
  }

  @Test("An object with a null property is a record, not an envelope")
  func recordWithNull() async throws {
    let desk = try await Desk { request, _ in
      request.answered(#"{"id": "7", "title": null, "todos": [{"id": "8", "title": "eight"}]}"#)
    }
    // The refresh may fail, because the model decides whether a title may be null.
    _ = try? await desk.remote.refresh(Todo.self, .one("7"))
    #expect(try await !desk.ids().contains("8"))
  }

  @Test("A failed refresh emits an event, and fetch throws the error after yielding the cached rows")
  func failuresAreTold() async throws {
    let desk = try await Desk { request, _ in request.answered(status: 500) }
    let events = desk.remote.events()
    var seen = 0
    let error = await #expect(throws: RemoteError.self) {
      for try await _ in desk.remote.fetch(Todo.all()) { seen += 1 }
    }
    #expect(error?.code == .unavailable && seen == 1)
    for await event in events {
      guard case .fetchFailed(let error) = event.kind else { continue }
      #expect(error.code == .unavailable && error.entity == "Todo" && error.method == "GET")
      break
    }
  }

  // MARK: Order

  /// Starts two refreshes, of which the first one receives its response last.
  private func reordered(_ slow: String, _ fast: String, _ headers: HTTPHeaders = [:]) async throws -> (
    Desk, RemoteRefresh
  ) {
    let (begun, gate) = (Gate(), Gate())
    let desk = try await Desk { request, number in
      if number > 1 {
        return request.conditions.isEmpty
          ? request.answered(number == 2 ? fast : Desk.list("8"), headers) : request.answered(status: 304)
      }
      begun.open()
      try await gate.wait()
      return request.answered(slow, ["ETag": "\"slow\"", "Cache-Control": "max-age=60"])
    }
    let first = Task { try await desk.remote.refresh(Todo.self) }
    try await begun.wait()
    try await desk.remote.refresh(Todo.self, .all.with(.reload))
    gate.open()
    return (desk, try await first.value)
  }

  @Test("A response that arrives after a newer one changes none of its values")
  func olderAnswers() async throws {
    let old = #"[{"id": "1", "title": "old"}, {"id": "2", "title": "old"}]"#
    let new = #"[{"id": "1", "title": "new"}, {"id": "2", "title": "new"}, {"id": "3", "title": "new"}]"#
    let (desk, first) = try await reordered(old, new, ["ETag": "\"fast\""])
    #expect((first.inserted, first.updated, first.deleted, first.passedOver) == (0, 0, 0, 2))
    #expect(try await desk.titles() == ["new", "new", "new"])
    // The store keeps the headers of the newer response.
    #expect(try await desk.remote.refresh(Todo.self).outcome == .notModified)
    #expect(desk.requests.last?.conditions == ["If-None-Match: \"fast\""])
  }

  @Test("F-15: a response that arrives after a newer one does not restore deleted records")
  func olderAnswersBringNothingBack() async throws {
    let (begun, gate) = (Gate(), Gate())
    let desk = try await Desk { request, number in
      if number == 2 {
        begun.open()
        try await gate.wait()
      }
      return request.answered(number < 3 ? Desk.list("1", "2") : Desk.list("2"))
    }
    try await desk.remote.refresh(Todo.self)
    let slow = Task { try await desk.remote.refresh(Todo.self) }
    try await begun.wait()
    #expect(try await desk.remote.refresh(Todo.self, .all.with(.reload)).deleted == 1)
    gate.open()
    #expect(try await slow.value.inserted == 0)
    #expect(try await desk.ids() == ["2"])
    // A response to a later request can insert the record again.
    _ = try await desk.remote.apply(Data(Desk.list("1").utf8), to: Todo.self)
    #expect(try await desk.ids() == ["1", "2"])
  }

  @Test("An outdated response with other records leaves no copy for a later 304 to confirm")
  func olderAnswersAndCopies() async throws {
    let (desk, first) = try await reordered(Desk.list("1", "2"), "[]", ["ETag": "\"fast\""])
    #expect(first.inserted == 2)
    #expect(try await desk.remote.refresh(Todo.self).outcome == .merged)
    #expect(try await desk.ids() == ["8"])
  }

  // MARK: Sharing

  @Test("Equal refreshes share one request, which is cancelled only with the last of them")
  func coalescing() async throws {
    let gate = Gate()
    let (arrived, ended) = (Log(), Log())
    let desk = try await Desk { request, _ in
      arrived.add("")
      do { try await gate.wait() } catch {
        ended.add("")
        throw error
      }
      return request.answered(Desk.list("1"))
    }
    func start() -> [Task<RemoteRefresh, any Error>] {
      (0..<50).map { _ in Task { try await desk.remote.refresh(Todo.self) } }
    }
    let lost = start()
    #expect(await eventually { arrived.lines.count == 1 })
    for task in lost { task.cancel() }
    for task in lost { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(await eventually { ended.lines.count == 1 })
    let tasks = start()
    #expect(await eventually { arrived.lines.count == 2 })
    tasks[7].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[7].value }
    gate.open()
    for (number, task) in tasks.enumerated() where number != 7 { #expect(try await task.value.inserted == 1) }
    #expect(desk.requests.count == 2 && ended.lines.count == 1)
    #expect(try await desk.ids() == ["1"])
  }

  @Test("A thousand random cancellations leave no running task and a working store")
  func cancellations() async throws {
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    let seed = "\(random)"
    let running = Mutex(0)
    let desk = try await Desk { request, number in
      running.withLock { $0 += 1 }
      defer { running.withLock { $0 -= 1 } }
      if number % 3 > 0 { try await Task.sleep(for: .microseconds(number % 7 * 150)) }
      guard request.method == "GET" else { return request.answered(status: 204) }
      return request.answered(
        request.url.lastPathComponent == "1" ? #"{"id": "1", "title": "a"}"# : Desk.list("1", "2"))
    }
    try await desk.remote.refresh(Todo.self)
    let ended = Log()
    for round in 0..<50 {
      if round % 5 == 0 { try await desk.office.edit("1") { $0.desc = "\(round)" } }
      for number in 0..<20 {
        let (kind, pause) = (number % 4, random.below(3000))
        let task = Task { () async throws -> Void in
          switch kind {
          case 0: _ = try await desk.remote.refresh(Todo.self)
          case 1: _ = try await desk.remote.refresh(Todo.self, .one("1"))
          case 2: for try await _ in desk.remote.fetch(Todo.all(), from: .all.with(.reload)) {}
          default: _ = try await desk.remote.send()
          }
        }
        Task {
          // Each task must end. Its result does not matter.
          _ = try? await task.value
          ended.add("")
        }
        Task {
          // This task is never cancelled, so the sleep does not fail.
          try? await Task.sleep(for: .microseconds(pause))
          task.cancel()
        }
      }
      guard await eventually({ ended.lines.count == (round + 1) * 20 }) else {
        Issue.record("only \(ended.lines.count) of \((round + 1) * 20) ended; \(seed)")
        return
      }
    }
    #expect(await eventually { running.withLock { $0 } == 0 }, "\(running.withLock { $0 }) still run; \(seed)")
    desk.clock.advance(100_000)
    #expect(try await desk.remote.refresh(Todo.self, .all.with(.reload)).ids == ["1", "2"], "\(seed)")
    try await desk.remote.send()
    #expect(try await desk.remote.changes().isEmpty, "\(seed)")
  }

  // MARK: Accounts

  @Test("A response to another account's request is dropped", arguments: ["[]", Desk.list("1"), "304", "404"])
  func accounts(answer: String) async throws {
    let (begun, gate) = (Gate(), Gate())
    let target: RemoteRequest = answer == "404" ? .one("7") : .all
    let desk = try await Desk(account: "ann") {
      $0.authentication = { name in .bearer(token: { name }) }
    } script: {
      request, number in
      guard number > 1 else {
        return request.answered(target.isWhole ? Desk.list("7") : #"{"id": "7", "title": "x"}"#, ["ETag": "\"a\""])
      }
      begun.open()
      try await gate.wait()
      return Int(answer).map { request.answered(status: $0) } ?? request.answered(answer)
    }
    try await desk.remote.refresh(Todo.self, target)
    let late = Task { try await desk.remote.refresh(Todo.self, target) }
    try await begun.wait()
    try await desk.remote.use(account: "bob")
    gate.open()
    let error = await #expect(throws: RemoteError.self) { try await late.value }
    #expect(error?.code == .accountChanged)
    #expect(try await desk.ids() == ["7"])
    #expect(desk.requests.map { $0.headers["Authorization"] } == ["Bearer ann", "Bearer ann"])
    // Ann's response is not used as a copy for Bob. The server's response to Bob does not matter.
    let last = try? await desk.remote.refresh(Todo.self, target)
    #expect(last?.outcome != .notModified && desk.requests.last?.conditions == [])
    #expect(desk.requests.last?.headers["Authorization"] == "Bearer bob")
  }

  @Test("No change is sent with another account's token")
  func changesOfAccounts() async throws {
    let server = ModelServer(["todos": RefreshTests.tasks, "projects": "[]"])
    let office = try await Office(server, account: "ann") { $0.authentication = { name in .bearer(token: { name }) } }
    for (name, title) in [("ann", "A"), ("bob", "B"), ("ann", "A"), ("bob", "B")] {
      try await office.remote.use(account: name)
      try await office.entities.save(Todo(myId: UUID().uuidString, title: title))
    }
    try await office.remote.use(account: "bob")
    #expect(try await office.remote.send().sent == 2)
    try await office.remote.use(account: "ann")
    #expect(try await office.remote.send().sent == 2)
    let sent = server.requests.filter { $0.method == "POST" }.map { request in
      let title = request.body.map { String(decoding: $0, as: UTF8.self).contains("\"A\"") } ?? false
      return "\(request.headers["Authorization"] ?? "") \(title ? "A" : "B")"
    }
    #expect(sent == ["Bearer bob B", "Bearer bob B", "Bearer ann A", "Bearer ann A"])
  }

  @Test("Changing the account either completes or has no effect, even if the caller is cancelled")
  func cancelledChangeOfAccount() async throws {
    let desk = try await Desk(account: "ann") { request, _ in request.answered(Desk.list("1")) }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await desk.remote.use(account: "bob")
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(desk.remote.account == "ann")
    try await desk.office.entities.save(Todo(myId: "new", title: "new"))
    #expect(try await desk.remote.changes().map(\.account) == [desk.remote.account])
    #expect(try await desk.remote.refresh(Todo.self).inserted == 1)
  }

  // MARK: Retries

  @Test(
    "429 and 503 are retried after the time in Retry-After, given as seconds or as a date",
    arguments: [429, 503],
    [("7", 7), ("Sun, 06 Nov 1994 08:49:46 GMT", 9), ("0", 0.25), ("soon", 0.25)] as [(String, Double)])
  func retryAfter(status: Int, value: (String, Double)) async throws {
    let desk = try await Desk {
      $0.retry = RemoteRetry()
    } script: { request, number in
      number == 1
        ? request.answered("", ["Retry-After": value.0], status: status) : request.answered(Desk.list("1"))
    }
    #expect(try await desk.remote.refresh(Todo.self).inserted == 1)
    #expect(desk.clock.waits == [.seconds(value.1)] && desk.requests.count == 2)
  }

  @Test("A Retry-After beyond the limit is not waited for", arguments: ["31", "Sun, 06 Nov 1994 09:49:46 GMT"])
  func longWaits(value: String) async throws {
    let desk = try await Desk {
      $0.retry = RemoteRetry()
    } script: { request, _ in
      request.answered("", ["Retry-After": value], status: 503)
    }
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.refresh(Todo.self) }
    #expect(error?.code == .unavailable && desk.requests.count == 1 && desk.clock.waits == [])
  }

  @Test(
    "A POST is retried with the same body and idempotency key and creates one record",
    arguments: ["503", "lost", "401"])
  func repeatedPost(fault: String) async throws {
    let token = Mutex("old")
    let desk = try await Desk {
      $0.retry = RemoteRetry()
      $0.authentication = { _ in
        .bearer(token: { token.withLock { $0 } }) { _ in
          token.withLock { $0 = "new" }
          return "new"
        }
      }
    } script: { request, number in
      guard number == 1 else { return request.answered(#"{"id": "s1", "title": "new"}"#, status: 201) }
      guard let status = Int(fault) else { throw RemoteError(.cutOff, "x") }
      return request.answered(status: status)
    }
    try await desk.office.entities.save(Todo(myId: "t", title: "new"))
    #expect(try await desk.remote.send().sent == 1)
    #expect(try await desk.ids() == ["s1"])
    #expect(desk.requests.map(\.method) == ["POST", "POST"])
    #expect(desk.requests[0].body == desk.requests[1].body && desk.requests[0].body != nil)
    #expect(desk.requests[0].headers["Idempotency-Key"] == desk.requests[1].headers["Idempotency-Key"])
    #expect(desk.requests[0].headers["Idempotency-Key"] != nil)
    #expect(desk.requests[1].headers["Authorization"] == (fault == "401" ? "Bearer new" : "Bearer old"))
  }

  @Test(
    "F-12: a busy server does not refuse a change, which is sent later",
    arguments: [408, 425, 429, 500, 503])
  func busyServers(status: Int) async throws {
    let desk = try await Desk { request, number in
      number == 1
        ? request.answered(status: status) : request.answered(#"{"id": "s1", "title": "new"}"#, status: 201)
    }
    try await desk.office.entities.save(Todo(myId: "t", title: "new"))
    let error = await #expect(throws: RemoteError.self) { try await desk.remote.send() }
    #expect(error?.code == .unavailable)
    #expect(try await desk.remote.changes().map(\.state) == [.sending])
    desk.clock.advance(100)
    #expect(try await desk.remote.send().sent == 1)
    #expect(Set(desk.requests.map { $0.headers["Idempotency-Key"] }).count == 1)
  }

  @Test("A GET follows redirects, and its response is merged", arguments: [301, 302, 303, 307, 308])
  func redirections(status: Int) async throws {
    let server = try await FaultServer { request in
      request.path == "/v2/todos"
        ? .init(body: Data(Desk.list("1", "2").utf8)) : .init(status: status, headers: ["Location": "/v2/todos"])
    }
    let base = try server.url("/api")
    let office = try await Office(ModelServer()) {
      $0.baseURL = base
      $0.transport = URLSessionTransport()
    }
    #expect(try await office.remote.refresh(Todo.self).inserted == 2)
    #expect(server.requests.map(\.path) == ["/api/todos", "/v2/todos"])
  }
}
