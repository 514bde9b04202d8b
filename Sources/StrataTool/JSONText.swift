internal import Foundation
internal import StrataCore

/// The JSON text of a single value, or of an array that is built element by element.
struct JSONText {
  let isPretty: Bool
  var data = Data()
  private var hasElements = false
  /// The number of cyclic references that were replaced by null.
  private(set) var cycleCount = 0

  init(isPretty: Bool) { self.isPretty = isPretty }

  mutating func append(_ value: ArchiveValue, inArray: Bool) throws {
    append(try JSONWriter(isPretty: isPretty).write(value, nullingCycles: &cycleCount), inArray)
  }

  /// Appends a model as JSON, as its JSON mapping specifies.
  mutating func append(model: some Archivable, inArray: Bool) throws {
    append(try JSONWriter(isPretty: isPretty).write(model), inArray)
  }

  private mutating func append(_ text: Data, _ inArray: Bool) {
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
    // JSON escapes line feeds inside strings, so the text can be split into lines at each line feed.
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

extension ArchiveValue {
  /// Returns the value as JSON text, with a line feed at the end.
  func jsonText(isPretty: Bool = true) throws -> Data {
    try JSONWriter(isPretty: isPretty).write(self) + Data("\n".utf8)
  }
}
