import Foundation
import StrataServer
import Testing

@testable import StrataRemote

struct HTTPCopyTests {
  private static let url = URL(fileURLWithPath: "/").appending(path: "tasks")
  private static let now = Date(timeIntervalSince1970: 1_790_000_000)

  private func request(_ headers: HTTPHeaders = [:]) -> HTTPRequest { HTTPRequest("GET", Self.url, headers: headers) }

  private func remember(_ headers: HTTPHeaders, request: HTTPHeaders = [:], delay: Double = 0) -> HTTPCopy? {
    HTTPCopy(
      request: self.request(request), response: HTTPResponse(200, headers: headers, url: Self.url),
      requestedAt: Self.now.addingTimeInterval(-delay), receivedAt: Self.now)
  }

  private func date(_ offset: Double) -> String { Self.now.addingTimeInterval(offset).httpText }

  @Test func maxAgeCountsFromTheOrigin() throws {
    let copy = try #require(remember(["Cache-Control": "max-age=60"]))
    #expect(copy.isFresh(at: Self.now))
    #expect(copy.isFresh(at: Self.now.addingTimeInterval(59)))
    #expect(!copy.isFresh(at: Self.now.addingTimeInterval(60)))
    #expect(!copy.mustRevalidate)
  }

  @Test func maxAgeWinsOverExpires() throws {
    let copy = try #require(remember(["Cache-Control": "max-age=60", "Expires": date(-100), "Date": date(0)]))
    #expect(copy.freshFor == 60)
    #expect(try #require(remember(["Cache-Control": "s-maxage=60, private", "Expires": date(10)])).freshFor == 10)
  }

  /// The age of a response on arrival (RFC 9111, section 4.2.3).
  @Test(
    arguments: [
      ([:] as HTTPHeaders, 0.0, 0.0), (["Age": "30"], 0, 30), (["Age": "30"], 5, 35), (["Age": "30, 7"], 0, 30),
      (["Age": "-3"], 2, 2),
      (["Age": "x"], 0, 0), (["Date": now.addingTimeInterval(-50).httpText], 5, 50),
      (["Date": now.addingTimeInterval(-50).httpText, "Age": "70"], 5, 75),
      (["Date": now.addingTimeInterval(50).httpText], 0, 0),
      (["Age": "99999999999999999999"], 0, Double(Int.max)),
    ] as [(HTTPHeaders, Double, Double)])
  func ageAtReceipt(headers: HTTPHeaders, delay: Double, age: Double) throws {
    #expect(try #require(remember(headers, delay: delay)).ageAtReceipt == age)
  }

  @Test func ageShortensFreshness() throws {
    let copy = try #require(remember(["Cache-Control": "max-age=60", "Age": "50"], delay: 5))
    #expect(copy.isFresh(at: Self.now.addingTimeInterval(4)))
    #expect(!copy.isFresh(at: Self.now.addingTimeInterval(5)))
  }

  @Test(arguments: [
    (60.0, 0.0, 60.0), (60, -10, 70), (-5, 0, 0),
  ])
  func expiresIsRelativeToDate(expires: Double, dated: Double, fresh: Double) throws {
    #expect(try #require(remember(["Expires": date(expires), "Date": date(dated)])).freshFor == fresh)
  }

  @Test(arguments: ["0", "-1", "", "tomorrow"])
  func anExpiresThatIsNoDateIsPast(text: String) throws {
    #expect(try #require(remember(["Expires": text])).freshFor == 0)
  }

  @Test func thereIsNoHeuristicFreshness() throws {
    let copy = try #require(remember(["Last-Modified": date(-1e6), "Date": date(0)]))
    #expect(copy.freshFor == nil)
    #expect(!copy.isFresh(at: Self.now))
  }

  @Test func noCacheIsNeverFresh() throws {
    for headers in [["Cache-Control": "no-cache, max-age=60"], ["Pragma": "No-Cache", "Expires": date(60)]]
      as [HTTPHeaders]
    {
      let copy = try #require(remember(headers))
      #expect(!copy.isFresh(at: Self.now))
      #expect(copy.mustRevalidate)
    }
    let both = try #require(remember(["Cache-Control": "max-age=60", "Pragma": "no-cache"]))
    #expect(both.isFresh(at: Self.now))
    let must = try #require(remember(["Cache-Control": "max-age=60, must-revalidate"]))
    #expect(must.isFresh(at: Self.now) && must.mustRevalidate)
  }

  @Test func aClockThatGoesBackMakesNothingFresh() throws {
    let copy = try #require(remember(["Cache-Control": "max-age=60"]))
    #expect(!copy.isFresh(at: Self.now.addingTimeInterval(-1)))
    #expect(!copy.isFresh(at: .distantPast))
    #expect(!copy.isFresh(at: .distantFuture))
  }

  @Test func noStoreAndVaryStarAreNotRemembered() {
    #expect(remember(["Cache-Control": "no-store"]) == nil)
    #expect(remember([:], request: ["Cache-Control": "no-store"]) == nil)
    #expect(remember(["Vary": "Accept, *"]) == nil)
    let response = HTTPResponse(206, url: Self.url)
    #expect(HTTPCopy(request: request(), response: response, requestedAt: Self.now, receivedAt: Self.now) == nil)
    let post = HTTPRequest("POST", Self.url)
    #expect(
      HTTPCopy(request: post, response: HTTPResponse(200, url: Self.url), requestedAt: Self.now, receivedAt: Self.now)
        == nil)
  }

  @Test func varyComparesTheRequests() throws {
    let copy = try #require(
      remember(
        ["Vary": "Accept, X-Tenant", "vary": "Accept-Language"], request: ["accept": "a/b", "Accept-Language": " de "]))
    #expect(copy.vary == ["accept": "a/b", "x-tenant": nil, "accept-language": "de"])
    #expect(copy.matches(request(["Accept": "a/b", "Accept-Language": "de", "Other": "1"])))
    #expect(!copy.matches(request(["Accept": "a/b", "Accept-Language": "fr"])))
    #expect(!copy.matches(request(["Accept": "a/b", "Accept-Language": "de", "X-Tenant": "1"])))
    #expect(!copy.matches(request()))
  }

  @Test func secretsAreNotRemembered() throws {
    let copy = try #require(
      remember(
        ["Vary": "Authorization, Cookie, Accept"], request: ["Authorization": "Bearer hidden", "Cookie": "hidden"]))
    #expect(copy.vary == ["accept": nil])
    #expect(!String(decoding: try JSONEncoder().encode(copy), as: UTF8.self).contains("hidden"))
  }

  @Test func conditionsPreferTheTag() throws {
    let both: HTTPHeaders = ["ETag": "W/\"a\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]
    let copy = try #require(remember(both))
    #expect(copy.conditions == ["If-None-Match": "W/\"a\""])
    #expect(try #require(remember(["Last-Modified": "any text"])).conditions == ["If-Modified-Since": "any text"])
    #expect(try #require(remember([:])).conditions == [:])
  }

  @Test func aConfirmationReplacesWhatItBrings() throws {
    let old = try #require(
      remember(
        ["ETag": "\"a\"", "Cache-Control": "max-age=60", "Age": "40", "Vary": "Accept"], request: ["Accept": "x"]))
    let later = Self.now.addingTimeInterval(1000)
    let confirmed = old.updated(
      by: HTTPResponse(304, headers: ["ETag": "W/\"a\"", "Vary": "*"], url: Self.url), requestedAt: later,
      receivedAt: later)
    #expect(confirmed.isFresh(at: later.addingTimeInterval(59)))
    #expect(confirmed.ageAtReceipt == 0)
    #expect(confirmed.etag == "W/\"a\"")
    #expect(confirmed.vary == old.vary)
    let shorter = old.updated(
      by: HTTPResponse(304, headers: ["Cache-Control": "max-age=5, must-revalidate"], url: Self.url),
      requestedAt: later, receivedAt: later)
    #expect(shorter.freshFor == 5 && shorter.mustRevalidate && shorter.etag == "\"a\"")
    let never = old.updated(
      by: HTTPResponse(304, headers: ["Cache-Control": "no-store, max-age=5"], url: Self.url), requestedAt: later,
      receivedAt: later)
    #expect(!never.isFresh(at: later))
  }

  @Test func aTagOfOtherContentDoesNotReplace() throws {
    let old = try #require(remember(["ETag": "\"a\"", "Last-Modified": "then"]))
    let other = HTTPResponse(304, headers: ["ETag": "\"b\"", "Last-Modified": "now"], url: Self.url)
    let updated = old.updated(by: other, requestedAt: Self.now, receivedAt: Self.now)
    #expect(updated.etag == "\"a\"" && updated.lastModified == "then")
  }

  @Test func copiesAreEncoded() throws {
    let copy = try #require(
      remember(["ETag": "\"a\"", "Vary": "A, B", "Cache-Control": "max-age=60"], request: ["A": "1"], delay: 2))
    let decoded = try JSONDecoder().decode(HTTPCopy.self, from: try JSONEncoder().encode(copy))
    #expect(decoded == copy)
    #expect(decoded.vary == ["a": "1", "b": nil])
  }
}
