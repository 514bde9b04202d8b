internal import Dispatch
internal import Foundation
internal import StrataCore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A request in flight, with the part of the response received so far. An exchange ends exactly once: with the
/// response, an error, a timeout, or cancellation.
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
  private let worker: DispatchQueue
  private let state = Mutex(State())

  /// - Parameter worker: the queue on which the session's task is created, started and cancelled. These calls can block
  ///   for a long time while the session reads a fast response (swift-corelibs-foundation#5412). On a separate queue,
  ///   they do not block the shared threads of the Swift concurrency runtime. They also never run on the thread that
  ///   cancels the caller's task, because that thread can hold locks of the runtime.
  init(_ request: HTTPRequest, sizeLimit: Int, worker: DispatchQueue) {
    (self.request, self.sizeLimit, self.worker) = (request, sizeLimit, worker)
  }

  /// Creates and starts the session's task, unless the exchange has already ended.
  func start(
    _ continuation: CheckedContinuation<HTTPResponse, any Error>, timeout: Duration,
    task make: @escaping @Sendable () throws -> URLSessionDataTask
  ) {
    let end = ContinuousClock.now.advanced(by: timeout)
    let early = state.withLock { state -> Result<HTTPResponse, any Error>? in
      if let outcome = state.outcome { return outcome }
      state.continuation = continuation
      state.timer = Task { await self.watch(until: end) }
      return nil
    }
    if let early { return continuation.resume(with: early) }
    worker.async { self.run(make) }
  }

  private func run(_ make: () throws -> URLSessionDataTask) {
    guard state.withLock({ $0.outcome == nil }) else { return }
    let task: URLSessionDataTask
    do { task = try make() } catch { return finish(.failure(error)) }
    let isOver = state.withLock {
      if $0.outcome == nil { $0.task = task }
      return $0.outcome != nil
    }
    task.resume()
    // The task is started even if it is cancelled immediately, because a session reports the end of a task only if the
    // task was started.
    if isOver { task.cancel() }
  }

  /// Ends the exchange with the error `timedOut` if it is still running at the given time.
  private func watch(until end: ContinuousClock.Instant) async {
    #if canImport(FoundationNetworking)
      guard await redirectionEnds(until: end) else { return }
    #endif
    // The sleep ends early only if this task is cancelled, because the exchange has ended.
    guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
    finish(
      .failure(
        RemoteError(
          .timedOut, "the server did not send a complete response in time; try again, or increase the timeout")))
  }

  #if canImport(FoundationNetworking)
    /// Ends the exchange if the content of a redirection is too large or takes too long. On Linux, this check is needed
    /// because the session collects that content in memory and reports it only when it is complete.
    ///
    /// - Returns: `true` if the caller must still enforce the timeout.
    private func redirectionEnds(until end: ContinuousClock.Instant) async -> Bool {
      var began: ContinuousClock.Instant?
      while ContinuousClock.now.duration(to: end) > Self.lookingInterval {
        // The sleep ends early only if this task is cancelled, because the exchange has ended.
        guard (try? await Task.sleep(for: Self.lookingInterval)) != nil else { return false }
        let (task, isTold) = state.withLock { ($0.task, $0.response != nil || $0.outcome != nil) }
        if isTold { return true }
        let expected = task?.countOfBytesExpectedToReceive ?? 0
        // The expected number of bytes is 0 until the head of a response has arrived, and -1 if the response announces
        // no length.
        guard expected != 0 else { continue }
        let start = began ?? .now
        began = start
        guard expected <= Int64(sizeLimit), start.duration(to: .now) < Self.longestRedirection else {
          finish(.failure(tooLarge))
          return false
        }
      }
      return true
    }

    private static let lookingInterval = Duration.milliseconds(100)
    /// The maximum time for receiving the content of a redirection. The time is limited because the size of that
    /// content cannot be checked while it arrives.
    private static let longestRedirection = Duration.seconds(3)
  #endif

  /// Ends the exchange with a response or an error. If the exchange has already ended, nothing happens.
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
    if let task = ended.task, case .failure = outcome { cancel(task) }
    ended.continuation?.resume(with: outcome)
  }

  private func cancel(_ task: URLSessionDataTask) { worker.async { task.cancel() } }

  func receive(_ response: URLResponse) {
    guard let http = response as? HTTPURLResponse else {
      return finish(
        .failure(RemoteError(.invalidResponse, "the response is not an HTTP response; check the server URL")))
    }
    var headers = HTTPHeaders()
    for (name, value) in http.allHeaderFields {
      if let name = name.base as? String, let value = value as? String { headers.add(name, value) }
    }
    let head = HTTPResponse(http.statusCode, headers: headers, url: http.url ?? request.url)
    state.withLock { if $0.outcome == nil { $0.response = head } }
    // If the announced length already exceeds the limit, none of the content is read.
    if let length = announcedLength(of: head), length > sizeLimit { finish(.failure(tooLarge)) }
  }

  func receive(_ data: Data) {
    let isTooLarge = state.withLock {
      guard let count = $0.response?.body.count else { return false }
      guard data.count <= sizeLimit - count else { return true }
      $0.response?.body.append(data)
      return false
    }
    if isTooLarge { finish(.failure(tooLarge)) }
  }

  /// Ends the exchange after the session's task has ended.
  ///
  /// - Parameter head: the head of the response, as the session's task reports it when it ends. On Linux, the head of a
  ///   redirection without `Location` is reported only here, and its content is lost.
  func complete(_ error: (any Error)?, head: URLResponse? = nil) {
    let hasNoResponse = state.withLock { $0.response == nil && $0.outcome == nil }
    if error == nil, hasNoResponse, let head { receive(head) }
    let response = state.withLock { $0.response }
    if let error { return finish(.failure(RemoteError(transport: error, hasHead: response != nil))) }
    guard let response else {
      return finish(
        .failure(RemoteError(.invalidResponse, "the response is not an HTTP response; check the server URL")))
    }
    guard 100...599 ~= response.status else {
      return finish(.failure(RemoteError(.invalidResponse, "the response's status is not between 100 and 599")))
    }
    guard hasValidLength(response) else {
      return finish(.failure(RemoteError(.invalidResponse, "the response's Content-Length is not a whole number")))
    }
    if !hasNoResponse, let length = contentLength(of: response), response.body.count < length {
      return finish(.failure(RemoteError(.cutOff, "the response is shorter than its Content-Length; try again")))
    }
    finish(.success(response))
  }

  private var tooLarge: RemoteError {
    RemoteError(.tooLarge, "the response is larger than \(sizeLimit) bytes; request less data, or raise the size limit")
  }

  /// The exact number of bytes of the decoded content, or `nil` if the headers do not specify it (RFC 9110, section
  /// 8.6).
  private func contentLength(of response: HTTPResponse) -> Int? {
    response.headers["Content-Encoding"] == nil ? encodedLength(of: response) : nil
  }

  /// The smallest number of bytes that the decoded content can have, or `nil` if the response specifies no length.
  private func announcedLength(of response: HTTPResponse) -> Int? {
    guard let length = encodedLength(of: response) else { return nil }
    // The decoded content can be shorter than the encoded content, because encoding adds a header and a few bytes for
    // each block of incompressible content.
    return response.headers["Content-Encoding"] == nil ? length : length - length / 64 - 1024
  }

  private func encodedLength(of response: HTTPResponse) -> Int? {
    guard request.method != "HEAD", ![204, 304].contains(response.status), response.status >= 200,
      response.headers["Transfer-Encoding"] == nil, let text = response.headers["Content-Length"]
    else { return nil }
    return Self.length(text)
  }

  /// Whether `Content-Length` is absent, ignored because of `Transfer-Encoding`, or a single number. If it is invalid,
  /// the response must be refused, because it is unknown where its content ends (RFC 9112, section 6.3).
  private func hasValidLength(_ response: HTTPResponse) -> Bool {
    guard response.headers["Transfer-Encoding"] == nil, let text = response.headers["Content-Length"] else {
      return true
    }
    return Self.length(text) != nil
  }

  /// Returns the number in the value of `Content-Length`, or `nil` if the value is invalid. A list of equal numbers is
  /// treated as one number.
  private static func length(_ text: String) -> Int? {
    let lengths = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    return lengths.count == 1 ? lengths.first.flatMap(HTTPFieldParser.seconds) : nil
  }
}
