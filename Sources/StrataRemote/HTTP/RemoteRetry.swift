internal import Foundation

/// The number of attempts for a request, and the delays between attempts.
///
/// A request is retried if it may be sent twice: GET, HEAD, PUT, DELETE, and every request with an `Idempotency-Key`.
/// It is retried after the codes `notConnected`, `timedOut` and `cutOff`, and after the statuses 429 and 5xx except
/// 501. After the status 429, all other requests are retried too. A request that changes a record is retried only if
/// the change can be repeated (Docs/Refresh.md, Sending). Each delay is random, between 0 and a bound that doubles with
/// each attempt, so that clients whose requests failed together do not retry at the same moment.
public struct RemoteRetry: Sendable, Hashable {
  /// The maximum number of attempts. A number below 1 is treated as 1. Repeating a request with a renewed token does
  /// not count as an attempt.
  public var attempts: Int
  /// The maximum delay before the second attempt. The maximum doubles with each later attempt.
  public var baseDelay: Duration
  /// The maximum delay before any attempt. If a server requests a longer delay with `Retry-After`, the request is not
  /// retried, and the error has the code `unavailable`.
  public var maximumDelay: Duration

  /// Creates a retry policy, by default with four attempts, at most 0.5 s before the second attempt, and at most 30 s
  /// before any attempt.
  public init(attempts: Int = 4, baseDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30)) {
    (self.attempts, self.baseDelay, self.maximumDelay) = (attempts, baseDelay, maximumDelay)
  }

  /// A retry policy without retries: each request is sent only once.
  public static let none = RemoteRetry(attempts: 1)

  /// Returns the delay before the next attempt, or `nil` if there is no next attempt.
  ///
  /// The delay is a random fraction of a bound, which is ``baseDelay`` after the first attempt and doubles with each
  /// further attempt, up to ``maximumDelay``. It is at least as long as `Retry-After` requests. There is no next
  /// attempt if all attempts are used up, or if `Retry-After` exceeds ``maximumDelay``.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt that failed, starting at 1.
  ///   - response: the response to that attempt, or `nil` if there was none.
  ///   - now: the current time, for a `Retry-After` that is a date.
  ///   - random: a random number from 0 up to, but not including, 1.
  func delay(afterAttempt attempt: Int, response: HTTPResponse?, now: Date, random: Double) -> Duration? {
    guard attempt < attempts else { return nil }
    let cap = max(.zero, maximumDelay)
    var bound = min(cap, max(.zero, baseDelay))
    // The bound is doubled step by step, because multiplying by a power of two could overflow `Duration`.
    var doublings = attempt - 1
    while doublings > 0, bound > .zero, bound < cap {
      bound = bound > cap - bound ? cap : bound * 2
      doublings -= 1
    }
    let jitter = bound * max(0, min(1, random))
    guard let asked = response.flatMap({ Self.retryAfter($0.headers, now: now) }) else { return jitter }
    return asked <= cap ? max(asked, jitter) : nil
  }

  /// Returns the delay that `Retry-After` requests (RFC 9110, section 10.2.3), or `nil` if the field is absent or
  /// invalid. The field is a number of seconds, or a date in one of the three HTTP forms. For a date in the past, the
  /// delay is zero.
  static func retryAfter(_ headers: HTTPHeaders, now: Date) -> Duration? {
    guard let text = headers.values(of: "Retry-After").first?.trimmingCharacters(in: .whitespaces) else { return nil }
    // A century in seconds, which is longer than any useful delay and does not overflow `Duration`.
    let greatest = 3_155_760_000
    if let seconds = HTTPFieldParser.seconds(text) { return .seconds(min(seconds, greatest)) }
    guard let date = HTTPDate(text, now: now)?.date else { return nil }
    return .seconds(max(0, min(date.timeIntervalSince(now), Double(greatest))))
  }

  /// Whether the method and the headers allow a request to be sent twice (RFC 9110, section 9.2.2).
  static func isRepeatable(_ request: HTTPRequest) -> Bool {
    ["GET", "HEAD", "PUT", "DELETE"].contains(request.method) || request.headers["Idempotency-Key"] != nil
  }

  /// Whether a request that may be sent twice is retried after a response with this status, because a later attempt may
  /// succeed.
  static func isTransient(_ status: Int) -> Bool { status == 429 || (500...599 ~= status && status != 501) }

  static func isTransient(_ code: RemoteError.Code) -> Bool {
    code == .notConnected || code == .timedOut || code == .cutOff
  }
}
