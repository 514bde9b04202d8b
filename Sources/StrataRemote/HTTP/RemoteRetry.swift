internal import Foundation

/// How often a request is tried, and how long is waited in between.
///
/// Tried again is what may be sent twice: GET, HEAD, PUT, DELETE, and every request with an `Idempotency-Key`; after the codes `notConnected`,
/// `timedOut` and `cutOff`, and after the statuses 429 and 5xx without 501. After 429, any other request is tried again, too. A change of a record is
/// tried again only if it can be repeated (Docs/Refresh.md, Sending). The wait is drawn at random between 0 and a bound that
/// doubles with each attempt, so that many clients do not come back at the same moment.
public struct RemoteRetry: Sendable, Hashable {
  /// How often a request is sent in all; a number below 1 counts as 1. The repeat with a renewed token is not counted.
  public var attempts: Int
  /// The bound of the first wait.
  public var baseDelay: Duration
  /// The greatest wait. A server that asks for a longer one with `Retry-After` is not asked again: the error is `unavailable`.
  public var maximumDelay: Duration

  /// How often, and how long between: four times, at most half a second at first, never more than 30 s, unless set.
  public init(attempts: Int = 4, baseDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30)) {
    (self.attempts, self.baseDelay, self.maximumDelay) = (attempts, baseDelay, maximumDelay)
  }

  /// Each request is sent once.
  public static let none = RemoteRetry(attempts: 1)

  /// How long to wait before the next attempt; `nil` where there is none.
  ///
  /// It is a random part of the bound, and not less than `Retry-After`. There is no next attempt once all are used up, and where
  /// `Retry-After` is more than ``maximumDelay``.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt that failed, from 1.
  ///   - response: its answer; `nil` where there was none.
  ///   - now: the time of day, for a `Retry-After` that is a date.
  ///   - random: from 0 up to 1.
  func delay(afterAttempt attempt: Int, response: HTTPResponse?, now: Date, random: Double) -> Duration? {
    guard attempt < attempts else { return nil }
    let cap = max(.zero, maximumDelay)
    var bound = min(cap, max(.zero, baseDelay))
    // Doubled step by step, since a power may be beyond what a duration holds.
    var doublings = attempt - 1
    while doublings > 0, bound > .zero, bound < cap {
      bound = bound > cap - bound ? cap : bound * 2
      doublings -= 1
    }
    let jitter = bound * max(0, min(1, random))
    guard let asked = response.flatMap({ Self.retryAfter($0.headers, now: now) }) else { return jitter }
    return asked <= cap ? max(asked, jitter) : nil
  }

  /// How long `Retry-After` asks to wait (RFC 9110, section 10.2.3): a number of seconds, or a date in one of its three forms, which is zero
  /// where it is past. `nil` where there is none, or it is neither.
  static func retryAfter(_ headers: HTTPHeaders, now: Date) -> Duration? {
    guard let text = headers.values(of: "Retry-After").first?.trimmingCharacters(in: .whitespaces) else { return nil }
    // A century, far beyond every bound, and far below what a duration cannot hold.
    let greatest = 3_155_760_000
    if let seconds = HTTPFieldParser.seconds(text) { return .seconds(min(seconds, greatest)) }
    guard let date = HTTPDate(text, now: now)?.date else { return nil }
    return .seconds(max(0, min(date.timeIntervalSince(now), Double(greatest))))
  }

  /// Whether a request may be sent twice (RFC 9110, section 9.2.2).
  static func isRepeatable(_ request: HTTPRequest) -> Bool {
    ["GET", "HEAD", "PUT", "DELETE"].contains(request.method) || request.headers["Idempotency-Key"] != nil
  }

  /// Whether the status is one that may be another soon.
  static func isTransient(_ status: Int) -> Bool { status == 429 || (500...599 ~= status && status != 501) }

  static func isTransient(_ code: RemoteError.Code) -> Bool {
    code == .notConnected || code == .timedOut || code == .cutOff
  }
}
