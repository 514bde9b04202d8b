internal import Foundation
internal import StrataCore
internal import StrataRemote

/// Stores the responses to changes that have an `Idempotency-Key`, so that a repeated request is applied only once.
///
/// Failed requests are not remembered, because they changed nothing. The server forgets all responses when it stops, and the oldest one
/// whenever there are too many.
struct RepeatedRequests: Sendable {
  private static let most = 10_000

  private struct Known {
    let fingerprint: [UInt8]
    let response: HTTPResponse
  }

  private var known: [String: Known] = [:]
  private var keys: [String] = []

  /// The response to an earlier identical request, or `nil` if its key is new.
  ///
  /// - Throws: ``Problem`` if a different request used the key.
  func answer(to request: HTTPRequest) throws -> HTTPResponse? {
    guard let key = request.headers["Idempotency-Key"], let found = known[key] else { return nil }
    guard found.fingerprint == Self.fingerprint(of: request) else {
      throw Problem(422, "another request had the same Idempotency-Key; each change needs its own")
    }
    return found.response
  }

  /// Stores the response if the request has a key.
  mutating func note(_ response: HTTPResponse, to request: HTTPRequest) {
    guard let key = request.headers["Idempotency-Key"] else { return }
    known[key] = Known(fingerprint: Self.fingerprint(of: request), response: response)
    keys.append(key)
    if keys.count > Self.most { known[keys.removeFirst()] = nil }
  }

  /// A digest of the method, the URL and the content.
  private static func fingerprint(of request: HTTPRequest) -> [UInt8] {
    var bytes = Data("\(request.method) \(request.url.absoluteString)\n".utf8)
    bytes.append(request.body ?? Data())
    return SHA256.digest(of: bytes.bytes)
  }
}
