public import Foundation
internal import StrataStore

/// An error that occurred while synchronizing entities with a server.
///
/// Messages contain entities, methods, URL paths and columns, but never values, queries or headers.
public struct RemoteError: Error, Sendable {
  /// The kind of failure. The codes are part of the API, but the text of ``description`` may change between releases.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The mappers do not match the models or the tables. This is found when a ``RemoteStore`` is created. Also the
    /// code of a request whose URL or headers are invalid.
    case invalidConfiguration
    /// The server could not be reached.
    case notConnected
    /// No complete response arrived within the timeout.
    case timedOut
    /// The connection ended before the response was complete, or the response is shorter than its `Content-Length`.
    case cutOff
    /// The response is larger than the limit.
    case tooLarge
    /// The response is not an HTTP response, or violates a rule of HTTP.
    case invalidResponse
    /// The server's redirection is not followed, for example because there are too many redirections, because the
    /// scheme changes to `http`, or because a request with this method must not be redirected.
    case redirected
    /// The server requires authentication (401), and no other token is available.
    case unauthorized
    /// The server forbids the request (403).
    case forbidden
    /// The resource does not exist (404, 410).
    case notFound
    /// The server refuses the request (any other 4xx status).
    case refused
    /// The record has been changed on the server since it was last fetched (409, 412).
    case conflict
    /// The server failed, or asks the client to try again later (408, 425, 429, 5xx), and there are no more retries.
    case unavailable
    /// The body of the response cannot be read with the mapper: it is not JSON, does not contain the entity, or
    /// contains a record without an id.
    case invalidBody
    /// The server reported success for a change, but the record in its response does not contain the change.
    case notApplied
    /// The response to the creation of a record was lost, and the server cannot be asked whether it has created the
    /// record.
    case uncertain
    /// The account was changed with ``RemoteStore/use(account:)`` while the call was running.
    case accountChanged
    /// The database, or a validation rule of a model, rejected the data. ``RemoteError/underlyingError`` has the
    /// details.
    case store
  }

  /// The kind of failure, which a program can test.
  public let code: Code
  /// The problem and the remedy. ``description`` also contains the entity, the request, the status and the
  /// cause.
  public let reason: String
  /// The name of the entity, or `nil` if the error does not concern an entity.
  public internal(set) var entity: String?
  /// The method of the request, or `nil` if there was no request.
  public internal(set) var method: String?
  /// The URL of the request, or `nil` if there was no request. The user, password, query and fragment are removed,
  /// because they may be private.
  public internal(set) var url: String?
  /// The HTTP status of the response, or `nil` if there was no response.
  public let status: Int?
  /// The first 64 KiB of the response's body, which often names the invalid field. ``description`` does not contain
  /// them, because they may include the user's values.
  public internal(set) var body: Data?
  /// The delay that the server requests with `Retry-After`, or `nil` if the response does not have that field.
  public internal(set) var retryAfter: Duration?
  /// The error that caused this error.
  public let underlyingError: (any Error)?

  /// Creates an error, for use in a custom ``HTTPTransport``.
  public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
    self.init(code, reason, entity: nil, underlying: underlying)
  }

  init(
    _ code: Code, _ reason: String, entity: String? = nil, method: String? = nil, url: URL? = nil, status: Int? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.entity = entity
    self.method = method
    self.url = url.map(Self.shown)
    self.status = status
    underlyingError = underlying
  }

  /// Returns the URL without user, password, query and fragment, because these parts may be private.
  static func shown(_ url: URL) -> String {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url.path }
    (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
    return parts.string ?? url.path
  }

  /// Returns a copy of the error. Details that the error does not have yet are set to the given values.
  func located(entity: String? = nil, method: String? = nil, url: URL? = nil) -> RemoteError {
    var error = self
    error.entity = self.entity ?? entity
    error.method = self.method ?? method
    error.url = self.url ?? url.map(Self.shown)
    return error
  }
}

extension RemoteError: CustomStringConvertible, LocalizedError {
  /// One line with the problem, the remedy, the entity, the request and the cause. The wording may change between
  /// releases.
  public var description: String {
    var place: [String] = []
    if let entity { place.append(entity) }
    if let url { place.append([method, url].compactMap(\.self).joined(separator: " ")) }
    if let status { place.append("status \(status)") }
    var text = reason
    if !place.isEmpty { text += " (\(place.joined(separator: ", ")))" }
    if let underlyingError { text += ": \(Self.wording(of: underlyingError))" }
    return text
  }

  public var errorDescription: String? { description }

  /// Returns the message of the error that caused this error. For an error of `URLSession`, this is the message of the
  /// innermost underlying error, without the values in its `userInfo`, which may be private.
  private static func wording(of error: any Error) -> String {
    var cause = error as NSError
    guard cause.domain == NSURLErrorDomain else { return StoreError.wording(of: error) }
    while let inner = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = inner }
    return cause.localizedDescription
  }
}
