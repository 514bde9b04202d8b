import Foundation
import Testing

@testable import StrataRemote

struct RemoteRetryTests {
  private static let now = Date(timeIntervalSince1970: 784_111_777)

  private func answer(_ retryAfter: String?) throws -> HTTPResponse {
    let url = try #require(URL(string: "https://a.example/"))
    return HTTPResponse(503, headers: retryAfter.map { ["Retry-After": $0] } ?? [:], url: url)
  }

  @Test func boundsDoubleUpToTheCap() {
    let retry = RemoteRetry(attempts: 100, baseDelay: .seconds(1), maximumDelay: .seconds(10))
    let delays = [1, 2, 3, 4, 5, 99].map { retry.delay(afterAttempt: $0, response: nil, now: Self.now, random: 0.5) }
    #expect(delays == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5)])
    #expect(retry.delay(afterAttempt: 1, response: nil, now: Self.now, random: 0) == .zero)
    #expect(retry.delay(afterAttempt: 100, response: nil, now: Self.now, random: 0) == nil)
    let huge = RemoteRetry(attempts: .max, baseDelay: .seconds(1), maximumDelay: .seconds(Int64.max / 4))
    #expect(
      huge.delay(afterAttempt: .max - 1, response: nil, now: Self.now, random: 1) ?? .zero > .seconds(Int64.max / 8))
    #expect(RemoteRetry.none.delay(afterAttempt: 1, response: nil, now: Self.now, random: 0) == nil)
    #expect(
      RemoteRetry(baseDelay: .seconds(-1)).delay(afterAttempt: 1, response: nil, now: Self.now, random: 1) == .zero)
  }

  /// Values of `Retry-After` (RFC 9110, section 10.2.3), including the RFC's example of a number of seconds.
  @Test(
    arguments: [
      ("120", 120.0), ("0", 0), ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
      ("Sun Nov  6 08:50:37 1994", 60), ("Sun, 06 Nov 1994 08:48:37 GMT", 0),
      ("99999999999999999999999", 3_155_760_000),
      ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil), (nil, nil),
    ] as [(String?, Double?)])
  func retryAfterIsRead(text: String?, seconds: Double?) throws {
    #expect(RemoteRetry.retryAfter(try answer(text).headers, now: Self.now) == seconds.map { .seconds($0) })
  }

  @Test func retryAfterIsTheLeastAndTheCapTheMost() throws {
    let retry = RemoteRetry(baseDelay: .seconds(4), maximumDelay: .seconds(30))
    func delay(_ text: String?) throws -> Duration? {
      retry.delay(afterAttempt: 1, response: try answer(text), now: Self.now, random: 0.5)
    }
    #expect(try delay("10") == .seconds(10))
    #expect(try delay("1") == .seconds(2))
    #expect(try delay("30") == .seconds(30))
    #expect(try delay("31") == nil)
    #expect(try delay("soon") == .seconds(2))
  }

  @Test func whatMayBeRepeated() throws {
    let url = try #require(URL(string: "https://a.example/"))
    let repeatable = ["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"].filter {
      RemoteRetry.isRepeatable(HTTPRequest($0, url))
    }
    #expect(repeatable == ["GET", "HEAD", "PUT", "DELETE"])
    #expect(RemoteRetry.isRepeatable(HTTPRequest("POST", url, headers: ["idempotency-key": "1"])))
    #expect(
      [200, 304, 400, 401, 408, 429, 500, 501, 502, 503, 504, 599, 600].filter(RemoteRetry.isTransient) == [
        429, 500, 502, 503, 504, 599,
      ])
    #expect(RemoteError.Code.allCases.filter(RemoteRetry.isTransient) == [.notConnected, .timedOut, .cutOff])
  }
}
