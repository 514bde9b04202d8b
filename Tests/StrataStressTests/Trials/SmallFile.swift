import Foundation
import StrataCore

/// An archive of less than 64 KB that repeats one kind of value, so that it decompresses to as many bytes as possible.
struct SmallFile: Codable, Sendable, CustomStringConvertible {
  /// The kind of value.
  enum Scalar: String, CaseIterable, Codable, Sendable {
    case null, integer, double, negative, wide, narrowWide, wideReference, decimal, longDecimal, endDecimal, url,
      longURL, urlReference, relativeURL, baseReference, uuid, uuidReference, data, longData, dataReference, text,
      longText,
      textReference, number, date, exactDate, emptyArray, emptyMap
  }

  /// The kind of container that holds the values.
  enum Container: String, CaseIterable, Codable, Sendable {
    case array, rows, nested, pairs, objects, records, set, sets, keys, dictionary
  }

  let scalar: Scalar
  let container: Container
  /// The number of different values that repeat in turn.
  let variants: Int

  static let largest = 65_535
  private static let bodySize = 60 << 20

  var description: String { "\(scalar) in \(container), \(variants) different" }

  func archive() throws -> Data {
    // Starts with as many values as the body may have, and reduces their number until the file is small enough.
    var count = Self.bodySize / max(1, one(0, isFirst: false).count)
    while true {
      // The number of a dictionary's keys is limited: they must be distinct, so each key makes the file larger.
      let file = try Self.archive(body(min(count, container == .dictionary ? 100_000 : 1 << 24)))
      if file.count <= Self.largest { return file }
      count = min(count * 9 / 10, count * Self.largest / file.count)
    }
  }

  private static func archive(_ body: [UInt8]) throws -> Data {
    var file: [UInt8] = []
    let stamp = Stamp(typeName: "Value", plainSize: UInt64(body.count))
    try Gzip.appendMember(body: body.bytes, stamp: stamp, level: .best, to: &file)
    return Data(file)
  }

  private func body(_ count: Int) -> [UInt8] {
    var body = ByteBuffer(minimumCapacity: 64)
    body.appendHead(CBOR.Major.tag, CBOR.Tag.stringNamespace)
    if container == .set { body.appendHead(CBOR.Major.tag, CBOR.Tag.set) }
    let isMap = container == .keys || container == .dictionary
    body.appendHead(isMap ? CBOR.Major.map : CBOR.Major.array, UInt64(count))
    var bytes = body.array() + one(0, isFirst: true)
    let turn = (1...max(1, variants)).flatMap { one($0, isFirst: false) }
    var rest = turn
    // Repeats the whole sequence of variants as often as it fits, and then adds individual variants until the file has `count` elements.
    if container == .dictionary {
      rest = (1..<max(2, count)).flatMap { one($0, isFirst: false) }
    } else {
      let size = turn.count * ((count - 1) / max(1, variants))
      while rest.count < size { rest += rest.prefix(size - rest.count) }
      rest = Array(rest.prefix(size))
      for place in 0..<(count - 1) % max(1, variants) { rest += one(place + 1, isFirst: false) }
    }
    bytes += rest
    return bytes
  }

  /// One element of the container.
  private func one(_ variant: Int, isFirst: Bool) -> [UInt8] {
    let value = value(variant, isFirst: isFirst)
    switch container {
    case .array, .set: return value
    case .rows: return [0x81] + value
    case .nested: return [UInt8](repeating: 0x81, count: 400) + value
    case .pairs: return [0xA1, 0x00] + value
    case .objects: return [0xA1, 0x60] + value
    case .records:
      let definition: [UInt8] = [0xD9, 0xDF, 0xFF, 0x83, 0x19, 0xE0, 0x00, 0x82, 0x61, 0x6B, 0x61, 0x4E]
      return (isFirst ? definition : [0xD9, 0xE0, 0x00, 0x81]) + value
    case .sets: return [0xD9, 0x01, 0x02, 0x81] + value
    case .keys: return value + [0x00]
    case .dictionary: return text("k" + String(variant, radix: 36)) + value
    }
  }

  private func value(_ variant: Int, isFirst: Bool) -> [UInt8] {
    let two = [UInt8(truncatingIfNeeded: variant >> 8), UInt8(truncatingIfNeeded: variant)]
    let name = String(variant, radix: 36)
    func bytes(_ count: Int) -> [UInt8] { head(2, count) + [UInt8](repeating: 0xFF, count: count - 2) + two }
    func named(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { (tag < 24 ? [0xC0 | tag] : [0xD8, tag]) + content }
    /// Writes the first value in full. Later values refer to it.
    func repeated(_ first: [UInt8], number: UInt8 = 0) -> [UInt8] { isFirst ? first : [0xD8, 0x19, number] }
    switch scalar {
    case .null: return [0xF6]
    case .integer: return head(0, variant)
    case .double: return [0xFB, 0x3F, 0xF0, 0, 0, 0, 0] + two
    case .negative: return [0x3B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + two
    case .wide: return [0xC2] + bytes(16)
    case .narrowWide: return [0xC2, 0x42] + two
    case .wideReference: return [0xC2] + repeated(bytes(16))
    case .decimal: return [0xC4, 0x82, 0x18, 0x7F] + head(0, variant + 1)
    case .longDecimal: return [0xC4, 0x82, 0x38, 0x7F, 0xC2] + bytes(16)
    case .endDecimal: return [0xC4, 0x82, 0x18, 0x8C] + head(0, variant % 9 + 1)
    case .url: return named(32, text("a:" + name))
    case .longURL: return named(32, text("http://example.org/a/longer/path/" + name))
    case .urlReference: return named(32, repeated(text("http://example.org/")))
    case .relativeURL: return named(27, [0x83] + text("URL") + text(name) + text("b:/"))
    case .baseReference:
      return named(27, [0x83] + text("URL") + text("../" + name) + repeated(text("http://e.org/a/"), number: 1))
    case .uuid: return named(37, bytes(16))
    case .uuidReference: return named(37, repeated(bytes(16)))
    case .data: return bytes(6)
    case .longData: return bytes(16)
    case .dataReference: return repeated(bytes(20))
    case .text: return text("abcde" + name)
    case .longText: return text("sixteen bytes and " + name)
    case .textReference: return repeated(text("sixteen bytes and more"))
    case .number: return named(27, [0x82] + text("number") + text("1e99999999999" + String(variant)))
    case .date: return [0xC1] + head(0, variant)
    case .exactDate: return named(27, [0x82] + text("Date.2001") + [0xFB, 0x3F, 0xF0, 0, 0, 0, 0] + two)
    case .emptyArray: return [0x80]
    case .emptyMap: return [0xA0]
    }
  }

  private func head(_ major: UInt8, _ argument: Int) -> [UInt8] {
    var buffer = ByteBuffer(minimumCapacity: 16)
    buffer.appendHead(major, UInt64(argument))
    return buffer.array()
  }

  private func text(_ text: String) -> [UInt8] { head(CBOR.Major.text, text.utf8.count) + text.utf8 }
}
