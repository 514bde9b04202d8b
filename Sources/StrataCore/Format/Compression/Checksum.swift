internal import CZlib

/// The CRC-32 of gzip (RFC 1952 §8).
package enum Checksum {
  /// Returns the checksum of `bytes`. If the bytes continue earlier bytes, `previous` is the checksum of the earlier
  /// bytes.
  package static func crc32(of bytes: RawSpan, continuing previous: UInt32 = 0) -> UInt32 {
    // The pointer to empty bytes can be null, and zlib interprets a null pointer as a request for the initial value.
    guard !bytes.isEmpty else { return previous }
    let value = bytes.withUnsafeBytes {
      crc32_z(uLong(previous), $0.bindMemory(to: Bytef.self).baseAddress, $0.count)
    }
    return UInt32(truncatingIfNeeded: value)
  }
}
