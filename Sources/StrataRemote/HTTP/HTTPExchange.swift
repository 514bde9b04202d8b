internal import Dispatch
internal import Foundation
internal import StrataCore

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
  private let worker: DispatchQueue
  private let state = Mutex(State())

  /// - Parameter worker: where the task is made, started and cancelled, which waits for a queue of the session. Where that reads a fast
  ///   answer, it waits long, and would keep the threads that all tasks of the process share; and whoever cancels may hold locks of the
  ///   runtime (swift-corelibs-foundation#5412).
  init(_ request: HTTPRequest, sizeLimit: Int, worker: DispatchQueue) {
    (self.request, self.sizeLimit, self.worker) = (request, sizeLimit, worker)
  }

  /// Makes the task and lets it run, unless the exchange has ended before.
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
    // Only a task that was started tells its end.
    if isOver { task.cancel() }
  }

  /// Ends the exchange when its time is over.
  private func watch(until end: ContinuousClock.Instant) async {
    #if canImport(FoundationNetworking)
      guard await redirectionEnds(until: end) else { return }
    #endif
    // Only cancellation ends the sleep early, and then there is nothing to do.
    guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
    finish(
      .failure(RemoteError(.timedOut, "the answer was not there in time; a faster one or a longer timeout is needed")))
  }

  #if canImport(FoundationNetworking)
    /// Looks after the content of a redirection, which the session keeps for itself and tells when it is whole, until another head is told.
    ///
    /// - Returns: whether there is anything left to wait for.
    private func redirectionEnds(until end: ContinuousClock.Instant) async -> Bool {
      var began: ContinuousClock.Instant?
      while ContinuousClock.now.duration(to: end) > Self.lookingInterval {
        // As in `watch`.
        guard (try? await Task.sleep(for: Self.lookingInterval)) != nil else { return false }
        let (task, isTold) = state.withLock { ($0.task, $0.response != nil || $0.outcome != nil) }
        if isTold { return true }
        let expected = task?.countOfBytesExpectedToReceive ?? 0
        // 0 is that of a task that has no head yet, and -1 that of content without a length.
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
    /// How long the content of a redirection may take, which nobody can count.
    private static let longestRedirection = Duration.seconds(3)
  #endif

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
    if let task = ended.task, case .failure = outcome { cancel(task) }
    ended.continuation?.resume(with: outcome)
  }

  private func cancel(_ task: URLSessionDataTask) { worker.async { task.cancel() } }

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
    if let length = announcedLength(of: head), length > sizeLimit { finish(.failure(tooLarge)) }
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
  ///
  /// - Parameter head: the head of the answer as the task has it. On Linux nothing else tells of a redirection that names no place, whose
  ///   content is lost.
  func complete(_ error: (any Error)?, head: URLResponse? = nil) {
    let isUntold = state.withLock { $0.response == nil && $0.outcome == nil }
    if error == nil, isUntold, let head { receive(head) }
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
    if !isUntold, let length = contentLength(of: response), response.body.count < length {
      return finish(.failure(RemoteError(.cutOff, "the answer is shorter than it says; the whole is needed")))
    }
    finish(.success(response))
  }

  private var tooLarge: RemoteError {
    RemoteError(.tooLarge, "the answer has more than \(sizeLimit) bytes; a smaller one or a greater limit is needed")
  }

  /// The number of bytes that the decoded content will have; `nil` where nothing says so (RFC 9110, section 8.6).
  private func contentLength(of response: HTTPResponse) -> Int? {
    response.headers["Content-Encoding"] == nil ? encodedLength(of: response) : nil
  }

  /// The number of bytes that the decoded content will have at least.
  private func announcedLength(of response: HTTPResponse) -> Int? {
    guard let length = encodedLength(of: response) else { return nil }
    // Coding makes content longer that cannot be made shorter: a head, and a few bytes for each block.
    return response.headers["Content-Encoding"] == nil ? length : length - length / 64 - 1024
  }

  private func encodedLength(of response: HTTPResponse) -> Int? {
    guard request.method != "HEAD", ![204, 304].contains(response.status), response.status >= 200,
      response.headers["Transfer-Encoding"] == nil, let text = response.headers["Content-Length"]
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
