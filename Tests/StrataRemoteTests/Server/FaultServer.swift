import FlyingFox
import FlyingSocks
import Foundation
import StrataCore
import StrataTestSupport

/// A FlyingFox server on 127.0.0.1 that follows the rules of HTTP and gets its responses from a closure. ``RawServer`` can break the rules.
final class FaultServer: Sendable {
  /// A received request.
  struct Request: Sendable {
    let method: String
    let path: String
    let headers: [String: String]
    let body: Data
    /// The number of the request on this server, from 1.
    let number: Int

    subscript(name: String) -> String? { headers[name.lowercased()] }
  }

  /// The response to send.
  struct Answer: Sendable {
    var status = 200
    var headers: [String: String] = [:]
    var body = Data()
  }

  struct Failure: Error {}

  let port: UInt16
  private let task: Task<Void, any Error>
  private let seen: Log

  private final class Log: Sendable {
    let requests = Mutex<[Request]>([])
  }

  /// The requests received so far, in order of arrival.
  var requests: [Request] { seen.requests.withLock { $0 } }

  func url(_ path: String = "/") throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw Failure() }
    return url
  }

  init(_ answer: @Sendable @escaping (Request) async throws -> Answer) async throws {
    let log = Log()
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: 0), timeout: 1200, logger: .disabled,
      handler: ClosureHTTPHandler { request in
        let body = try await request.bodyData
        var headers: [String: String] = [:]
        for (name, value) in request.headers { headers[name.rawValue.lowercased()] = value }
        let seen = log.requests.withLock {
          let seen = Request(
            method: request.method.rawValue, path: request.path, headers: headers, body: body, number: $0.count + 1)
          $0.append(seen)
          return seen
        }
        let answer = try await answer(seen)
        var fields = HTTPHeaders()
        for (name, value) in answer.headers { fields[HTTPHeader(name)] = value }
        return HTTPResponse(statusCode: HTTPStatusCode(answer.status, phrase: "x"), headers: fields, body: answer.body)
      })
    seen = log
    task = Task { try await server.run() }
    try await server.waitUntilListening(timeout: 600)
    guard case .ip4(_, let port) = await server.listeningAddress else { throw Failure() }
    self.port = port
  }

  /// Closes all connections.
  func stop() { task.cancel() }

  deinit { task.cancel() }
}
