import Foundation
import StrataCore
import Testing

@Suite("Transformers: dates with a format")
struct DateFormatTests {
  @Test(
    "A string that does not match the format exactly is rejected",
    arguments: [
      ("EEE, dd MMM yyyy", "Mon, 01 Jan 2025"), ("yyyy-MM-dd", " 2024-01-05"), ("yyyy-MM-dd", "2024-01-05 "),
      ("yyyy-MM-dd", "24-01-05"), ("yyyy-MM-dd", "2024-02-30"), ("yyyy-MM-dd", "2024-01-05x"), ("yyyy-MM-dd", ""),
      ("yyyy-MM-dd'T'HH:mm:ssXXX", " 2024-01-05T10:00:00+02:00"),
      ("yyyy-MM-dd'T'HH:mm:ssXXX", "24-01-05T10:00:00+02:00"),
      ("EEE, dd MMM yyyy HH:mm:ss Z", "Mon, 01 Jan 2025 10:00:00 +0200"),
    ])
  func refused(format: String, text: String) {
    #expect(throws: TransformError.self) { try ReversibleTransformer.date(format: format).transform(text) }
  }

  @Test(
    "Strings that match the format are converted to their dates",
    arguments: [
      ("EEE, dd MMM yyyy", "Wed, 01 Jan 2025", 1_735_689_600.0), ("yyyy-MM-dd", "2024-01-05", 1_704_412_800),
      ("EEE, dd MMM yyyy", "WED, 01 jan 2025", 1_735_689_600), ("yy-MM-dd", "24-01-05", 1_704_412_800),
      ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-01-05T10:00:00+02:00", 1_704_441_600),
      ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-01-05T10:00:00Z", 1_704_448_800),
      ("EEE, dd MMM yyyy HH:mm:ss Z", "Wed, 01 Jan 2025 01:00:00 +0200", 1_735_686_000),
      ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-05 00:00:00.123", 1_704_412_800.123),
      ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-05 00:00:00.999", 1_704_412_800.999),
    ] as [(String, String, Double)])
  func read(format: String, text: String, seconds: Double) throws {
    let date = try ReversibleTransformer.date(format: format).transform(text)
    #expect(abs(date.timeIntervalSince1970 - seconds) < 0.0001)
  }

  @Test("Every millisecond value is accepted")
  func fractions() throws {
    let transformer = ReversibleTransformer.date(format: "HH:mm:ss.SSS")
    for number in 0..<1000 {
      let text = "10:20:30." + String(repeating: "0", count: 3 - "\(number)".count) + "\(number)"
      #expect(throws: Never.self, "\(text)") { try transformer.transform(text) }
    }
  }
}
