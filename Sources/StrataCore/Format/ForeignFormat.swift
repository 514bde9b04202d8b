/// The format of data that was passed to the wrong reader, detected from the first bytes of the data.
package enum ForeignFormat {
  case json, binaryPropertyList, xml, gzip

  private static let spaces: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]

  /// Detects the format of data. Returns `nil` if the format is not recognized.
  ///
  /// - Parameter bytes: the data. Only the first 512 bytes are examined.
  package init?(_ bytes: RawSpan) {
    var start = bytes.extracting(first: 512).withUnsafeBytes { Array($0) }[...]
    if start.starts(with: [0x1F, 0x8B]) {
      self = .gzip
      return
    }
    if start.starts(with: "bplist".utf8) {
      self = .binaryPropertyList
      return
    }
    if start.starts(with: [0xEF, 0xBB, 0xBF]) { start = start.dropFirst(3) }
    let text = start.drop { Self.spaces.contains($0) }
    if ["<?xml", "<!DOCTYPE pl", "<plist"].contains(where: { text.starts(with: $0.utf8) }) {
      self = .xml
    } else if Self.isJSON(text) {
      self = .json
    } else {
      return nil
    }
  }

  /// Returns whether the text begins like JSON. A single number is not recognized as JSON.
  private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
    let next = text.dropFirst().first { !spaces.contains($0) }
    switch text.first {
    case UInt8(ascii: "["), UInt8(ascii: "\""): return true
    case UInt8(ascii: "{"): return next == nil || next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
    default:
      let word = text.reversed().drop { spaces.contains($0) }.reversed()
      return ["true", "false", "null"].contains { word.elementsEqual($0.utf8) }
    }
  }

  /// The last part of an error message. It names the likely format and the API that reads this format.
  package var advice: String {
    switch self {
    case .json: "the data looks like JSON; read it with init(fromJSON:), JSONReader or JSONAdapter"
    case .binaryPropertyList: "the data looks like a property list; read it with KeyedArchive or PropertyListReader"
    case .xml: "the data looks like XML; if it is a property list, read it with KeyedArchive or PropertyListReader"
    case .gzip: "the data is compressed with gzip; if it is an archive, read it with ArchiveDecoder"
    }
  }
}
