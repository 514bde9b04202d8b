internal import Foundation
internal import StrataCore

/// A file to compare or to merge. The format is detected from the content, not from the name.
struct Document {
  enum Form {
    case json(isPretty: Bool)
    /// An archive, with the stamp of its first member.
    case archive(Stamp)
    case propertyList
  }

  /// The name that messages use for the file.
  let name: String
  let form: Form
  /// The value of the file. For a stream, this is an array of its models.
  let value: ArchiveValue

  var isJSON: Bool { if case .json = form { true } else { false } }

  init(_ path: String, _ console: Console) throws { try self.init(InputFile(DataFile(path), console)) }

  init(_ input: InputFile) throws {
    let file = DataFile(input.path)
    name = file.name
    switch input.format {
    case .archive:
      guard try !input.isEmpty else {
        throw ToolError("\(name): the file is empty, but an archive or a JSON document is expected")
      }
      var values: [ArchiveValue] = []
      let walk = try input.walk { values += $1 }
      guard let stamp = walk.first else { throw ToolError("\(name): the file is empty") }
      form = .archive(stamp)
      value = stamp.kind == .single ? values.first ?? .null : .array(values)
    case .propertyList(let isBinary):
      form = .propertyList
      let document = try input.legacyDocument(isBinary: isBinary)
      value = try ToolError.at(file.path) {
        try ArchiveDecoder().decodeValue(from: LegacyConversion().archive(document))
      }
    case .other(let found):
      guard InputFile.mayBeJSON(found) else {
        throw ToolError(
          "\(name): found \(found) where an archive, a JSON document, a keyed archive or a property list is expected")
      }
      let data = try input.data()
      (form, value) = (.json(isPretty: Self.hasLines(data)), try file.document(in: data))
    }
  }

  /// Decodes an archive. If there is no archive, the value is null.
  init(name: String, archive: Data?) throws {
    self.name = name
    form = .archive(try archive.map { try Stamp(of: $0) } ?? Stamp(typeName: "Value"))
    value = try archive.map { try ArchiveDecoder().decodeValue(from: $0) } ?? .null
  }

  /// Returns whether the text has several lines, not counting trailing white space.
  static func hasLines(_ text: Data) -> Bool {
    let spaces = Set(" \t\r\n".utf8)
    guard let end = text.lastIndex(where: { !spaces.contains($0) }) else { return false }
    return text[..<end].contains(UInt8(ascii: "\n"))
  }
}

extension ArchiveValue {
  /// Returns the value as JSON represents it, without types, and with strings for dates and similar values.
  func asJSON() throws -> ArchiveValue { try JSONReader().read(JSONWriter().write(self)) }

  /// The kind of the value with an article, for messages.
  var rootName: String {
    switch self {
    case .record(let record): "a record of \(record.typeName)"
    case .null, .data: kind
    default: (kind.first.map { "aeiou".contains($0) } == true ? "an " : "a ") + kind
    }
  }
}
