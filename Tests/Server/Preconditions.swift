internal import Foundation
internal import StrataRemote

/// The preconditions of a request, and their outcome (RFC 9110, section 13).
struct Preconditions {
  enum Outcome {
    case hold
    /// The server responds with 304.
    case notModified
    /// The server responds with 412.
    case fail
  }

  /// The state of the resource before the request.
  struct State {
    let tag: EntityTag
    /// The time of the last change, or `nil` if the resource is a list, for which this time is unknown.
    let modified: Date?
  }

  let headers: HTTPHeaders
  /// Whether the request only reads.
  let isReading: Bool
  let now: Date

  init(_ request: HTTPRequest, now: Date) {
    headers = request.headers
    isReading = request.method == "GET" || request.method == "HEAD"
    self.now = now
  }

  var isEmpty: Bool {
    !["If-Match", "If-Unmodified-Since", "If-None-Match", "If-Modified-Since"].contains { headers[$0] != nil }
  }

  /// Evaluates the preconditions in the order of section 13.2.2.
  ///
  /// - Parameter state: the state of the resource, or `nil` if it does not exist.
  func outcome(_ state: State?) -> Outcome {
    if let field = headers["If-Match"] {
      guard matches(field, state, { $0.matchesStrongly($1) }) else { return .fail }
    } else if let modified = state?.modified, let date = date("If-Unmodified-Since"), whole(modified) > date {
      return .fail
    }
    if let field = headers["If-None-Match"] {
      guard matches(field, state, { $0.matchesWeakly($1) }) else { return .hold }
      return isReading ? .notModified : .fail
    }
    if isReading, let modified = state?.modified, let date = date("If-Modified-Since"),
      whole(modified) <= date
    {
      return .notModified
    }
    return .hold
  }

  private func matches(_ field: String, _ state: State?, _ isSame: (EntityTag, EntityTag) -> Bool) -> Bool {
    guard let state else { return false }
    return switch EntityTag.Condition(field) {
    case .any: true
    case .tags(let tags): tags.contains { isSame($0, state.tag) }
    }
  }

  /// Parses a date. Invalid dates are ignored (sections 13.1.3 and 13.1.4).
  private func date(_ name: String) -> Date? { headers[name].flatMap { HTTPDate($0, now: now)?.date } }

  /// Truncates a date to seconds, the precision of dates in headers.
  private func whole(_ date: Date) -> Date { Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)) }
}
