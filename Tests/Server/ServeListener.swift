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

/// Takes requests at a port of 127.0.0.1, and hands them to a ``ResourceServer``, one after the other.
final class ServeListener: Sendable {
  /// How long answers that are under way may take once the server is to stop, and how long they are then on their way.
  private static let (grace, sending) = (Duration.seconds(2), 0.1)
  /// What is read of content that is too long, so that its sender can read the answer.
  private static let mostDrained = 64 << 20

  private let resources: Mutex<ResourceServer>
  /// The number of requests that are not answered yet.
  private let underWay = Mutex(0)
  private let sizeLimit: Int
  private let port: UInt16
  private let latency: Duration
  private let events: ServeEvents

  /// - Parameters:
  ///   - port: 0 for one that the system chooses.
  ///   - latency: how long each answer waits.
  init(_ server: ResourceServer, port: UInt16, latency: Duration, events: ServeEvents) {
    resources = Mutex(server)
    sizeLimit = server.options.sizeLimit
    (self.port, self.latency, self.events) = (port, latency, events)
  }

  /// Runs until its task is cancelled, and tells when it listens.
  ///
  /// - Throws: ``ServeError`` where it cannot listen at the port.
  func run() async throws {
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: port), timeout: 60 + latency / .seconds(1), pool: PromptSocketPool(),
      logger: .disabled,
      handler: ClosureHTTPHandler { try await self.answer($0) })
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        // A task of its own, which stops by `stop`, and not where it stands when this one is cancelled.
        let running = Task { try await server.run() }
        group.addTask { try await running.value }
        group.addTask {
          try await server.waitUntilListening(timeout: 600)
          if case .ip4(_, let port) = await server.listeningAddress { self.events.send(.listening(port)) }
          // Until it is cancelled.
          try await Task.sleep(for: .seconds(Double(Int32.max)))
        }
        group.addTask {
          // Ends by being cancelled, which is what is waited for.
          try? await Task.sleep(for: .seconds(Double(Int32.max)))
          // In a task that is cancelled, the answers under way would get no time.
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

  /// Stops once nothing is under way any more. FlyingFox would wait for all of a time, whether something is or not.
  private func stop(_ server: HTTPServer) async {
    let end = ContinuousClock.now + Self.grace
    while underWay.withLock({ $0 > 0 }), ContinuousClock.now < end {
      // Nobody cancels this task.
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
      // A page on the web can make a browser ask for anything under a name of its own that leads here.
      let problem = Problem(421, "the request is for another host; 127.0.0.1 or localhost is needed")
      response = problem.response(url: URL(filePath: "/"))
    }
    events.send(.answered("\(request.method.rawValue) \(target) → \(response.status)"))
    return Self.message(response, isCutOff: body.count > sizeLimit)
  }

  /// Waits as long as each answer does.
  ///
  /// - Returns: false where the server stops meanwhile.
  private func waited() async -> Bool {
    guard latency > .zero else { return true }
    // Sleeping fails only if the task is cancelled.
    return (try? await Task.sleep(for: latency)) != nil
  }

  /// The content of a request, or its beginning where it is too long, which is then longer than the limit.
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

  /// The path and the query, also of a target that is a whole URL (RFC 9112, section 3.2.2).
  private static func target(of request: FlyingFox.HTTPRequest) -> String {
    let target = request.target.rawValue
    guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target }
    return target[scheme.upperBound...].firstIndex(of: "/").map { String(target[$0...]) } ?? "/"
  }

  /// The URL that is asked for; `nil` where its host is none of this machine.
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
    // A 204 has no Content-Length (RFC 9110, section 8.6). FlyingFox gives one to all but a change of the protocol, so this is
    // one to a protocol in which nothing is said.
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
