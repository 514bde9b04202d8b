import Foundation
import StrataCore
import StrataTestSupport
import Testing

@testable import StrataRemote

/// Tests the client with the real transport and real servers.
@Suite(.timeLimit(.minutes(20)))
struct HTTPClientServerTests {
  private let clock = ScriptedClock()
  private let transport = URLSessionTransport()

  private func client(_ authentication: RemoteAuthentication? = nil) -> HTTPClient {
    HTTPClient(
      transport: transport, authentication: authentication, sizeLimit: 1 << 20, timeout: .seconds(300),
      clock: clock.clock)
  }

  @Test func aFailureIsFollowedByAnAnswer() async throws {
    let server = try await FaultServer { .init(status: $0.number == 1 ? 500 : 200) }
    #expect(try await client().send(HTTPRequest("GET", try server.url())).status == 200)
    #expect(server.requests.count == 2 && clock.waits == [.seconds(0.25)])
    #expect(server.requests.first?["User-Agent"] == "Strata")
  }

  /// The dates are 9 seconds after the clock's time.
  @Test(arguments: [("7", 7.0), ("Sun, 06 Nov 1994 08:49:46 GMT", 9), ("Sunday, 06-Nov-94 08:49:46 GMT", 9)])
  func retryAfterIsObeyed(text: String, seconds: Double) async throws {
    let server = try await FaultServer { request in
      request.number == 1 ? .init(status: 503, headers: ["Retry-After": text]) : .init()
    }
    #expect(try await client().send(HTTPRequest("GET", try server.url())).status == 200)
    #expect(clock.waits == [.seconds(seconds)])
  }

  @Test func aConnectionThatIsCutOffIsTriedAgain() async throws {
    let count = Mutex(0)
    let server = try RawServer { connection in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      guard connection.head() != nil else { return }
      connection.send(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n" + (number < 3 ? "ab" : "abcde"))
    }
    defer { server.stop() }
    #expect(try await client().send(HTTPRequest("GET", try server.url())).body == Data("abcde".utf8))
    let error = await #expect(throws: RemoteError.self) {
      count.withLock { $0 = 0 }
      _ = try await client().send(HTTPRequest("POST", try server.url()))
    }
    #expect(error?.code == .cutOff && server.connections == 4)
  }

  @Test func manyRejectionsAreOneRefresh() async throws {
    let server = try await FaultServer { request in
      request["Authorization"] == "Bearer new"
        ? .init() : .init(status: 401, headers: ["WWW-Authenticate": "Bearer realm=\"r\""])
    }
    let refreshes = Mutex(0)
    let client = client(
      .bearer(token: { "old" }) { rejected in
        refreshes.withLock { $0 += 1 }
        try await Task.sleep(for: .milliseconds(20))
        return rejected == "old" ? "new" : nil
      })
    let url = try server.url()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<40 {
        group.addTask { try await client.send(HTTPRequest(number % 2 == 0 ? "GET" : "PATCH", url, body: nil)).status }
      }
      for try await status in group { #expect(status == 200) }
    }
    #expect(refreshes.withLock { $0 } == 1)
    #expect(await eventually { transport.inFlight == 0 })
  }

  @Test func cancellingARequestEndsItsConnection() async throws {
    let arrived = Gate()
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      arrived.open()
      connection.waitForEnd()
    }
    defer { server.stop() }
    let (client, url) = (client(), try server.url())
    let task = Task { try await client.send(HTTPRequest("GET", url)) }
    try await arrived.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { transport.inFlight == 0 && server.openConnections == 0 })
    #expect(server.connections == 1)
  }
}
