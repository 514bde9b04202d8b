internal import FlyingFox
internal import FlyingSocks
internal import Foundation
internal import StrataRemote
internal import StrataCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Accepts requests at a port of 127.0.0.1 and passes them to a ``ResourceServer`` one at a time.
final class ServeListener: Sendable {
  /// When the server is asked to stop, pending requests have up to `grace` to finish. Their responses are then sent within `sending`
  /// seconds.
  private static let (grace, sending) = (Duration.seconds(2), 0.1)
  /// The server reads up to this many more bytes of oversized content, so that the sender can then read the response.
  private static let mostDrained = 64 << 20

  private let resources: Mutex<ResourceServer>
  /// The number of pending requests.
  private let underWay = Mutex(0)
  private let sizeLimit: Int
  private let port: UInt16
  private let latency: Duration
  private let events: ServeEvents

  /// - Parameters:
  ///   - port: the port, or 0 to let the system choose one.
  ///   - latency: the delay of each response.
  init(_ server: ResourceServer, port: UInt16, latency: Duration, events: ServeEvents) {
    resources = Mutex(server)
    sizeLimit = server.options.sizeLimit
    (self.port, self.latency, self.events) = (port, latency, events)
  }

  /// Runs until its task is cancelled, and reports when it listens.
  ///
  /// - Throws: ``ServeError`` if it cannot listen at the port.
  func run() async throws {
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: port), timeout: 60 + latency / .seconds(1), pool: PromptSocketPool(),
      logger: .disabled,
      handler: ClosureHTTPHandler { try await self.answer($0) })
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        // This task is unstructured, because cancelling the current task must not interrupt it. `stop` ends it.
        let running = Task { try await server.run() }
        group.addTask { try await running.value }
        group.addTask {
          try await server.waitUntilListening(timeout: 600)
          if case .ip4(_, let port) = await server.listeningAddress { self.events.send(.listening(port)) }
          // This child task sleeps until it is cancelled.
          try await Task.sleep(for: .seconds(Double(Int32.max)))
        }
        group.addTask {
          // The sleep ends only when this child task is cancelled. Then the server stops.
          try? await Task.sleep(for: .seconds(Double(Int32.max)))
          // `stop` needs a new task: in a cancelled task, pending requests would have no time to finish.
          await Task { await self.stop(server) }.value
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      guard !Task.isCancelled else { return }
      throw failure(error)
    }
  }

  /// Stops when no request is pending. FlyingFox would wait for the full timeout, even if no request is pending.
  private func stop(_ server: HTTPServer) async {
    let end = ContinuousClock.now + Self.grace
    while underWay.withLock({ $0 > 0 }), ContinuousClock.now < end {
      // Uses `try?`, because this task is never cancelled.
      try? await Task.sleep(for: .milliseconds(10))
    }
    await server.stop(timeout: Self.sending)
  }

  private func failure(_ error: any Error) -> ServeError {
    guard case SocketError.failed(_, let number, let message)? = error as? SocketError else {
      return ServeError("cannot listen at port \(port): \(ServeError.reason(of: error))")
    }
    return switch number {
    case EADDRINUSE:
      ServeError("port \(port) is in use; another --port is needed, or 0 for one that the system chooses")
    case EACCES: ServeError("port \(port) is not open to this user; one from 1024 on is needed")
    default: ServeError("cannot listen at port \(port): \(message)")
    }
  }

  // MARK: Requests

  private func answer(_ request: FlyingFox.HTTPRequest) async throws -> FlyingFox.HTTPResponse {
    underWay.withLock { $0 += 1 }
    defer { underWay.withLock { $0 -= 1 } }
    let body = try await content(of: request)
    let target = Self.target(of: request)
    let response: StrataRemote.HTTPResponse
    if !(await waited()) {
      let problem = Problem(503, "the server stops; try again when it runs", headers: ["Retry-After": "1"])
      response = problem.response(url: URL(filePath: "/"))
    } else if let url = Self.url(of: request, target) {
      var headers = StrataRemote.HTTPHeaders()
      for (name, value) in request.headers { headers.add(name.rawValue, value) }
      let known = StrataRemote.HTTPRequest(request.method.rawValue, url, headers: headers, body: body)
      response = resources.withLock { $0.answer(known) }
    } else {
      // Rejects the request, because a web page can resolve its own host name to this machine and make a browser send requests here (DNS
      // rebinding).
      let problem = Problem(421, "the request is for another host; 127.0.0.1 or localhost is needed")
      response = problem.response(url: URL(filePath: "/"))
    }
    events.send(.answered("\(request.method.rawValue) \(target) → \(response.status)"))
    return Self.message(response, isCutOff: body.count > sizeLimit)
  }

  /// Delays a response by the configured latency.
  ///
  /// - Returns: `false` if the server stops in the meantime.
  private func waited() async -> Bool {
    guard latency > .zero else { return true }
    // Sleeping fails only if the task is cancelled.
    return (try? await Task.sleep(for: latency)) != nil
  }

  /// Returns the content of a request. If the content is too large, returns only its beginning, which also exceeds the limit.
  private func content(of request: FlyingFox.HTTPRequest) async throws -> Data {
    var (content, drained) = (Data(), 0)
    for try await part in request.bodySequence {
      if content.count <= sizeLimit {
        content.append(part)
      } else {
        drained += part.count
        if drained > Self.mostDrained { break }
      }
    }
    return content
  }

  /// Returns the path and the query of the request's target, which may also be a whole URL (RFC 9112, section 3.2.2).
  private static func target(of request: FlyingFox.HTTPRequest) -> String {
    let target = request.target.rawValue
    guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target }
    return target[scheme.upperBound...].firstIndex(of: "/").map { String(target[$0...]) } ?? "/"
  }

  /// The requested URL, or `nil` if its host is not this machine.
  private static func url(of request: FlyingFox.HTTPRequest, _ target: String) -> URL? {
    guard let host = request.headers[.host], target.hasPrefix("/"), let url = URL(string: "http://\(host)\(target)"),
      let name = url.host(percentEncoded: true)?.lowercased(), name == "127.0.0.1" || name == "localhost"
    else { return nil }
    return url
  }

  private static func message(_ response: StrataRemote.HTTPResponse, isCutOff: Bool) -> FlyingFox.HTTPResponse {
    var headers = FlyingFox.HTTPHeaders()
    for field in response.headers.fields { headers.addValue(field.value, for: HTTPHeader(field.name)) }
    let status = HTTPStatusCode(response.status, phrase: StatusPhrase.of(response.status))
    if isCutOff { headers[.connection] = "close" }
    guard response.status == 204 else {
      return FlyingFox.HTTPResponse(statusCode: status, headers: headers, body: response.body)
    }
    // A 204 has no Content-Length (RFC 9110, section 8.6). FlyingFox adds one to every response except protocol upgrades, so this
    // response is an upgrade to a protocol that sends nothing.
    headers[.connection] = "close"
    var message = FlyingFox.HTTPResponse(headers: headers, webSocket: Silence())
    message.statusCode = status
    return message
  }

  private struct Silence: WSHandler {
    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
      AsyncStream { $0.finish() }
    }
  }
}
