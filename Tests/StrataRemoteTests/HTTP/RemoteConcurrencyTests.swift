import Foundation
import StrataTestSupport
import Testing

@testable import StrataRemote

/// What the thread sanitizer runs.
@Suite(.timeLimit(.minutes(20)))
struct RemoteConcurrencyTests {
  private let url: URL

  init() throws { url = try #require(URL(string: "https://a.example/")) }

  private func client(_ transport: ScriptedTransport) -> HTTPClient {
    HTTPClient(transport: transport, retry: .none, sizeLimit: 1, timeout: .seconds(1))
  }

  @Test func sameRequestsAreSentOnce() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request, number in
      try await gate.wait()
      return HTTPResponse(200, headers: ["N": String(number)], url: request.url)
    }
    let client = client(transport)
    let tasks = (0..<100).map { _ in
      Task { try await client.send(HTTPRequest("GET", url), coalesces: true).headers["N"] }
    }
    #expect(await eventually { client.inFlight == 1 && transport.requests.count == 1 })
    gate.open()
    for task in tasks { #expect(try await task.value == "1") }
    #expect(client.inFlight == 0 && client.shared == 0)
    #expect(try await client.send(HTTPRequest("GET", url), coalesces: true).headers["N"] == "2")
  }

  @Test func differentRequestsAreNotShared() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request, _ in
      try await gate.wait()
      return HTTPResponse(200, url: request.url)
    }
    let client = client(transport)
    let requests: [(HTTPRequest, String, Bool)] = [
      (HTTPRequest("GET", url), "", true), (HTTPRequest("GET", url), "b", true), (HTTPRequest("GET", url), "", false),
      (HTTPRequest("GET", url.appending(path: "x")), "", true),
      (HTTPRequest("GET", url, headers: ["Accept": "a"]), "", true),
      (HTTPRequest("GET", url, headers: ["X-A": "a"]), "", true),
      (HTTPRequest("GET", url, headers: ["If-None-Match": "a"]), "", true),
      (HTTPRequest("POST", url), "", true), (HTTPRequest("POST", url), "", true),
      (HTTPRequest("GET", url, body: Data()), "", true),
      // The same as the first.
      (HTTPRequest("GET", url, headers: ["X-B": "b"]), "", true),
    ]
    let tasks = requests.map { request in
      Task { try await client.send(request.0, scope: request.1, coalesces: request.2, varyingBy: ["x-a"]) }
    }
    #expect(await eventually { transport.requests.count == 10 })
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(transport.requests.count == 10)
    #expect(client.inFlight == 0 && client.shared == 0)
  }

  @Test func oneCancellationLeavesTheOthersAndTheLastEndsIt() async throws {
    let gate = Gate()
    let transport = ScriptedTransport { request, _ in
      try await gate.wait()
      return HTTPResponse(200, url: request.url)
    }
    let client = client(transport)
    let tasks = (0..<100).map { _ in Task { try await client.send(HTTPRequest("GET", url), coalesces: true) } }
    #expect(await eventually { transport.requests.count == 1 })
    for task in tasks.dropLast() { task.cancel() }
    for task in tasks.dropLast() { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(client.inFlight == 1)
    tasks.last?.cancel()
    await #expect(throws: CancellationError.self) { try await tasks.last?.value }
    // The gate is still closed: only cancellation can have ended the request.
    #expect(await eventually { client.inFlight == 0 && client.shared == 0 })
    gate.open()
    #expect(try await client.send(HTTPRequest("GET", url), coalesces: true).status == 200)
  }

  @Test func randomCancellationsLeaveNothing() async throws {
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    let transport = ScriptedTransport { request, number in
      if number % 3 == 0 { try await Task.sleep(for: .microseconds(number % 500)) }
      return HTTPResponse(number % 7 == 0 ? 404 : 200, url: request.url)
    }
    let client = client(transport)
    for _ in 0..<20 {
      let tasks = (0..<100).map { number in
        Task {
          // Errors are what is provoked here; what counts is that each task ends.
          _ = try? await client.send(HTTPRequest("GET", url.appending(path: "\(number % 5)")), coalesces: true)
        }
      }
      for task in tasks where random.isOnce(in: 2) {
        if random.isOnce(in: 4) { await Task.yield() }
        task.cancel()
      }
      for task in tasks { await task.value }
    }
    #expect(await eventually { client.inFlight == 0 && client.shared == 0 }, "\(random)")
  }

  @Test func manyTasksShareATokenThatIsRenewedAgainAndAgain() async throws {
    let transport = ScriptedTransport { request, number in
      HTTPResponse(number % 10 == 0 ? 401 : 200, url: request.url)
    }
    let client = HTTPClient(
      transport: transport, authentication: .bearer(token: { "t" }) { $0 + "x" }, sizeLimit: 1, timeout: .seconds(1))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          for _ in 0..<5 {
            // A second 401 in a row is an error, which chance decides.
            _ = try? await client.send(HTTPRequest("GET", url))
          }
        }
      }
    }
    #expect(client.inFlight == 0)
  }
}
