internal import Foundation
internal import StrataCore

/// A file whose values are compared or merged, whatever it turns out to be: its bytes tell, not its name.
struct Document {
  enum Form {
    case json(isPretty: Bool)
    /// The stamp is that of the first member.
    case archive(Stamp)
    case propertyList
  }

  /// What messages call the file.
  let name: String
  let form: Form
  /// The values; those of a stream stand in an array.
  let value: ArchiveValue

  var isJSON: Bool { if case .json = form { true } else { false } }

  init(_ path: String, _ console: Console) throws {
    let file = DataFile(path)
    name = file.name
    let input = try InputFile(file, console)
    switch input.kind {
    case .archive:
      guard try !input.isEmpty else {
        throw ToolError("\(name): the file is empty; an archive or a JSON document is expected")
      }
      var values: [ArchiveValue] = []
      let walk = try input.walk { values += $1 }
      guard let stamp = walk.first else { throw ToolError("\(name): the file is empty") }
      form = .archive(stamp)
      value = stamp.kind == .single ? values.first ?? .null : .array(values)
    case .propertyList(let isBinary):
      form = .propertyList
      let document = try input.legacyDocument(isBinary: isBinary)
      value = try ToolError.at(path) {
        try ArchiveDecoder().decodeValue(from: LegacyConversion().archive(document))
      }
    case .other(let found):
      guard found == "JSON" || found == "text" || found.contains("OpenStep") else {
        throw ToolError(
          "\(name): found \(found) where an archive, a JSON document, a keyed archive or a property list is expected")
      }
      let data = try input.data()
      (form, value) = try ToolError.at(path) {
        var reader = JSONReader()
        // Which of two values counts would be a guess, and the other one would be lost.
        reader.duplicateKeys = .refuse
        return (.json(isPretty: Self.hasLines(data)), try reader.read(data))
      }
    }
  }

  /// An archive, or null where there is none.
  init(name: String, archive: Data?) throws {
    self.name = name
    form = .archive(try archive.map { try Stamp(of: $0) } ?? Stamp(typeName: "Value"))
    value = try archive.map { try ArchiveDecoder().decodeValue(from: $0) } ?? .null
  }

  /// Whether text is on several lines.
  private static func hasLines(_ text: Data) -> Bool {
    let spaces = Set(" \t\r\n".utf8)
    guard let end = text.lastIndex(where: { !spaces.contains($0) }) else { return false }
    return text[..<end].contains(UInt8(ascii: "\n"))
  }
}

extension ArchiveValue {
  /// The value as JSON has it: without types, and with text for dates and the like.
  func asJSON() throws -> ArchiveValue { try JSONReader().read(JSONWriter().write(self)) }

  /// What the value is, for messages.
  var rootName: String { if case .record(let record) = self { "a record of \(record.typeName)" } else { kind } }
}
