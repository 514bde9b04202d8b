internal import Dispatch
internal import Foundation
internal import StrataCore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Forwards the callbacks of a `URLSession` to the exchange of each task. The delegate retains an exchange only while
/// the exchange is running, because the session retains the delegate until the session is invalidated.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let exchanges = Mutex<[Int: HTTPExchange]>([:])
  /// The queue for calls to the session that can block while they wait for the session's internal queue.
  let worker = DispatchQueue(label: "StrataRemote.SessionDelegate.worker")

  var count: Int { exchanges.withLock { $0.count } }

  func add(_ exchange: HTTPExchange, for task: URLSessionTask) {
    exchanges.withLock { $0[task.taskIdentifier] = exchange }
  }

  func failAll(_ error: RemoteError) {
    let running = exchanges.withLock { exchanges in
      defer { exchanges = [:] }
      return exchanges
    }
    for exchange in running.values { exchange.finish(.failure(error)) }
  }

  private func exchange(of task: URLSessionTask) -> HTTPExchange? { exchanges.withLock { $0[task.taskIdentifier] } }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    exchange(of: dataTask)?.receive(response)
    // On Linux, the disposition has no effect. The content is therefore always allowed, and the exchange cancels the
    // task if the content is unwanted.
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.complete(error, head: task.response)
  }

  /// Provides no credential for an authentication challenge, so that the response with the status 401 is delivered.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // On Linux, this method is called after the whole response has arrived. The exchange ends here, because without a
      // credential, the default handling of a challenge would never end the task.
      exchange(of: task)?.complete(nil)
      // The completion handler waits for the session's queue. This method runs on that queue, so the handler would
      // block forever if it were called here.
      worker.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  /// Refuses every redirection, because the session would send all headers to the new URL. The redirection is delivered
  /// as the response instead, and the transport follows it with a new request.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }
}
