import Foundation
import StrataCore
import Testing

@testable import StrataRemote

@Suite(.timeLimit(.minutes(20)))
struct HTTPClientTests {
  private let url: URL
  private let clock = ScriptedClock()

  init() throws { url = try #require(URL(string: "https://a.example/tasks?secret=1")) }

  private func client(
    retry: RemoteRetry = .init(), authentication: RemoteAuthentication? = nil, headers: HTTPHeaders = [:],
    _ transport: ScriptedTransport
  ) -> HTTPClient {
    HTTPClient(
      transport: transport, retry: retry, authentication: authentication, headers: headers, sizeLimit: 1000,
      timeout: .seconds(5), clock: clock.clock)
  }

  private func answering(_ statuses: Int..., headers: HTTPHeaders = [:]) -> ScriptedTransport {
    ScriptedTransport { HTTPResponse(statuses[min($1, statuses.count) - 1], headers: headers, url: $0.url) }
  }

  private func code(_ body: () async throws -> Void) async -> RemoteError? {
    await #expect(throws: RemoteError.self) { try await body() }
  }

  @Test func ownHeadersWin() async throws {
    let transport = answering(200)
    let client = client(headers: ["Accept": "a/b", "X-A": "1", "x-a": "2"], transport)
    _ = try await client.send(HTTPRequest("GET", url, headers: ["accept": "c/d"]))
    #expect(transport.requests.first?.headers == ["accept": "c/d", "X-A": "1", "x-a": "2", "User-Agent": "Strata"])
    _ = try await client.send(HTTPRequest("GET", url, headers: ["user-agent": "own"]))
    #expect(transport.requests.last?.headers.values(of: "User-Agent") == ["own"])
  }

  @Test(
    arguments: [
      (300, .redirected), (302, .redirected), (400, .refused), (401, .unauthorized), (402, .refused), (403, .forbidden),
      (404, .notFound), (408, .unavailable), (409, .conflict), (410, .notFound), (412, .conflict), (422, .refused),
      (425, .unavailable), (429, .unavailable),
      (499, .refused), (500, .unavailable), (501, .unavailable), (503, .unavailable), (101, .invalidResponse),
      (600, .invalidResponse),
    ] as [(Int, RemoteError.Code)])
  func statusesAreErrors(status: Int, expected: RemoteError.Code) async throws {
    let client = client(retry: .none, answering(status))
    let error = await code { _ = try await client.send(HTTPRequest("GET", url)) }
    #expect(error?.code == expected && error?.status == status)
    #expect(error?.method == "GET" && error?.url == "https://a.example/tasks")
    #expect(try await client.answer(to: HTTPRequest("GET", url)).status == status)
  }

  @Test(arguments: [200, 201, 204, 299, 304])
  func otherStatusesAreAnswers(status: Int) async throws {
    #expect(try await client(answering(status)).send(HTTPRequest("GET", url)).status == status)
  }

  @Test func failuresAreTriedAgain() async throws {
    let transport = ScriptedTransport { request, number in
      switch number {
      case 1: throw RemoteError(.cutOff, "x")
      case 2: HTTPResponse(503, headers: ["Retry-After": "7"], url: request.url)
      default: HTTPResponse(200, url: request.url)
      }
    }
    #expect(try await client(transport).send(HTTPRequest("PUT", url)).status == 200)
    #expect(clock.waits == [.seconds(0.25), .seconds(7)])
  }

  @Test func attemptsEnd() async throws {
    let transport = answering(500)
    let client = client(transport)
    #expect(await code { _ = try await client.send(HTTPRequest("GET", url)) }?.code == .unavailable)
    #expect(transport.requests.count == 4)
    #expect(clock.waits == [.seconds(0.25), .seconds(0.5), .seconds(1)])
    let failing = ScriptedTransport { _, _ in throw RemoteError(.timedOut, "x") }
    let error = await code { _ = try await self.client(failing).answer(to: HTTPRequest("GET", url)) }
    #expect(error?.code == .timedOut && error?.url != nil && failing.requests.count == 4)
  }

  @Test(arguments: [
    ("POST", 500), ("PATCH", 503), ("GET", 501), ("GET", 400), ("GET", 404), ("GET", 409),
  ])
  func othersAreSentOnce(method: String, status: Int) async throws {
    let transport = answering(status)
    _ = try await client(transport).answer(to: HTTPRequest(method, url))
    #expect(transport.requests.count == 1)
  }

  @Test func aKeyMakesRepeatable() async throws {
    let transport = answering(500, 200)
    _ = try await client(transport).send(HTTPRequest("POST", url, headers: ["Idempotency-Key": "k"]))
    #expect(transport.requests.map { $0.headers["Idempotency-Key"] } == ["k", "k"])
  }

  @Test(arguments: [RemoteError.Code.tooLarge, .invalidResponse, .redirected])
  func otherErrorsAreFinal(code expected: RemoteError.Code) async throws {
    let transport = ScriptedTransport { _, _ in throw RemoteError(expected, "x") }
    #expect(await code { _ = try await self.client(transport).send(HTTPRequest("GET", url)) }?.code == expected)
    #expect(transport.requests.count == 1)
  }

  @Test func aLongWaitIsNamedAndNotWaited() async throws {
    let transport = answering(503, headers: ["Retry-After": "120"])
    let error = await code { _ = try await self.client(transport).send(HTTPRequest("GET", url)) }
    #expect(
      error?.code == .unavailable && error?.reason.contains("120 s") == true && error?.reason.contains("30 s") == true)
    #expect(transport.requests.count == 1 && clock.waits.isEmpty)
  }

  @Test func aWaitIsCancelled() async throws {
    let waiting = Gate()
    var clock = clock.clock
    clock.sleep = { _ in
      waiting.open()
      try await Task.sleep(for: .seconds(1000))
    }
    let client = HTTPClient(transport: answering(500), sizeLimit: 1, timeout: .seconds(1), clock: clock)
    let task = Task { try await client.send(HTTPRequest("GET", url)) }
    try await waiting.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  private struct Foreign: Error {}

  /// A transport may throw any error. For example, an invalidated session throws a `CancellationError`.
  @Test(arguments: [Foreign(), CancellationError(), URLError(.cannotFindHost)] as [any Error])
  func whatATransportThrowsIsNotConnected(thrown: any Error) async throws {
    let transport = ScriptedTransport { request, number in
      if number < 3 { throw thrown }
      return HTTPResponse(200, url: request.url)
    }
    #expect(try await client(transport).send(HTTPRequest("GET", url)).status == 200)
    #expect(clock.waits == [.seconds(0.25), .seconds(0.5)])
    let error = await code {
      _ = try await self.client(ScriptedTransport { _, _ in throw thrown }).send(HTTPRequest("POST", url))
    }
    #expect(error?.code == .notConnected && error?.underlyingError != nil && error?.method == "POST")
  }

  @Test func whateverEndsACancelledRequestIsItsCancellation() async throws {
    let begun = Gate()
    let client = client(
      ScriptedTransport { _, _ in
        begun.open()
        // Only cancellation ends the sleep.
        try? await Task.sleep(for: .seconds(1000))
        throw Foreign()
      })
    let task = Task { try await client.send(HTTPRequest("GET", url)) }
    try await begun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  @Test func eachAttemptHasTheWholeTime() async throws {
    let times = Mutex<[Duration]>([])
    struct Timed: HTTPTransport {
      let note: @Sendable (Duration) -> Void
      func send(_ request: HTTPRequest, sizeLimit: Int, timeout: Duration) async throws -> HTTPResponse {
        note(timeout)
        throw RemoteError(.timedOut, "x")
      }
    }
    let client = HTTPClient(
      transport: Timed { time in times.withLock { $0.append(time) } }, sizeLimit: 1, timeout: .seconds(5),
      clock: clock.clock)
    #expect(await code { _ = try await client.send(HTTPRequest("GET", self.url)) }?.code == .timedOut)
    #expect(times.withLock { $0 } == [.seconds(5), .seconds(5), .seconds(5), .seconds(5)])
  }

  @Test func theLastErrorIsThrown() async throws {
    let transport = ScriptedTransport { request, number in
      if number < 4 { throw RemoteError(.cutOff, "x") }
      return HTTPResponse(503, url: request.url)
    }
    let error = await code { _ = try await self.client(transport).send(HTTPRequest("GET", self.url)) }
    #expect(error?.code == .unavailable && error?.status == 503)
    let other = ScriptedTransport { request, number in
      if number == 4 { throw RemoteError(.timedOut, "x") }
      return HTTPResponse(503, url: request.url)
    }
    #expect(await code { _ = try await self.client(other).send(HTTPRequest("GET", self.url)) }?.code == .timedOut)
  }

  @Test func aRenewalIsNoAttempt() async throws {
    let transport = ScriptedTransport { request, number in
      let statuses = [503, 401, 503, 503, 200]
      return HTTPResponse(statuses[number - 1], url: request.url)
    }
    let client = client(authentication: .bearer(token: { "t" }, refresh: { _ in "u" }), transport)
    let request = HTTPRequest("PATCH", url, headers: ["Idempotency-Key": "k"], body: Data("body".utf8))
    #expect(try await client.send(request).status == 200)
    #expect(transport.requests.allSatisfy { $0.headers["Idempotency-Key"] == "k" && $0.body == request.body })
    #expect(transport.requests.map { $0.headers["Authorization"] } == ["t", "t", "u", "u", "u"].map { "Bearer \($0)" })
    #expect(clock.waits.count == 3)
  }
}
