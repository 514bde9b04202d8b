import Dispatch
import Foundation
import StrataTestSupport
import StrataCore
import Testing

@testable import StrataRemote

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests the transport with servers on the loopback address that misbehave in every way.
@Suite(.timeLimit(.minutes(20)))
struct URLSessionTransportTests {
  private let transport = URLSessionTransport()

  private func send(_ request: HTTPRequest, limit: Int = 1 << 20, timeout: Duration = .seconds(900)) async throws
    -> HTTPResponse
  {
    try await transport.send(request, sizeLimit: limit, timeout: timeout)
  }

  private func failure(_ request: HTTPRequest, limit: Int = 1 << 20, timeout: Duration = .seconds(900)) async
    -> RemoteError?
  {
    let error = await #expect(throws: RemoteError.self) { try await send(request, limit: limit, timeout: timeout) }
    #expect(await eventually { transport.inFlight == 0 })
    return error
  }

  /// A server that reads a request and sends these bytes.
  private func raw(_ text: String) throws -> RawServer {
    try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send(text)
    }
  }

  @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
  func requestsArriveWhole(method: String) async throws {
    let server = try await FaultServer { request in
      FaultServer.Answer(status: 201, headers: ["ETag": "\"a\"", "X-Method": request.method], body: request.body)
    }
    let body = method == "GET" ? nil : Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let request = HTTPRequest(
      method, try server.url("/a?b=c%20d"), headers: ["X-One": "1", "Accept": "a/b, c/d"], body: body)
    let response = try await send(request)
    #expect(response.status == 201 && response.body == body ?? Data())
    #expect(
      response.headers["etag"] == "\"a\"" && response.headers["x-method"] == method && response.url == request.url)
    #expect(server.requests.first?["x-one"] == "1" && server.requests.first?["accept"] == "a/b, c/d")
  }

  @Test func headHasNoContent() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\nETag: \"h\"\r\n\r\n")
    defer { server.stop() }
    let response = try await send(HTTPRequest("HEAD", try server.url()), limit: 10)
    #expect(response.status == 200 && response.body.isEmpty && response.headers["ETag"] == "\"h\"")
  }

  @Test(arguments: [204, 304, 401, 404, 500, 503])
  func everyStatusIsAnAnswer(status: Int) async throws {
    let length = status == 304 ? "Content-Length: 100" : status == 204 ? "X: y" : "Content-Length: 0"
    let server = try raw(
      "HTTP/1.1 \(status) X\r\n\(length)\r\nWWW-Authenticate: Basic realm=\"r\"\r\nLink: <a>; rel=next\r\nLink: <b>\r\n\r\n"
    )
    defer { server.stop() }
    let response = try await send(HTTPRequest("GET", try server.url()))
    #expect(response.status == status && response.body.isEmpty)
    #expect(HTTPLink.links(in: response.headers).map(\.target) == ["a", "b"])
  }

  @Test(arguments: [
    "Basic realm=\"r\"", "Bearer realm=\"r\", error=\"invalid_token\"", "Digest realm=\"r\", nonce=\"n\"", "Bearer",
    "Negotiate, Basic realm=\"r\"",
  ])
  func challengesAreAnswers(challenge: String) async throws {
    let server = try raw("HTTP/1.1 401 X\r\nContent-Length: 2\r\nWWW-Authenticate: \(challenge)\r\n\r\nno")
    defer { server.stop() }
    let response = try await send(HTTPRequest("GET", try server.url(), headers: ["Authorization": "Bearer t"]))
    #expect(response.status == 401 && response.body == Data("no".utf8))
    #expect(response.headers["WWW-Authenticate"] == challenge && server.connections == 1)
    #expect(await eventually { transport.inFlight == 0 })
  }

  @Test func contentThatDripsIsWhole() async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<50 {
        connection.send("2\r\nab\r\n")
        usleep(2000)
      }
      connection.send("0\r\n\r\n")
    }
    defer { server.stop() }
    #expect(try await send(HTTPRequest("GET", try server.url())).body == Data(String(repeating: "ab", count: 50).utf8))
  }

  @Test func shortContentIsCutOff() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\": 1}")
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .cutOff)
  }

  @Test func chunksThatDoNotEndAreCutOff() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .cutOff)
  }

  @Test func aResetIsCutOff() async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
      usleep(20_000)
      connection.reset()
    }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .cutOff)
  }

  @Test func closingWithoutAnAnswerIsCutOff() async throws {
    let server = try raw("")
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .cutOff)
  }

  @Test func moreThanTheLengthIsNotRead() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefghij")
    defer { server.stop() }
    #expect(try await send(HTTPRequest("GET", try server.url())).body == Data("abc".utf8))
  }

  @Test func contentWithoutALengthEndsWithTheConnection() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")
    defer { server.stop() }
    #expect(try await send(HTTPRequest("GET", try server.url())).body == Data("abc".utf8))
  }

  @Test(arguments: [
    "this is no HTTP at all\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}\u{3}", "HTTP/1.1 abc OK\r\n\r\n",
    "HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n",
  ])
  func garbageIsInvalid(text: String) async throws {
    let server = try raw(text)
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .invalidResponse)
  }

  /// On Linux the session distinguishes such errors only by their text, so either code is accepted.
  @Test func aLengthThatIsNoNumberIsAnError() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n{}")
    defer { server.stop() }
    let code = try #require(await failure(HTTPRequest("GET", try server.url()))?.code)
    #expect([.invalidResponse, .notConnected].contains(code))
  }

  @Test func nobodyThereIsNotConnected() async throws {
    let server = try raw("")
    server.stop()
    #expect(await eventually { server.openConnections == 0 })
    #expect(await failure(HTTPRequest("GET", try server.url()))?.code == .notConnected)
  }

  @Test func gzipIsDecoded() async throws {
    let server = try await gzipServer()
    let response = try await send(HTTPRequest("GET", try server.url()))
    #expect(response.body == Data(repeating: 0x61, count: 10_000))
  }

  @Test func theLimitIsOneOfTheDecodedContent() async throws {
    let server = try await gzipServer()
    #expect(await failure(HTTPRequest("GET", try server.url()), limit: 9999)?.code == .tooLarge)
    #expect(try await send(HTTPRequest("GET", try server.url()), limit: 10_000).body.count == 10_000)
  }

  /// The letter a, repeated 10,000 times and compressed with gzip.
  private static let packed = "H4sIAAAAAAACA+3BAQ0AAADCoKzvX8IcbkABAAAAAAAAAADAvwGX1H5GECcAAA=="

  private func gzipServer() async throws -> FaultServer {
    let packed = try #require(Data(base64Encoded: Self.packed))
    return try await FaultServer { _ in FaultServer.Answer(headers: ["Content-Encoding": "gzip"], body: packed) }
  }

  @Test(arguments: [true, false])
  func whatIsTooLargeIsNotRead(announces: Bool) async throws {
    let total = 2 << 30
    let sent = Mutex(0)
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\n\(announces ? "Content-Length: \(total)" : "Connection: close")\r\n\r\n")
      let block = Data(count: 1 << 16)
      for _ in 0..<(total >> 16) {
        guard connection.send(block) else { return }
        sent.withLock { $0 += block.count }
      }
    }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()), limit: 100_000)?.code == .tooLarge)
    #expect(await eventually { server.openConnections == 0 })
    #expect(sent.withLock { $0 } < total, "sent \(sent.withLock { $0 }) of \(total)")
  }

  /// The server sends nothing more and keeps the connection open. Only the limit on the size of a body can end the request.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
    "HTTP/1.1 404 X\r\nContent-Length: 1000000000000\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000000\r\n\r\n",
    "HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 101\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + String(repeating: "a", count: 101) + "\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "a", count: 101),
  ])
  func whatIsTooLargeEndsThoughTheServerStalls(text: String) async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send(text)
      connection.waitForEnd()
    }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()), limit: 100, timeout: .seconds(300))?.code == .tooLarge)
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test func aPackedBombThatStallsIsTooLarge() async throws {
    let packed = try #require(Data(base64Encoded: Self.packed))
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count + 1)\r\n\r\n")
      connection.send(packed)
      connection.waitForEnd()
    }
    defer { server.stop() }
    #expect(
      await failure(HTTPRequest("GET", try server.url()), limit: 9999, timeout: .seconds(300))?.code == .tooLarge)
    #expect(await eventually { server.openConnections == 0 })
  }

  /// The limit is low, because the session copies all buffered content again for each part that arrives.
  @Test(arguments: ["Connection: close", "Content-Length: 1000000000"])
  func theContentOfARedirectionHasItsLimit(length: String) async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 301 X\r\nLocation: /b\r\n\(length)\r\n\r\n")
      for _ in 0..<20 { connection.send(Data(count: 1 << 14)) }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let error = await failure(HTTPRequest("GET", try server.url()), limit: 100_000, timeout: .seconds(300))
    #expect(error?.code == .tooLarge)
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test(arguments: [300, 301, 302, 303, 305, 307, 308]) func aRedirectionToNowhereIsAnAnswer(status: Int) async throws {
    let server = try raw("HTTP/1.1 \(status) X\r\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nno")
    defer { server.stop() }
    let response = try await send(HTTPRequest("GET", try server.url()))
    #expect(response.status == status && response.headers["ETag"] == "\"a\"")
    #expect(await eventually { transport.inFlight == 0 })
  }

  @Test(arguments: [100, 103]) func interimAnswersAreNotTheAnswer(status: Int) async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 \(status) X\r\nLink: </a>; rel=next\r\n\r\n")
      usleep(20_000)
      connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nok")
    }
    defer { server.stop() }
    let response = try await send(HTTPRequest("GET", try server.url()))
    #expect(response.status == 200 && response.body == Data("ok".utf8) && response.headers["ETag"] == "\"a\"")
    #expect(HTTPLink.links(in: response.headers).isEmpty)
  }

  @Test func aTimeoutMayBeWithoutEnd() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    defer { server.stop() }
    for timeout in [Duration.seconds(Int64.max), .seconds(1e15)] {
      #expect(try await send(HTTPRequest("GET", try server.url()), timeout: timeout).status == 200)
    }
  }

  @Test func noTimeIsTooLittle() async throws {
    let server = try RawServer { $0.waitForEnd() }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()), timeout: .seconds(-1))?.code == .timedOut)
  }

  @Test func manyRequestsAtOnceLeaveNothing() async throws {
    let server = try RawServer { connection in
      while connection.head() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    }
    defer { server.stop() }
    let url = try server.url()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<500 { group.addTask { try await send(HTTPRequest("GET", url)).status } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(await eventually { transport.inFlight == 0 })
    let session = transport.session
    let isEmpty = await eventually {
      await withCheckedContinuation { done in session.getAllTasks { done.resume(returning: $0.isEmpty) } }
    }
    #expect(isEmpty)
  }

  /// A request can end before its task is created, for example while the session is busy with another response.
  @Test func whatEndsBeforeItsTaskIsMadeMakesNone() async throws {
    let server = try raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    defer { server.stop() }
    let delegate = try #require(transport.session.delegate as? SessionDelegate)
    let (begun, busy) = (Gate(), DispatchSemaphore(value: 0))
    delegate.worker.async {
      begun.open()
      busy.wait()
    }
    try await begun.wait()
    let url = try server.url()
    let task = Task { try await send(HTTPRequest("GET", url)) }
    await Task.yield()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await failure(HTTPRequest("GET", url), timeout: .milliseconds(20))?.code == .timedOut)
    busy.signal()
    #expect(try await send(HTTPRequest("GET", url)).status == 200)
    #expect(server.connections == 1)
  }

  @Test func callbacksAreOneAfterTheOther() {
    #expect(transport.session.delegateQueue.maxConcurrentOperationCount == 1)
    #expect(URLSessionTransport().session.delegateQueue !== transport.session.delegateQueue)
  }

  @Test func anAnswerThatNeverComesTimesOut() async throws {
    let server = try RawServer { $0.waitForEnd() }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()), timeout: .milliseconds(100))?.code == .timedOut)
    // The transport also closes the connection.
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test func anAnswerThatDripsForeverTimesOut() async throws {
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
      while connection.send("a") { usleep(5000) }
    }
    defer { server.stop() }
    #expect(await failure(HTTPRequest("GET", try server.url()), timeout: .milliseconds(200))?.code == .timedOut)
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test func cancellationEndsTheRequestAtOnce() async throws {
    let arrived = Gate()
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      arrived.open()
      connection.waitForEnd()
    }
    defer { server.stop() }
    let request = HTTPRequest("GET", try server.url())
    let task = Task { try await send(request) }
    try await arrived.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { transport.inFlight == 0 && server.openConnections == 0 })
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await send(request)
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(transport.inFlight == 0)
  }

  @Test func redirectionsWithinOneOriginKeepTheHeaders() async throws {
    let server = try await FaultServer { request in
      request.path == "/end"
        ? .init(body: Data("x".utf8)) : .init(status: 302, headers: ["Location": "/end"], body: Data("moved".utf8))
    }
    let response = try await send(HTTPRequest("GET", try server.url("/start"), headers: ["Authorization": "Bearer t"]))
    #expect(response.status == 200 && response.body == Data("x".utf8) && response.url.path == "/end")
    #expect(server.requests.map { $0["Authorization"] } == ["Bearer t", "Bearer t"])
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectionsToOthersCarryNoSecret(status: Int) async throws {
    let other = try await FaultServer { _ in .init(body: Data("x".utf8)) }
    let location = try other.url("/end").absoluteString
    let server = try await FaultServer { _ in .init(status: status, headers: ["Location": location]) }
    let headers: HTTPHeaders = ["Authorization": "Bearer t", "X-Key": "k", "Accept": "a/b"]
    #expect(try await send(HTTPRequest("GET", try server.url(), headers: headers)).status == 200)
    let seen = try #require(other.requests.first)
    #expect(seen["Authorization"] == nil && seen["X-Key"] == nil && seen["Accept"] == "a/b")
    #expect(!seen.headers.values.contains { $0.contains("Bearer") })
    #expect(
      await failure(HTTPRequest("POST", try server.url(), headers: headers, body: Data("b".utf8)))?.code == .redirected)
    #expect(other.requests.count == 1)
  }

  @Test func circlesEnd() async throws {
    let server = try await FaultServer { request in
      .init(status: 302, headers: ["Location": request.path == "/a" ? "/b" : "/a"])
    }
    #expect(await failure(HTTPRequest("GET", try server.url("/a")))?.code == .redirected)
    #expect(server.requests.count == 6)
  }

  @Test func contentIsSentAgainWith307() async throws {
    let server = try await FaultServer { request in
      request.path == "/end"
        ? .init(headers: ["X-Method": request.method], body: request.body)
        : .init(status: 307, headers: ["Location": "end"])
    }
    let response = try await send(HTTPRequest("PATCH", try server.url("/a"), body: Data("content".utf8)))
    #expect(response.body == Data("content".utf8) && response.headers["X-Method"] == "PATCH")
  }

  @Test func keepsNoCookiesAndNoCache() async throws {
    let server = try await FaultServer { request in
      .init(
        headers: ["Set-Cookie": "id=1; Path=/", "Cache-Control": "max-age=1000", "ETag": "\"1\""],
        body: Data("\(request.number)".utf8))
    }
    #expect(try await send(HTTPRequest("GET", try server.url())).body == Data("1".utf8))
    #expect(try await send(HTTPRequest("GET", try server.url())).body == Data("2".utf8))
    #expect(server.requests.allSatisfy { $0["Cookie"] == nil && $0["If-None-Match"] == nil })
  }

  @Test func connectionsAreUsedAgain() async throws {
    let server = try RawServer { connection in
      while connection.head() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    }
    defer { server.stop() }
    for _ in 0..<200 { #expect(try await send(HTTPRequest("GET", try server.url())).body == Data("ok".utf8)) }
    #expect(server.connections <= 2)
  }

  @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "http:///x", "data:,x", "/relative"])
  func otherURLsAreRefused(text: String) async throws {
    #expect(await failure(HTTPRequest("GET", try #require(URL(string: text))))?.code == .invalidConfiguration)
  }

  @Test(arguments: [("X-A", "a\r\nX-B: b"), ("X A", "a"), ("X-A\r\nX-B", "a"), ("", "a"), ("X-A", "a\u{0}")])
  func headersCannotBeSplit(name: String, value: String) async throws {
    let server = try raw("")
    defer { server.stop() }
    let error = await failure(HTTPRequest("GET", try server.url(), headers: HTTPHeaders([.init(name, value)])))
    #expect(error?.code == .invalidConfiguration && server.connections == 0)
    let method = await failure(HTTPRequest("GET / HTTP/1.1\r\n", try server.url()))
    #expect(method?.code == .invalidConfiguration)
  }

  @Test func invalidatingEndsWhatRuns() async throws {
    let arrived = Gate()
    let server = try RawServer { connection in
      guard connection.head() != nil else { return }
      arrived.open()
      connection.waitForEnd()
    }
    defer { server.stop() }
    let request = HTTPRequest("GET", try server.url())
    let task = Task { try await send(request) }
    try await arrived.wait()
    transport.invalidate()
    #expect(await #expect(throws: RemoteError.self) { try await task.value }?.code == .notConnected)
    #expect(await failure(request)?.code == .notConnected)
    transport.invalidate()
    #expect(await eventually { server.openConnections == 0 })
  }

  @Test func aSessionLivesNoLongerThanItsTransport() async throws {
    let server = try await FaultServer { _ in .init() }
    weak var session: URLSession?
    weak var delegate: AnyObject?
    do {
      let transport = URLSessionTransport()
      _ = try await transport.send(HTTPRequest("GET", try server.url()), sizeLimit: 1, timeout: .seconds(300))
      (session, delegate) = (transport.session, transport.session.delegate)
      #expect(session != nil && delegate != nil)
    }
    #expect(await eventually { delegate == nil })
    #expect(await eventually { session == nil })
  }

  private final class Ends: Sendable {
    let counts = Mutex((all: 0, answered: 0, cancelled: 0, others: [String]()))
  }

  @Test(.tags(.long)) func aThousandCancellationsLeaveNothing() async throws {
    let rounds = Effort.rounds(10, long: 50)
    var random = SeededRandom(seed: .random(in: 0 ... .max))
    let server = try RawServer { connection in
      while let head = connection.head() {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n")
        connection.send(Data(count: 10_000))
        if head.hasPrefix("GET /held") { return connection.waitForEnd() }
        usleep(300)
        guard connection.send(Data(count: 10_000)) else { return }
      }
    }
    defer { server.stop() }
    let url = try server.url(), held = try server.url("/held")
    let ended = Ends()
    for _ in 0..<rounds {
      let before = ended.counts.withLock { $0.all }
      for number in 0..<20 {
        let pause = random.below(8000)
        // However fast the machine is, only cancellation ends held responses, and the first request receives its response.
        let asked = number < 15 ? url : held
        let task = Task {
          do {
            _ = try await send(HTTPRequest("GET", asked))
            ended.counts.withLock { $0.answered += 1 }
          } catch is CancellationError { ended.counts.withLock { $0.cancelled += 1 } } catch {
            ended.counts.withLock { $0.others.append("\(error)") }
          }
          ended.counts.withLock { $0.all += 1 }
        }
        guard number > 0 else { continue }
        Task {
          // This task is never cancelled, so the sleep does not fail.
          try? await Task.sleep(for: .microseconds(pause))
          task.cancel()
        }
      }
      // Checked from outside, so that a task that hangs is a failure instead of an endless wait.
      guard await eventually({ ended.counts.withLock { $0.all } == before + 20 }) else {
        Issue.record("only \(ended.counts.withLock { $0.all }) of \(before + 20) ended; \(random)")
        return
      }
    }
    #expect(await eventually { transport.inFlight == 0 }, "\(transport.inFlight) are left; \(random)")
    let counts = ended.counts.withLock { $0 }
    #expect(counts.others == [] && counts.cancelled >= rounds * 5 && counts.answered >= rounds, "\(counts); \(random)")
    #expect(try await send(HTTPRequest("GET", url)).body.count == 20_000)
  }
}
