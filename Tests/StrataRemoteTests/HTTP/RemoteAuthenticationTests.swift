import Foundation
import StrataCore
import Testing

@testable import StrataRemote

@Suite(.timeLimit(.minutes(20)))
struct RemoteAuthenticationTests {
  private struct Refused: Error {}

  /// A server that accepts one token, and an application that renews tokens.
  private final class Tokens: Sendable {
    let state = Mutex((current: "t1", valid: "t2", refreshes: [String]()))

    var refreshes: [String] { state.withLock { $0.refreshes } }

    func transport(_ gate: Gate? = nil, rejecting count: Int = 0) -> ScriptedTransport {
      ScriptedTransport { request, number in
        let isValid = self.state.withLock { request.headers.values(of: "Authorization") == ["Bearer \($0.valid)"] }
        // Rejected requests get their responses only after all `count` requests have arrived.
        if number == count { gate?.open() }
        if !isValid { try await gate?.wait() }
        return HTTPResponse(isValid ? 200 : 401, url: request.url)
      }
    }
  }

  private func client(_ transport: ScriptedTransport, _ authentication: RemoteAuthentication) -> HTTPClient {
    HTTPClient(
      transport: transport, authentication: authentication, sizeLimit: 1, timeout: .seconds(1),
      clock: ScriptedClock().clock)
  }

  private func request(_ method: String = "GET") throws -> HTTPRequest {
    HTTPRequest(method, try #require(URL(string: "https://a.example/")))
  }

  private func bearer(_ tokens: Tokens, stores: Bool = true) -> RemoteAuthentication {
    .bearer(token: { tokens.state.withLock { $0.current } }) { rejected in
      tokens.state.withLock {
        $0.refreshes.append(rejected)
        if stores { $0.current = $0.valid }
        return $0.valid
      }
    }
  }

  @Test(arguments: [true, false])
  func oneRefreshForManyRejections(stores: Bool) async throws {
    let tokens = Tokens()
    let transport = tokens.transport(Gate(), rejecting: 50)
    let client = client(transport, bearer(tokens, stores: stores))
    let request = try request("POST")
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await client.send(request).status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(tokens.refreshes == ["t1"])
    #expect(transport.requests.count == 100)
    // Even if the application has not stored the new token, the client must not renew it again.
    #expect(try await client.send(request).status == 200)
    #expect(tokens.refreshes == ["t1"] && transport.requests.count == 101)
  }

  @Test func aTokenThatIsAlreadyNewerIsTaken() async throws {
    let tokens = Tokens()
    let client = client(
      ScriptedTransport { request, number in
        tokens.state.withLock { $0.current = $0.valid }
        return HTTPResponse(number == 1 ? 401 : 200, headers: request.headers, url: request.url)
      }, bearer(tokens))
    #expect(try await client.send(request()).headers["Authorization"] == "Bearer t2")
    #expect(tokens.refreshes.isEmpty)
  }

  @Test func aSecondRejectionIsFinal() async throws {
    let tokens = Tokens()
    let transport = ScriptedTransport { request, _ in HTTPResponse(401, url: request.url) }
    let client = client(transport, bearer(tokens))
    let request = try request()
    let error = await #expect(throws: RemoteError.self) { try await client.answer(to: request) }
    #expect(error?.code == .unauthorized && error?.status == 401)
    #expect(transport.requests.count == 2 && tokens.refreshes == ["t1"])
  }

  @Test func withoutRefreshARejectionIsFinal() async throws {
    let transport = ScriptedTransport { request, _ in HTTPResponse(401, url: request.url) }
    let request = try request()
    for authentication in [
      RemoteAuthentication.bearer(token: { "t" }), .bearer(token: { nil }, refresh: { _ in "u" }), .custom { _ in },
    ] {
      let client = client(transport, authentication)
      #expect(try await client.answer(to: request).status == 401)
      #expect(await #expect(throws: RemoteError.self) { try await client.send(request) }?.code == .unauthorized)
    }
    #expect(transport.requests.count == 6)
  }

  @Test func aFailureIsReportedToAllAndNotKept() async throws {
    let tokens = Tokens()
    let calls = Mutex(0)
    let transport = tokens.transport(Gate(), rejecting: 20)
    let client = client(
      transport,
      .bearer(token: { "t1" }) { _ in
        let isFirst = calls.withLock {
          $0 += 1
          return $0 == 1
        }
        if isFirst { throw Refused() }
        return "t2"
      })
    let request = try request()
    await withTaskGroup(of: RemoteError?.self) { group in
      for _ in 0..<20 {
        group.addTask { await #expect(throws: RemoteError.self) { try await client.send(request) } }
      }
      for await error in group { #expect(error?.code == .unauthorized && error?.underlyingError is Refused) }
    }
    #expect(calls.withLock { $0 } == 1)
    #expect(try await client.send(request).status == 200)
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func errorsOfARefreshAreCausesWhateverTheyAre() async throws {
    let transport = ScriptedTransport { request, _ in HTTPResponse(401, url: request.url) }
    let request = try request()
    for cause in [RemoteError(.notConnected, "x"), CancellationError()] as [any Error] {
      let client = client(transport, .bearer(token: { "t" }) { _ in throw cause })
      let error = await #expect(throws: RemoteError.self) { try await client.send(request) }
      #expect(error?.code == .unauthorized && error?.underlyingError != nil)
    }
    #expect(transport.requests.count == 2)
  }

  @Test func cancellingOneLeavesTheRefresh() async throws {
    let (begun, go) = (Gate(), Gate())
    let tokens = Tokens()
    let client = client(
      tokens.transport(),
      .bearer(token: { "t1" }) { _ in
        tokens.state.withLock { $0.refreshes.append("") }
        begun.open()
        try await go.wait()
        return "t2"
      })
    let request = try request()
    let first = Task { try await client.send(request) }
    try await begun.wait()
    let second = Task { try await client.send(request) }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    go.open()
    #expect(try await second.value.status == 200)
    #expect(tokens.refreshes.count == 1)
  }

  @Test func theClosureChangesEachAttempt() async throws {
    let transport = ScriptedTransport { request, number in HTTPResponse(number == 1 ? 500 : 200, url: request.url) }
    let count = Mutex(0)
    let client = client(
      transport,
      .custom { request in
        request.headers["X-Number"] = String(
          count.withLock {
            $0 += 1
            return $0
          })
      })
    _ = try await client.send(request())
    #expect(transport.requests.map { $0.headers["X-Number"] } == ["1", "2"])
    let failing = self.client(transport, .custom { _ in throw Refused() })
    let request = try request()
    let error = await #expect(throws: RemoteError.self) { try await failing.send(request) }
    #expect(error?.code == .unauthorized && error?.underlyingError is Refused)
  }

  @Test func aSourceThatIsCancelledIsNotTheCaller() async throws {
    let transport = ScriptedTransport { request, _ in HTTPResponse(200, url: request.url) }
    for authentication in [
      RemoteAuthentication.bearer(token: { throw CancellationError() }), .custom { _ in throw CancellationError() },
    ] {
      let request = try request()
      let error = await #expect(throws: RemoteError.self) {
        try await client(transport, authentication).send(request)
      }
      #expect(error?.code == .unauthorized && error?.underlyingError is CancellationError)
    }
    #expect(transport.requests.isEmpty)
  }
}
