package import Foundation

/// Creates archive members with any stamp and body and with correct checksums, including members that no writer creates.
package enum GzipMember {
  /// Creates an archive with a body and a matching stamp.
  package static func archive(body: Data) -> Data {
    var stamp: [UInt8] = [1, 0]
    append(0, 8, to: &stamp)
    append(-1, 8, to: &stamp)
    append(0, 8, to: &stamp)
    append(body.count, 8, to: &stamp)
    append(1, 8, to: &stamp)
    var file: [UInt8] = []
    append(stamp: stamp + Array("Any".utf8), body: Array(body), to: &file)
    return Data(file)
  }

  /// Appends a member (RFC 1952) whose body is one stored block (RFC 1951 §3.2.4), so it has at most 65,535 bytes.
  package static func append(stamp: [UInt8], body: [UInt8], to file: inout [UInt8]) {
    var header: [UInt8] = [0x1F, 0x8B, 8, 6, 0, 0, 0, 0, 0, 255]
    append(stamp.count + 4, 2, to: &header)
    header += [UInt8(ascii: "S"), UInt8(ascii: "t")]
    append(stamp.count, 2, to: &header)
    header += stamp
    append(Int(crc32(header)), 2, to: &header)
    file += header
    if body.isEmpty {
      file += [3, 0]
    } else {
      file.append(1)
      append(body.count, 2, to: &file)
      append(~body.count, 2, to: &file)
      file += body
    }
    append(Int(crc32(body)), 4, to: &file)
    append(body.count, 4, to: &file)
  }

  private static func append(_ number: Int, _ size: Int, to bytes: inout [UInt8]) {
    for place in 0..<size { bytes.append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
  }

  /// The CRC-32 of gzip (RFC 1952 §8).
  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    var crc: UInt32 = ~0
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }
}
