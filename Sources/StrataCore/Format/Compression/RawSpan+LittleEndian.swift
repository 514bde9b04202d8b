// Bounds-checked loads of the little-endian numbers in gzip files (RFC 1952 §2.1).

extension RawSpan {
  /// Returns the number that starts at `offset`; `nil` if the span ends before the end of the number.
  package func littleEndian<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type) -> T? {
    guard offset >= 0, offset <= byteCount, byteCount - offset >= MemoryLayout<T>.size else { return nil }
    return T(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
  }
}

extension Array where Element == UInt8 {
  /// Appends the bytes of a number, lowest byte first.
  @inlinable package mutating func appendLittleEndian<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    for shift in stride(from: 0, to: T.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
  }
}
