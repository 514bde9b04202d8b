import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import Recipes

/// Sends requests to the routes of orders without a socket. HummingbirdTesting would do the same, but it would also compile an HTTP
/// client and TLS.
struct TestServer: Sendable {
  struct Answer {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: ByteBuffer
  }

  private let responder: any HTTPResponder<ModelContext>

  init() { responder = orderRoutes(Orders()).buildResponder() }

  func executeRequest(
    uri: String, method: HTTPRequest.Method, headers: HTTPFields, body: ByteBuffer?
  ) async throws -> Answer {
    var headers = headers
    headers[.contentLength] = body.map { String($0.readableBytes) }
    let head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: uri, headerFields: headers)
    let request = Request(head: head, body: RequestBody(buffer: body ?? ByteBuffer()))
    let source = ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test"))
    let response = try await responder.respond(to: request, context: ModelContext(source: source))
    let writer = Writer()
    try await response.body.write(writer)
    return Answer(status: response.status, headers: response.headers, body: writer.body.withLock { $0 })
  }

  private final class Writer: ResponseBodyWriter {
    let body = Mutex(ByteBuffer())

    func write(_ buffer: ByteBuffer) async throws { body.withLock { _ = $0.writeImmutableBuffer(buffer) } }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
  }
}
