public import Foundation
internal import StrataStore

/// What went wrong between the entities here and a server, and where.
///
/// Messages name entities, methods, paths of URLs and columns; never values, queries or headers.
public struct RemoteError: Error, Sendable {
  /// The kind of failure. ``description`` words it; only the code is part of the interface.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// Mappers, models and tables do not fit together; found when the configuration is checked.
    case invalidConfiguration
    /// The server could not be reached.
    case notConnected
    /// The time for an answer ran out.
    case timedOut
    /// The connection ended before the answer did, or the answer is shorter than it says.
    case cutOff
    /// The answer is larger than the limit.
    case tooLarge
    /// The answer is no HTTP, or breaks a rule of it.
    case invalidResponse
    /// The server redirects where no request may follow: in a cycle, too often, or with a method that must not be repeated.
    case redirected
    /// The server asks who it is (401), and the authentication has no better answer.
    case unauthorized
    /// The server forbids it (403).
    case forbidden
    /// There is no such resource (404, 410).
    case notFound
    /// The server refuses the request (another 4xx).
    case refused
    /// The record has changed at the server since (409, 412).
    case conflict
    /// The server failed, or asks to try later (408, 425, 429, 5xx), and all retries are used up.
    case unavailable
    /// The body is not what the mapper reads: no JSON, no such entity inside, a record without its id.
    case invalidBody
    /// The server says that it took a change, and its record does not have it.
    case notApplied
    /// The answer to a new record was lost, and the server cannot be asked whether it has the record.
    case uncertain
    /// The account was changed while it ran.
    case accountChanged
    /// The database refused, or a rule of a model did; the cause says why.
    case store
  }

  /// The kind of failure.
  public let code: Code
  /// What is wrong, and then what would be right, without entity, request, status and cause, which ``description`` adds.
  public let reason: String
  /// The name of the entity; `nil` where the error is of none.
  public internal(set) var entity: String?
  /// The method of the request; `nil` where there was none.
  public internal(set) var method: String?
  /// The URL of the request, without its query and fragment; `nil` where there was none.
  public internal(set) var url: String?
  /// The status of the answer; `nil` where there was none.
  public let status: Int?
  /// The first 64 KiB of the body of the answer, which often names the field that is wrong. It may contain values of the user, so
  /// ``description`` does not contain it.
  public internal(set) var body: Data?
  /// The wait that the server asks for with `Retry-After`; `nil` if it does not.
  public internal(set) var retryAfter: Duration?
  /// What caused it.
  public let underlyingError: (any Error)?

  /// An error as a transport of your own throws it.
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

  /// A URL without what may be private in it: user, query and fragment.
  static func shown(_ url: URL) -> String {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url.path }
    (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
    return parts.string ?? url.path
  }

  /// The same error with what it lacks.
  func located(entity: String? = nil, method: String? = nil, url: URL? = nil) -> RemoteError {
    var error = self
    error.entity = self.entity ?? entity
    error.method = self.method ?? method
    error.url = self.url ?? url.map(Self.shown)
    return error
  }
}

extension RemoteError: CustomStringConvertible, LocalizedError {
  /// One line: what is wrong, where, and what would be right. The wording may change between releases.
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

  /// What a cause says; of an error of a session what is innermost, without the values that it carries.
  private static func wording(of error: any Error) -> String {
    var cause = error as NSError
    guard cause.domain == NSURLErrorDomain else { return StoreError.wording(of: error) }
    while let inner = cause.userInfo[NSUnderlyingErrorKey] as? NSError { cause = inner }
    return cause.localizedDescription
  }
}
