/// The SHA-256 hash function (FIPS 180-4). Stores use digests to find content that they already contain.
package enum SHA256 {
  /// The size of a digest in bytes.
  package static let size = 32
  private static let blockSize = 64

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  package static func digest(of bytes: RawSpan) -> [UInt8] {
    var state: [UInt32] = [
      0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    var words = [UInt32](repeating: 0, count: 64)
    let whole = bytes.byteCount / blockSize * blockSize
    for start in stride(from: 0, to: whole, by: blockSize) {
      mix(bytes.extracting(start..<start + blockSize), into: &state, &words)
    }
    // The padding is a byte 0x80, zeros, and the number of bits in the last eight bytes of a block.
    var rest = bytes.extracting(whole..<bytes.byteCount).withUnsafeBytes { Array($0) }
    rest.append(0x80)
    while rest.count % blockSize != blockSize - 8 { rest.append(0) }
    let bits = UInt64(bytes.byteCount) &* 8
    for shift in stride(from: 56, through: 0, by: -8) { rest.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    for start in stride(from: 0, to: rest.count, by: blockSize) {
      mix(rest.bytes.extracting(start..<start + blockSize), into: &state, &words)
    }
    return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * $0)) } }
  }

  // Unsafe buffers and masking shifts keep this code fast in unoptimized builds, which otherwise call a function for each array access and
  // for each shift by a variable count.
  private static func mix(_ block: RawSpan, into state: inout [UInt32], _ words: inout [UInt32]) {
    words.withUnsafeMutableBufferPointer { words in
      for place in 0..<16 {
        words[place] = UInt32(bigEndian: block.unsafeLoadUnaligned(fromByteOffset: place * 4, as: UInt32.self))
      }
      for place in 16..<64 {
        let early = words[place - 15], late = words[place - 2]
        words[place] =
          words[place - 16] &+ (rotatedRight(early, 7) ^ rotatedRight(early, 18) ^ early &>> 3)
          &+ words[place - 7] &+ (rotatedRight(late, 17) ^ rotatedRight(late, 19) ^ late &>> 10)
      }
      constants.withUnsafeBufferPointer { compress(&state, UnsafeBufferPointer(words), $0) }
    }
  }

  private static func compress(
    _ state: inout [UInt32], _ words: UnsafeBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
  ) {
    var (a, b, c, d, e, f, g, h) = (
      state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    )
    for place in 0..<64 {
      let first =
        h &+ (rotatedRight(e, 6) ^ rotatedRight(e, 11) ^ rotatedRight(e, 25)) &+ (e & f ^ ~e & g) &+ constants[place]
        &+ words[place]
      let second = (rotatedRight(a, 2) ^ rotatedRight(a, 13) ^ rotatedRight(a, 22)) &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (place, value) in [a, b, c, d, e, f, g, h].enumerated() { state[place] &+= value }
  }

  @inline(__always)
  private static func rotatedRight(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word &>> count | word &<< (32 &- count)
  }
}
