import Foundation

/// Parses and writes dates in a fixed format. A string is rejected if it does not match the date that Foundation parses from it, for
/// example if it has a wrong weekday, spaces around it, or the year 24 for a four-digit year.
final class StrictDateFormatter {
  private let formatter: DateFormatter
  /// A formatter for the format without its time zone; `nil` if the format has no time zone. Strings are compared without the time zone,
  /// because the same time zone can be spelled in many ways.
  private let local: DateFormatter?
  private let hasFraction: Bool

  /// - Parameter make: creates a formatter for a format. It is also called for the format without its time zone.
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
    // If Foundation recognizes the time zone but `zones(in:)` does not, the zone cannot be removed from the string for the comparison. The
    // string is then accepted unless it has spaces around it.
    guard !zones.isEmpty else { return text.trimmingCharacters(in: .whitespacesAndNewlines) == text ? date : nil }
    let isSaid = zones.contains { range, zone in
      local.timeZone = zone
      var rest = text
      rest.removeSubrange(range)
      return writes(rest, date, local)
    }
    return isSaid ? date : nil
  }

  /// Whether formatting the date produces the given text, ignoring case.
  private func writes(_ text: String, _ date: Date, _ formatter: DateFormatter) -> Bool {
    func isSame(_ date: Date) -> Bool { formatter.string(from: date).lowercased() == text.lowercased() }
    // Formatters truncate fractions of a second, and the double for .001 may be slightly less than .001. The comparison is therefore
    // repeated with a date half a millisecond later.
    return isSame(date) || hasFraction && isSame(date.addingTimeInterval(0.0005))
  }

  /// Returns all ranges of the text that may be a time zone, each with the time zone that it may denote.
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

  /// Splits a format into its fields, such as `yyyy`, and literal characters (UTS #35, "Date Format Patterns").
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
