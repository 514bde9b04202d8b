extension RawSpan {
  @inline(__always)
  func holdsSameBytes(as other: RawSpan) -> Bool {
    byteCount == other.byteCount && occurs(at: 0, in: other)
  }

  /// Whether `other` contains the bytes of this span at the byte offset `start`. `other` must have at least `byteCount` bytes from that
  /// offset on.
  @inline(__always)
  func occurs(at start: Int, in other: RawSpan) -> Bool {
    let count = byteCount
    precondition(start >= 0 && other.byteCount &- start >= count)
    if count < 8 {
      var place = 0
      while place < count {
        if unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
          != other.unsafeLoad(fromUncheckedByteOffset: start &+ place, as: UInt8.self)
        {
          return false
        }
        place &+= 1
      }
      return true
    }
    // The last eight bytes are compared separately. They may overlap the previous word.
    let last = count &- 8
    var place = 0
    while place < last {
      if word(place) != other.word(start &+ place) { return false }
      place &+= 8
    }
    return word(last) == other.word(start &+ last)
  }

  /// A hash of the length, the first eight bytes and the last eight bytes. Lookup tables choose a slot from the highest bits, so the hash
  /// is mixed until the highest bits also differ for most keys.
  @inline(__always)
  var sampledHash: UInt64 {
    let count = byteCount
    var mark: UInt64 = 0
    if count >= 8 {
      mark = word(0) &* 31 ^ word(count &- 8)
    } else {
      var place = 0
      while place < count {
        mark = mark &<< 8 | UInt64(unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self))
        place &+= 1
      }
    }
    let mixed = (mark ^ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15
    return (mixed ^ mixed &>> 29) &* 0xBF58_476D_1CE4_E5B9
  }

  /// Loads the eight bytes at a byte offset of the span. All of them must be inside the span.
  @inline(__always)
  private func word(_ place: Int) -> UInt64 {
    UInt64(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self))
  }
}
