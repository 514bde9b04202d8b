import Foundation

/// Parses and writes dates in a fixed format. A text is rejected if it does not match the date that Foundation parses from it.
/// Examples are a text with a wrong weekday, with spaces around it, or with the year 24 for a four-digit year.
final class StrictDateFormatter {
  private let formatter: DateFormatter
  /// A formatter for the format without its time zone; `nil` if the format has no time zone. The time zone is left out, because
  /// it can be spelled in many ways.
  private let local: DateFormatter?
  private let hasFraction: Bool

  /// - Parameter make: a function that creates a formatter for a format.
  init(_ format: String, _ make: (String) -> DateFormatter) {
    let fields = Self.fields(of: format)
    formatter = make(format)
    let others = fields.filter { !$0.isZone }
    local = others.count < fields.count ? make(others.map(\.text).joined()) : nil
    hasFraction = fields.contains { $0.text.first == "S" }
  }

  func string(from date: Date) -> String { formatter.string(from: date) }

  func date(from text: String) -> Date? {
    guard let date = formatter.date(from: text) else { return nil }
    if writes(text, date, formatter) { return date }
    guard let local else { return nil }
    let zones = Self.zones(in: text)
    // If only Foundation recognizes the time zone, it cannot be removed from the text. In this case, only spaces around the text
    // are rejected.
    guard !zones.isEmpty else { return text.trimmingCharacters(in: .whitespacesAndNewlines) == text ? date : nil }
    let isSaid = zones.contains { range, zone in
      local.timeZone = zone
      var rest = text
      rest.removeSubrange(range)
      return writes(rest, date, local)
    }
    return isSaid ? date : nil
  }

  /// Whether formatting a date gives this text, ignoring case.
  private func writes(_ text: String, _ date: Date, _ formatter: DateFormatter) -> Bool {
    func isSame(_ date: Date) -> Bool { formatter.string(from: date).lowercased() == text.lowercased() }
    // Also tries a date half a millisecond later. Formatters truncate fractions, and the double for .001 may be slightly too
    // small.
    return isSame(date) || hasFraction && isSame(date.addingTimeInterval(0.0005))
  }

  /// Returns all parts of a text that may be a time zone, with their ranges.
  private static func zones(in text: String) -> [(Range<String.Index>, TimeZone)] {
    let offsets = text.matches(of: #/(?:GMT|UTC)?([+-])(\d{1,2}):?(\d{2})?/#).compactMap { match in
      let minutes = (Int(match.2) ?? 0) * 60 + (match.3.flatMap { Int($0) } ?? 0)
      return TimeZone(secondsFromGMT: (match.1 == "-" ? -60 : 60) * minutes).map { (match.range, $0) }
    }
    let names = text.matches(of: #/[A-Za-z]{1,5}/#).compactMap { match in
      let zone = match.output.lowercased() == "z" ? TimeZone.gmt : TimeZone(abbreviation: String(match.output))
      return zone.map { (match.range, $0) }
    }
    return offsets + names
  }

  /// Splits a format into its fields and literal characters (UTS #35, "Date Format Patterns").
  private static func fields(of format: String) -> [(text: String, isZone: Bool)] {
    var fields: [(text: String, isZone: Bool)] = []
    var isQuoted = false
    for character in format {
      if character == "'" { isQuoted.toggle() }
      let isZone = !isQuoted && "zZOvVXx".contains(character)
      if !isQuoted, character != "'", let last = fields.last, last.text.last == character {
        fields[fields.count - 1].text.append(character)
      } else {
        fields.append((String(character), isZone))
      }
    }
    return fields
  }
}
