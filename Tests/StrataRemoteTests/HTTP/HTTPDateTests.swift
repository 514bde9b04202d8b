import Foundation
import StrataCore
import Testing

@testable import StrataRemote

struct HTTPDateTests {
  private static let example = Date(timeIntervalSince1970: 784_111_777)

  /// The examples of RFC 9110, section 5.6.7, and variants in upper or lower case, which caches should accept (RFC 9111, section 4.2).
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "sun, 06 nov 1994 08:49:37 gmt", "SUNDAY, 06-NOV-94 08:49:37 GMT",
  ])
  func threeFormsAreRead(text: String) {
    #expect(HTTPDate(text)?.date == Self.example)
  }

  @Test(arguments: [
    "", " ", "0", "-1", "Sun", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Wed, 30 Feb 1994 08:49:37 GMT",
    "Tue, 29 Feb 1994 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
    "Sun, 06 Nov 1994 +8:49:37 GMT", "Sun, 06 Nov 199\u{664} 08:49:37 GMT",
  ])
  func everythingElseIsRefused(text: String) {
    #expect(HTTPDate(text) == nil)
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
    ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
  ])
  func allTimesAreRead(text: String, seconds: Double) {
    #expect(HTTPDate(text)?.date == Date(timeIntervalSince1970: seconds))
  }

  @Test func everyDayOfFourCenturiesComesBack() {
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    for day in stride(from: -73_048, to: 73_049, by: 1) {
      let (year, month, ofMonth) = ISO8601.civil(fromDays: day)
      let text =
        "\(weekdays[(day + 7 * 146_097) % 7]), \(twoDigits(ofMonth)) \(months[month - 1]) \(year) 00:00:00 GMT"
      guard ISO8601.days(fromYear: year, month: month, day: ofMonth) == day,
        HTTPDate(text)?.date == Date(timeIntervalSince1970: Double(day) * 86_400)
      else {
        Issue.record("day \(day) is \(text)")
        return
      }
    }
  }

  @Test func secondSixtyIsTheNextMinute() {
    #expect(HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT")?.date == HTTPDate("Sun, 01 Jan 2017 00:00:00 GMT")?.date)
  }

  /// A two-digit year is at most 50 years ahead, to the day (RFC 9110, section 5.6.7). Each weekday matches the expected year.
  @Test(arguments: [
    ("Monday, 23-Nov-76 00:00:00 GMT", 2076), ("Wednesday, 24-Nov-76 00:00:00 GMT", 1976),
    ("Friday, 31-Dec-99 00:00:00 GMT", 1999), ("Monday, 23-Nov-26 00:00:00 GMT", 2026),
    ("Saturday, 01-Jan-00 00:00:00 GMT", 2000),
  ])
  func twoDigitsAreTheNearestYear(text: String, year: Int) throws {
    let now = try #require(HTTPDate("Mon, 23 Nov 2026 09:00:00 GMT")?.date)
    let date = try #require(HTTPDate(text, now: now)?.date)
    #expect(ISO8601.civil(fromDays: Int((date.timeIntervalSince1970 / 86_400).rounded(.down))).year == year)
  }
}
