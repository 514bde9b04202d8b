/// Checks whether the encoded elements of a set, or the encoded keys of a map, are scalars in ascending byte order, which is how writers
/// sort them. Elements in this order contain no duplicates, so a reader does not need to hash them to find duplicates.
struct AscendingScalars {
  private var last = 0..<0
  private(set) var isAscending = true

  /// Adds the next element and compares it with the previous one.
  ///
  /// - Parameter element: the range of the encoded element in `bytes`.
  @inline(__always)
  mutating func add(_ element: Range<Int>, in bytes: RawSpan) {
    guard isAscending else { return }
    isAscending = Self.hasOneEncoding(element, in: bytes) && (last.isEmpty || Self.precedes(last, element, in: bytes))
    last = element
  }

  /// Returns whether the element is an integer, a string or data in its shortest encoding, or has the CBOR major type 7 (floating-point
  /// numbers and simple values).
  private static func hasOneEncoding(_ element: Range<Int>, in bytes: RawSpan) -> Bool {
    guard let initial = byte(bytes, element.lowerBound) else { return false }
    switch initial >> 5 {
    case CBOR.Major.unsigned, CBOR.Major.negative, CBOR.Major.text, CBOR.Major.bytes: break
    case CBOR.Major.simple: return true
    default: return false
    }
    // CBOR allows heads that are longer than necessary. A value with such a head also has a shorter encoding, so this function returns
    // `false`.
    let start = element.lowerBound + 1
    switch initial & 0x1F {
    case 0..<24: return true
    case 24: return (byte(bytes, start) ?? 0) >= 24
    case 25: return (byte(bytes, start) ?? 0) > 0
    case 26: return (byte(bytes, start) ?? 0) > 0 || (byte(bytes, start + 1) ?? 0) > 0
    default: return (0..<4).contains { (byte(bytes, start + $0) ?? 0) > 0 }
    }
  }

  private static func precedes(_ one: Range<Int>, _ other: Range<Int>, in bytes: RawSpan) -> Bool {
    for offset in 0..<min(one.count, other.count) {
      let (left, right) = (byte(bytes, one.lowerBound + offset), byte(bytes, other.lowerBound + offset))
      guard let left, let right else { return false }
      if left != right { return left < right }
    }
    return one.count < other.count
  }

  @inline(__always)
  private static func byte(_ bytes: RawSpan, _ offset: Int) -> UInt8? {
    offset < bytes.byteCount ? bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self) : nil
  }
}
