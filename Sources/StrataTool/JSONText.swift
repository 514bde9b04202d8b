internal import Foundation
internal import StrataCore

/// JSON text of one value, or of an array whose elements come one by one.
struct JSONText {
  let isPretty: Bool
  var data = Data()
  private var hasElements = false
  /// How many references back to an object that holds them are null.
  private(set) var cycleCount = 0

  init(isPretty: Bool) { self.isPretty = isPretty }

  mutating func append(_ value: ArchiveValue, inArray: Bool) throws {
    let text = try JSONWriter(isPretty: isPretty).write(value, nullingCycles: &cycleCount)
    guard inArray else {
      data.append(text)
      return
    }
    data.append(UInt8(ascii: hasElements ? "," : "["))
    hasElements = true
    guard isPretty else {
      data.append(text)
      return
    }
    // A line feed in a string is escaped, so each one here ends a line.
    for line in text.split(separator: UInt8(ascii: "\n")) {
      data.append(contentsOf: "\n  ".utf8)
      data.append(line)
    }
  }

  mutating func closeArray() {
    if !hasElements { data.append(UInt8(ascii: "[")) }
    if isPretty, hasElements { data.append(UInt8(ascii: "\n")) }
    data.append(UInt8(ascii: "]"))
  }
}
