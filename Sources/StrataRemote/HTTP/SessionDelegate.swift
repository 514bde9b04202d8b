internal import Dispatch
internal import Foundation
internal import StrataCore

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// Hands what the session says to the exchange that it is about. The session keeps it until it is invalidated, so it keeps nothing but the
/// exchanges that run.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let exchanges = Mutex<[Int: HTTPExchange]>([:])
  /// Where all is done that waits for a queue of the session. It has a thread of its own.
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
    // What is not wanted is cancelled, since the disposition means nothing on Linux.
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.complete(error, head: task.response)
  }

  /// Nobody is asked who it is: the 401 is the answer.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // Comes after the whole answer, and without a credential the default handling never ends the task.
      exchange(of: task)?.complete(nil)
      // It waits for the queue of the session, which makes this call.
      worker.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  /// Never by the session, which would send all headers along: the redirection is the answer, and the transport follows it.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }
}
