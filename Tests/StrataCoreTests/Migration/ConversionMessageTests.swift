import Foundation
import StrataCore
import Testing

@Suite("Error messages of migration conversions")
struct ConversionMessageTests {
  private func converted(_ value: ArchiveValue, _ conversion: ValueConversion) throws -> ArchiveValue? {
    let record = ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", .object(["v": value]))])
    let upgraded = try MigrationPlan(.step(from: 1, to: 2, .convert("a.v", conversion))).upgrade(record)
    return upgraded["a.v" as ValuePath]
  }

  private static func day(_ days: Double) -> ArchiveValue { .date(Date(timeIntervalSince1970: days * 86_400)) }

  @Test(
    "A calendar date converts to midnight UTC (RFC 3339, full-date)",
    arguments: [
      ("2019-03-04", 17_959), ("1970-01-01", 0), ("2000-02-29", 11_016), ("1969-12-31", -1), ("0000-01-01", -719_528),
      ("9999-12-31", 2_932_896),
    ] as [(ArchiveValue, Double)])
  func calendarDates(text: ArchiveValue, days: Double) throws {
    #expect(try converted(text, .toDate) == Self.day(days))
  }

  @Test(
    "A string that is not a calendar date is rejected",
    arguments: [
      "2019-02-29", "2019-13-01", "2019-00-10", "2019-03-00", "2019-3-4", "20190304", "2019-03-04Z", "2019-03-04T",
      "2019-03-04 ", " 2019-03-04", "19-03-04", "+2019-03-04", "2019/03/04", "2019-03-04+01:00", "2019-03-04T00:00",
      "",
    ] as [ArchiveValue])
  func refusedDates(text: ArchiveValue) {
    #expect(throws: ArchiveError.self) { try converted(text, .toDate) }
  }

  @Test(
    "The error lists the supported values and names the path once",
    arguments: [
      (
        .toDate, "no", "supported values are seconds since 1970, and strings such as 2019-03-04T12:30:00Z or 2019-03-04"
      ),
      (
        .toInteger, "no",
        "supported values are booleans, text that consists of digits, and whole numbers of at most 128 bits"
      ),
      (
        .toDouble, "no",
        "supported values are numbers and numeric text that a double can hold without losing digits"
      ),
      (.toDecimal, "no", "supported values are numbers and numeric text with at most 38 digits"),
      (.toBool, "no", "supported values are 0, 1, and the strings “true” and “false”"),
      (.toURL, "a b%", "the only supported value is a percent-encoded URL string"),
      (.toUUID, "no", "the only supported value is a string such as E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
      (
        .toString, [],
        "supported values are numbers, booleans, URLs, UUIDs, and dates in the years 0 to 9999 with at most nanosecond "
          + "precision"
      ),
      (.mapping(["a": 1]), "no", "add the value to the table, or pass a fallback value in the argument “otherwise”"),
    ] as [(ValueConversion, ArchiveValue, String)])
  func messages(conversion: ValueConversion, value: ArchiveValue, forms: String) throws {
    let error = #expect(throws: ArchiveError.self) { try converted(value, conversion) }
    let text = try #require(error?.description)
    var problem = "cannot be converted \(conversion)"
    if case .mapping = conversion { problem = "is not in the conversion table" }
    #expect(text.contains("\(problem); \(forms)"), "\(text)")
    #expect(text.components(separatedBy: "a.v").count == 2, "\(text)")
    #expect(error?.codingPath == [.key("a"), .key("v")] && error?.code == .migrationFailed)
    #expect((error?.underlyingError as? ArchiveError)?.code == .typeMismatch)
  }

  @Test("Errors of moves and drops name the path once")
  func paths() {
    let record = ModelRecord(typeName: "T", modelVersion: 1, fields: [("a", "text"), ("b", 1)])
    for operation in [MigrationOperation.drop("a.v"), .move("b", to: "a.v"), .convert("a.v", .toDate)] {
      let error = #expect(throws: ArchiveError.self) {
        try MigrationPlan(.step(from: 1, to: 2, operation)).upgrade(record)
      }
      #expect(
        error.map { "\($0)".components(separatedBy: "(at ").count <= 2 } == true, "\(error.map { "\($0)" } ?? "")")
    }
  }
}
