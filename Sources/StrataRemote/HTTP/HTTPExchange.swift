internal import Dispatch
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// One request on its way, and what has come of its answer. It ends once: with the answer, an error, the end of its time, or cancellation.
final class HTTPExchange: Sendable {
  private struct State {
    var continuation: CheckedContinuation<HTTPResponse, any Error>?
    var outcome: Result<HTTPResponse, any Error>?
    var response: HTTPResponse?
    var task: URLSessionDataTask?
    var timer: Task<Void, Never>?
  }

  private let request: HTTPRequest
  private let sizeLimit: Int
  private let state = Mutex(State())

  init(_ request: HTTPRequest, sizeLimit: Int) { (self.request, self.sizeLimit) = (request, sizeLimit) }

  /// Makes the task and lets it run, unless the exchange has ended before.
  func start(
    _ continuation: CheckedContinuation<HTTPResponse, any Error>, timeout: Duration,
    task make: () throws -> URLSessionDataTask
  ) {
    let early = state.withLock {
      if $0.outcome == nil { $0.continuation = continuation }
      return $0.outcome
    }
    if let early { return continuation.resume(with: early) }
    let task: URLSessionDataTask
    do { task = try make() } catch { return finish(.failure(error)) }
    let timer = Task {
      // Only cancellation ends the sleep early, and then there is nothing to do.
      guard (try? await Task.sleep(for: timeout)) != nil else { return }
      finish(
        .failure(RemoteError(.timedOut, "the answer was not there in time; a faster one or a longer timeout is needed"))
      )
    }
    let isOver = state.withLock {
      guard $0.outcome == nil else { return true }
      ($0.task, $0.timer) = (task, timer)
      return false
    }
    task.resume()
    if isOver {
      timer.cancel()
      Self.cancel(task)
    }
  }

  /// Ends the exchange; later calls change nothing.
  func finish(_ outcome: Result<HTTPResponse, any Error>) {
    let ended = state.withLock { state -> State? in
      guard state.outcome == nil else { return nil }
      let ended = state
      state = State()
      state.outcome = outcome
      return ended
    }
    guard let ended else { return }
    ended.timer?.cancel()
    if let task = ended.task, case .failure = outcome { Self.cancel(task) }
    ended.continuation?.resume(with: outcome)
  }

  /// Elsewhere, because cancelling waits for a queue of the session, and this may run with locks of the runtime held
  /// (swift-corelibs-foundation#5412).
  private static func cancel(_ task: URLSessionDataTask) { DispatchQueue.global().async { task.cancel() } }

  /// The head of the answer is there.
  func receive(_ response: URLResponse) {
    guard let http = response as? HTTPURLResponse else {
      return finish(.failure(RemoteError(.invalidResponse, "the answer is no HTTP; one of HTTP is needed")))
    }
    var headers = HTTPHeaders()
    for (name, value) in http.allHeaderFields {
      if let name = name.base as? String, let value = value as? String { headers.add(name, value) }
    }
    let head = HTTPResponse(http.statusCode, headers: headers, url: http.url ?? request.url)
    state.withLock { if $0.outcome == nil { $0.response = head } }
    // No need to read what is announced as too much.
    if let length = contentLength(of: head), length > sizeLimit { finish(.failure(tooLarge)) }
  }

  /// A part of the content is there.
  func receive(_ data: Data) {
    let isTooLarge = state.withLock {
      guard let count = $0.response?.body.count else { return false }
      guard data.count <= sizeLimit - count else { return true }
      $0.response?.body.append(data)
      return false
    }
    if isTooLarge { finish(.failure(tooLarge)) }
  }

  /// The task of the session is over.
  func complete(_ error: (any Error)?) {
    let response = state.withLock { $0.response }
    if let error { return finish(.failure(RemoteError(transport: error, hasHead: response != nil))) }
    guard let response else {
      return finish(.failure(RemoteError(.invalidResponse, "the answer is no HTTP; one of HTTP is needed")))
    }
    guard 100...599 ~= response.status else {
      return finish(.failure(RemoteError(.invalidResponse, "the status of the answer is none of HTTP; 100 to 599 are")))
    }
    guard hasValidLength(response) else {
      return finish(.failure(RemoteError(.invalidResponse, "the length of the answer is no number; digits are needed")))
    }
    if let length = contentLength(of: response), response.body.count < length {
      return finish(.failure(RemoteError(.cutOff, "the answer is shorter than it says; the whole is needed")))
    }
    finish(.success(response))
  }

  private var tooLarge: RemoteError {
    RemoteError(.tooLarge, "the answer has more than \(sizeLimit) bytes; a smaller one or a greater limit is needed")
  }

  /// The number of bytes that the content will have; `nil` where nothing says so (RFC 9110, section 8.6).
  private func contentLength(of response: HTTPResponse) -> Int? {
    guard request.method != "HEAD", ![204, 304].contains(response.status), response.status >= 200,
      response.headers["Content-Encoding"] == nil, response.headers["Transfer-Encoding"] == nil,
      let text = response.headers["Content-Length"]
    else { return nil }
    return Self.length(text)
  }

  /// Whether `Content-Length` is one number, without which nobody knows where the content ends (RFC 9112, section 6.3).
  private func hasValidLength(_ response: HTTPResponse) -> Bool {
    guard response.headers["Transfer-Encoding"] == nil, let text = response.headers["Content-Length"] else {
      return true
    }
    return Self.length(text) != nil
  }

  /// A list of equal numbers counts as one of them.
  private static func length(_ text: String) -> Int? {
    let lengths = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    return lengths.count == 1 ? lengths.first.flatMap(HTTPFieldParser.seconds) : nil
  }
}
