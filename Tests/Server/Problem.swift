internal import Foundation
internal import StrataCore
internal import StrataRemote

/// An error that tells the client why its request cannot be fulfilled (RFC 9457).
struct Problem: Error {
  let status: Int
  /// Describes the problem, followed by the remedy.
  let detail: String
  var headers: HTTPHeaders = [:]

  init(_ status: Int, _ detail: String, headers: HTTPHeaders = [:]) {
    (self.status, self.detail, self.headers) = (status, detail, headers)
  }

  /// Creates the problem for an error. An unknown error is a server error.
  init(_ error: any Error) {
    if let problem = error as? Problem {
      self = problem
    } else {
      self.init(500, ServeError.message(of: error))
    }
  }

  /// The response with the type `application/problem+json`.
  func response(url: URL) -> HTTPResponse {
    var headers = headers
    headers["Content-Type"] = "application/problem+json"
    let body: ArchiveValue = [
      "type": "about:blank", "title": .string(StatusPhrase.of(status)), "status": .int(Int64(status)),
      "detail": .string(detail),
    ]
    // Writing cannot fail, because the body contains only texts and a number.
    return HTTPResponse(status, headers: headers, body: (try? JSONWriter().write(body)) ?? Data(), url: url)
  }
}
