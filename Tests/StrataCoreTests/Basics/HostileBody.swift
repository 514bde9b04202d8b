import Foundation

@testable import StrataCore

/// A body that only an attacker would write.
struct HostileBody {
  private(set) var bytes: [UInt8] = [0xD9, 0x01, 0x00]

  mutating func raw(_ more: UInt8...) { bytes += more }

  mutating func head(_ major: UInt8, _ argument: Int) {
    var buffer = ByteBuffer(minimumCapacity: 16)
    buffer.appendHead(major, UInt64(argument))
    bytes += buffer.array()
  }

  mutating func `repeat`(_ piece: [UInt8], _ count: Int) {
    var pieces = piece
    while pieces.count < piece.count * count { pieces += pieces.prefix(piece.count * count - pieces.count) }
    bytes += count == 0 ? [] : pieces
  }

  mutating func integer(_ value: Int) { head(CBOR.Major.unsigned, value) }
  mutating func array(_ count: Int) { head(CBOR.Major.array, count) }
  mutating func map(_ count: Int) { head(CBOR.Major.map, count) }

  mutating func set(_ count: Int) {
    head(CBOR.Major.tag, Int(CBOR.Tag.set))
    array(count)
  }

  mutating func text(_ text: String) {
    head(CBOR.Major.text, text.utf8.count)
    bytes += text.utf8
  }

  mutating func data(_ data: [UInt8]) {
    head(CBOR.Major.bytes, data.count)
    bytes += data
  }

  /// Writes a reference to an earlier string.
  mutating func reference(_ number: Int) {
    head(CBOR.Major.tag, Int(CBOR.Tag.stringReference))
    integer(number)
  }

  /// Writes a record that defines its own type.
  mutating func record(_ mark: String, _ keys: [String]) {
    head(CBOR.Major.tag, Int(CBOR.Tag.inlineRecord))
    array(keys.count + 2)
    integer(57344)
    array(keys.count + 1)
    for key in keys { text(key) }
    text(mark)
  }

  /// Returns an archive with this body.
  func archive(typeName: String = "Value", modelVersion: Int? = nil) throws -> Data {
    var file: [UInt8] = []
    let stamp = Stamp(
      typeName: typeName, modelVersion: modelVersion, fingerprint: 0, plainSize: UInt64(bytes.count), count: 1)
    try Gzip.appendMember(body: bytes.bytes, stamp: stamp, level: .best, to: &file)
    return Data(file)
  }
}

/// Values whose hashes are equal, or that are not equal even to themselves.
enum Lookalikes: String, CaseIterable, Codable, Sendable {
  case notANumber, decimal, data, url

  /// Writes one such value. Different numbers give different values.
  func write(_ number: Int, to body: inout HostileBody) {
    switch self {
    case .notANumber: body.raw(0xFB, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0)
    case .decimal:
      // The value is 10^37 + number. All of these values round to the same double.
      body.raw(0xC4, 0x82, 0x00)
      let digits = "1" + String(repeating: "0", count: 37)
      let mantissa = (UInt128(digits) ?? 0) + UInt128(number)
      body.raw(0xC2)
      body.data((0..<16).map { UInt8(truncatingIfNeeded: mantissa >> UInt128(8 * (15 - $0))) })
    case .data:
      body.data([UInt8](repeating: 7, count: 96) + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    case .url:
      body.head(CBOR.Major.tag, Int(CBOR.Tag.genericObject))
      body.array(3)
      body.text("URL")
      body.text("a")
      body.text("http://host/\(number)/")
    }
  }
}
