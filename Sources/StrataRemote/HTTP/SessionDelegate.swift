internal import Dispatch
internal import Foundation
internal import StrataCore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Forwards the callbacks of the session's tasks to their exchanges. The delegate holds only running exchanges, because
/// the session retains the delegate until the session is invalidated.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let exchanges = Mutex<[Int: HTTPExchange]>([:])
  /// The queue for calls that can block because they wait for an internal queue of the session.
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
    // The disposition has no effect on Linux, so the exchange cancels the task if the content is unwanted.
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.complete(error, head: task.response)
  }

  /// Provides no credential for an authentication challenge. The 401 is delivered as the response.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // On Linux, this method is called after the whole response has arrived. Without a credential, the default
      // handling never ends the task.
      exchange(of: task)?.complete(nil)
      // The handler would block here, because it waits for the session's queue, on which this method is called.
      worker.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  /// Refuses every redirection, because the session would send all headers to the new URL. The redirection is delivered
  /// as the response, and the transport follows it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }
}
