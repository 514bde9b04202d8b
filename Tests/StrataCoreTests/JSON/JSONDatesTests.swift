import Foundation
import StrataCore
import Testing

@Suite("ISO 8601 dates")
struct JSONDatesTests {
  @Test(
    "Valid ISO 8601 dates are parsed",
    arguments: [
      ("2001-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00Z", -978_307_200),
      ("2011-01-26T19:01:12Z", 317_761_272),
      ("2011-01-26T20:01:12+01:00", 317_761_272), ("2011-01-26T13:31:12-05:30", 317_761_272),
      ("2000-12-31T23:59:59.5Z", -0.5), ("2001-01-01t00:00:00.250000000000000000000z", 0.25),
      ("2000-02-29T00:00:00Z", -26_524_800), ("0000-01-01T00:00:00Z", 0),
    ] as [(String, Double)])
  func reads(text: String, interval: Double) {
    if text.hasPrefix("0000") {
      // The years 0 to 2000 are 2001 years with 486 leap days.
      #expect(
        ISO8601.date(from: text)?.timeIntervalSinceReferenceDate == Double((2001 * 365 + 486) * -86_400))
    } else {
      #expect(ISO8601.date(from: text)?.timeIntervalSinceReferenceDate == interval)
    }
  }

  @Test(
    "Invalid ISO 8601 dates are rejected",
    arguments: [
      "", "2011", "2011-01-26", "2011-01-26T19:01:12", "2011-01-26 19:01:12Z", "2011-1-26T19:01:12Z",
      "2011-13-26T19:01:12Z", "2011-00-26T19:01:12Z", "2011-02-29T19:01:12Z", "1900-02-29T00:00:00Z",
      "2011-04-31T19:01:12Z", "2011-01-00T19:01:12Z", "2011-01-26T24:00:00Z", "2011-01-26T19:60:12Z",
      "2016-12-31T23:59:60Z", "2011-01-26T19:01:12.Z", "2011-01-26T19:01:12,5Z", "2011-01-26T19:01:12.5",
      "2011-01-26T19:01:12+0100", "2011-01-26T19:01:12+24:00", "2011-01-26T19:01:12+01:60",
      "2011-01-26T19:01:12+01", "2011-01-26T19:01:12ZZ", " 2011-01-26T19:01:12Z", "2011-01-26T19:01:12Z ",
      "+2011-01-26T19:01:12Z", "２011-01-26T19:01:12Z", "2011-01-26T19:01Z",
    ])
  func refuses(text: String) {
    #expect(ISO8601.date(from: text) == nil)
  }

  @Test("Every day of a 400-year calendar cycle round-trips in ascending order")
  func days() throws {
    var text = "1700-01-01T12:00:00Z"
    var date = try #require(ISO8601.date(from: text))
    var months = Set<Substring>()
    for _ in 0..<146_097 {
      date += 86_400
      guard let next = ISO8601.string(from: date), next > text, ISO8601.date(from: next) == date else {
        Issue.record("the day after \(text)")
        return
      }
      text = next
      months.insert(text.prefix(7))
    }
    #expect(text == "2100-01-01T12:00:00Z")
    #expect(months.count == 4801)
  }

  @Test("Years 0 to 9999 can be written, and dates outside this range cannot")
  func ends() throws {
    for text in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
      #expect(ISO8601.string(from: try #require(ISO8601.date(from: text))) == text)
    }
    #expect(ISO8601.string(from: try #require(ISO8601.date(from: "0000-01-01T00:00:00Z")) - 1) == nil)
    #expect(ISO8601.string(from: try #require(ISO8601.date(from: "9999-12-31T23:59:59Z")) + 1) == nil)
  }

  @Test("Dates are formatted as Foundation formats them")
  func foundation() throws {
    for step in 0..<2000 {
      // The dates range from 1600 to 9999, because Foundation uses the Julian calendar for earlier dates.
      let date = Date(timeIntervalSinceReferenceDate: Double(step) * 132_123_457 - 12_600_000_000)
      #expect(ISO8601.string(from: date) == date.formatted(.iso8601))
    }
  }

  @Test("Fractional seconds are written with only the digits they need")
  func fractions() throws {
    for interval in [
      0.1, -0.1, 317_761_272.123, 317_761_272.000001, -63_000_000_000.5, 8e8 + 0.7, 252_460_799.999,
    ] {
      let date = Date(timeIntervalSinceReferenceDate: interval)
      let text = try #require(ISO8601.string(from: date))
      #expect(ISO8601.date(from: text) == date)
      #expect(text.utf8.count <= 27)
    }
    #expect(ISO8601.string(from: Date(timeIntervalSinceReferenceDate: 0.1)) == "2001-01-01T00:00:00.1Z")
    #expect(ISO8601.string(from: Date(timeIntervalSinceReferenceDate: -1e-20)) == "2001-01-01T00:00:00Z")
    #expect(ISO8601.string(from: Date(timeIntervalSinceReferenceDate: 1e-12)) == "2001-01-01T00:00:00Z")
    #expect(
      ISO8601.string(from: Date(timeIntervalSinceReferenceDate: 1.000000001))
        == "2001-01-01T00:00:01.000000001Z")
    #expect(ISO8601.string(from: Date(timeIntervalSinceReferenceDate: .infinity)) == nil)
    #expect(
      ISO8601.string(from: Date(timeIntervalSinceReferenceDate: 0.25 + 1e-14)) == "2001-01-01T00:00:00.25Z")
  }
}
