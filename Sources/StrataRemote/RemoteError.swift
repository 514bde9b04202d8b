public import Foundation
internal import StrataStore

/// An error that occurred while synchronizing entities with a server.
///
/// Messages can contain the names of entities and columns, HTTP methods and URLs, but never property values, URL
/// queries or headers.
public struct RemoteError: Error, Sendable {
  /// The kind of failure. The codes are part of the API, but the text of ``description`` may change between releases.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The mappers do not match the models or the tables, as checked when a ``RemoteStore`` is created, or a request
    /// has an invalid URL or invalid headers.
    case invalidConfiguration
    /// The server could not be reached.
    case notConnected
    /// No complete response arrived within the timeout.
    case timedOut
    /// The connection ended before the response was complete, or the response is shorter than its `Content-Length`.
    case cutOff
    /// The response is larger than ``RemoteConfiguration/sizeLimit``, or a list has more pages than
    /// ``RemoteConfiguration/pageLimit``.
    case tooLarge
    /// The response is not an HTTP response, violates an HTTP rule, or links to a next page that must not be requested.
    case invalidResponse
    /// The server redirected the request, but the redirection was not followed. For example, there were too many
    /// redirections, the new URL uses `http` instead of `https`, or a request with this method must not be redirected.
    case redirected
    /// The server requires valid authentication (401), or a closure that provides the authentication failed.
    case unauthorized
    /// The server forbids the request (403).
    case forbidden
    /// The resource does not exist (404, 410).
    case notFound
    /// The server refused the request (any other 4xx status), or the library cannot create a request for the change.
    case refused
    /// The record has been changed on the server since it was last fetched (409, 412).
    case conflict
    /// The server failed or asked the client to try again later (408, 425, 429, 5xx). The automatic retries, if any,
    /// failed too.
    case unavailable
    /// The body of the response does not have the form that the mapper expects: it is not JSON, does not contain the
    /// entity, or contains a record without an id.
    case invalidBody
    /// The server reported success for a change, but the record in its response does not contain the change.
    case notApplied
    /// The response to the creation of a record was lost, and the library cannot ask the server whether it has created
    /// the record.
    case uncertain
    /// While the call was running, ``RemoteStore/use(account:)`` changed the account, or
    /// ``RemoteStore/reset(discardingChanges:)`` removed all rows.
    case accountChanged
    /// The database or a validation rule of a model rejected the data, or the stored data does not allow the operation.
    /// If there are details, they are in ``RemoteError/underlyingError``.
    case store
  }

  /// The kind of failure. Test this property to handle specific errors.
  public let code: Code
  /// A description of the problem and a suggested solution. ``description`` adds the entity, the request, the status
  /// and the underlying error.
  public let reason: String
  /// The name of the entity, or `nil` if the error is not about a specific entity.
  public internal(set) var entity: String?
  /// The HTTP method of the request, or `nil` if there was no request.
  public internal(set) var method: String?
  /// The URL of the request, or `nil` if there was no request. The user, password, query and fragment are removed,
  /// because they may be private.
  public internal(set) var url: String?
  /// The HTTP status of the response, or `nil` if there was no response.
  public let status: Int?
  /// The first 64 KiB of the body of an error response, which often names the invalid field. ``description`` does not
  /// contain the body, because it may include the user's values.
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

  /// Returns a copy of the error with the given entity, method and URL. Details that the error already has are kept.
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
