package import Foundation
package import StrataCore

/// A delta that creates the bytes of a row (the target) from the bytes of an earlier row (the base). It consists of copies from
/// any offset of the base, and of new bytes. The format is:
///
///     size of the target, CRC-32 of the target (4 bytes), size of the script or 0, script
///
/// The script begins with the number of copies. Each copy is described by three numbers: the number of new bytes before the copy,
/// the length of the copy, and the copy's offset relative to the end of the previous copy. The script ends with all new bytes.
/// Numbers are encoded as LEB128, and relative offsets as zigzag LEB128. If the size of the script is not 0, the script is
/// compressed with DEFLATE, and the base is used as the dictionary. New text that repeats words of the base is therefore short.
/// If the size is 0, the script is uncompressed.
///
/// Copies can have any offset, so the delta for a small change is short even in a large document. Only the dictionary is
/// limited to the window of DEFLATE.
package enum RowDelta {
  /// Returns a delta that creates the target from the base.
  ///
  /// - Parameter deflates: whether the script may be compressed.
  /// - Returns: the delta, or `nil` if the delta would save less than an eighth of the target. The script is compressed only if
  ///   compression saves more than an eighth of the script, because the number of decompressions for reading a revision is
  ///   limited.
  package static func encode(_ target: [UInt8], from base: [UInt8], deflates: Bool = true) throws -> Data? {
    let script = Self.script(of: target, from: base)
    var output = RowNumbers()
    output.append(target.count)
    let crc = Checksum.crc32(of: target.bytes)
    for shift in [0, 8, 16, 24] { output.bytes.append(UInt8(truncatingIfNeeded: crc >> UInt32(shift))) }
    var deflated: [UInt8] = []
    if deflates, script.count > Self.shortest {
      try PrimedDeflate.deflate(script.bytes, dictionary: base.bytes, to: &deflated)
    }
    if !deflated.isEmpty, deflated.count < script.count - script.count / 8 {
      output.append(script.count)
      output.bytes.append(contentsOf: deflated)
    } else {
      output.append(0)
      output.bytes.append(contentsOf: script)
    }
    return output.bytes.count <= target.count - target.count / 8 ? Data(output.bytes) : nil
  }

  /// The size in bytes up to which a script is not compressed, because compression would not save space.
  private static let shortest = 16

  /// Returns whether the script of a delta is compressed. The result for a damaged delta is arbitrary.
  package static func isDeflated(_ delta: Data) -> Bool {
    var input = RowNumberReader(Array(delta.prefix(24)))
    guard input.number() != nil, input.crc() != nil else { return false }
    return input.number() != 0
  }

  /// Applies a delta to its base and returns the target.
  ///
  /// - Throws: ``StoreError`` with the code `damaged`, or `ArchiveError` if the compressed data is damaged.
  package static func apply(_ delta: Data, to base: [UInt8], limits: ArchiveLimits) throws -> [UInt8] {
    var input = RowNumberReader(Array(delta))
    guard let size = input.number(), size <= limits.inflatedSize, let crc = input.crc(),
      let scriptSize = input.number(),
      scriptSize <= limits.inflatedSize
    else { throw damage }
    var script = input
    if scriptSize > 0 {
      var plain: [UInt8] = []
      let rest = input.bytes[input.position...]
      guard
        try PrimedDeflate.inflate(rest.span.bytes, dictionary: base.bytes, size: scriptSize, to: &plain)
          == rest.count
      else { throw damage }
      script = RowNumberReader(plain)
    }
    guard let count = script.number(), count <= script.bytes.count else { throw damage }
    var copies: [Copy] = []
    var place = 0, copied = 0
    for _ in 0..<count {
      guard let new = script.number(), let length = script.number(), let distance = script.distance() else {
        throw damage
      }
      let (start, overflows) = place.addingReportingOverflow(distance)
      guard !overflows, start >= 0, length >= 0, start <= base.count, length <= base.count - start,
        length <= size - copied
      else { throw damage }
      copies.append(Copy(new: new, start: start, length: length))
      copied += length
      place = start + length
    }
    guard script.bytes.count - script.position == size - copied else { throw damage }
    var output: [UInt8] = []
    output.reserveCapacity(size)
    var position = script.position
    for copy in copies {
      guard copy.new <= script.bytes.count - position else { throw damage }
      output.append(contentsOf: script.bytes[position..<position + copy.new])
      position += copy.new
      output.append(contentsOf: base[copy.start..<copy.start + copy.length])
    }
    output.append(contentsOf: script.bytes[position...])
    guard output.count == size, Checksum.crc32(of: output.bytes) == crc else { throw damage }
    return output
  }

  private static var damage: StoreError {
    StoreError(.damaged, "a row in the history is damaged; check the store, then salvage it")
  }

  private struct Copy {
    /// The number of new bytes that precede the copied bytes.
    var new: Int
    var start: Int
    var length: Int
  }

  private static func script(of target: [UInt8], from base: [UInt8]) -> [UInt8] {
    let copies = copies(of: target, from: base)
    var output = RowNumbers()
    output.append(copies.count)
    var place = 0
    for copy in copies {
      output.append(copy.new)
      output.append(copy.length)
      output.append(distance: copy.start - place)
      place = copy.start + copy.length
    }
    var position = 0
    for copy in copies {
      output.bytes.append(contentsOf: target[position..<position + copy.new])
      position += copy.new + copy.length
    }
    output.bytes.append(contentsOf: target[position...])
    return output.bytes
  }

  /// Returns the parts of the target that also occur in the base. Finds them by comparing eight-byte words.
  ///
  /// - Complexity: linear in the sizes of both arrays.
  private static func copies(of target: [UInt8], from base: [UInt8]) -> [Copy] {
    let words = BaseWords(base)
    var copies: [Copy] = []
    var position = 0, written = 0
    // The offset in the base minus the offset in the target, for the last copy. The next copy usually has the same difference.
    var shift = 0
    while position + BaseWords.size <= target.count {
      guard let found = words.place(of: target, at: position, expected: position + shift) else {
        position += 1
        continue
      }
      var front = 0
      while position - front > written, found > front, target[position - front - 1] == base[found - front - 1] {
        front += 1
      }
      var length = BaseWords.size
      while position + length < target.count, found + length < base.count,
        target[position + length] == base[found + length]
      { length += 1 }
      copies.append(Copy(new: position - front - written, start: found - front, length: front + length))
      shift = found - position
      position += length
      written = position
    }
    return copies
  }
}

/// A hash table of the eight-byte words in the base.
private struct BaseWords {
  static let size = 8
  private static let mostEntries = 1 << 16

  private let base: [UInt8]
  /// For each hash, 1 plus the offset of a word with this hash in the base, or 0 if there is no such word.
  private var table: [Int32]
  private let shift: UInt64

  init(_ base: [UInt8]) {
    self.base = base
    // In a large document, only every `step`th word is entered in the table. This suffices, because matches are extended in
    // both directions.
    let step = max(1, base.count / Self.mostEntries)
    let bits = max(6, min(17, Int.bitWidth - (base.count / step).leadingZeroBitCount + 1))
    shift = UInt64(64 - bits)
    table = Array(repeating: 0, count: 1 << bits)
    guard base.count < Int(Int32.max) else { return }
    for place in stride(from: 0, through: base.count - Self.size, by: step) {
      let slot = Int((Self.word(base, place) &* 0x9E37_79B9_7F4A_7C15) >> shift)
      if table[slot] == 0 { table[slot] = Int32(place + 1) }
    }
  }

  /// Finds the eight-byte word at `position` of the target in the base and returns its offset in the base. Returns `nil` if the
  /// word is not found. Tries the expected offset first.
  func place(of target: [UInt8], at position: Int, expected: Int) -> Int? {
    let word = Self.word(target, position)
    if expected >= 0, expected <= base.count - Self.size, Self.word(base, expected) == word { return expected }
    let found = Int(table[Int((word &* 0x9E37_79B9_7F4A_7C15) >> shift)]) - 1
    guard found >= 0, Self.word(base, found) == word else { return nil }
    return found
  }

  private static func word(_ bytes: [UInt8], _ place: Int) -> UInt64 {
    bytes.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
  }
}

/// An encoder for LEB128 numbers, which have seven bits per byte, lowest bits first.
private struct RowNumbers {
  var bytes: [UInt8] = []

  mutating func append(_ number: Int) { append(UInt64(number)) }

  /// Appends a possibly negative number in zigzag encoding, with the sign in the lowest bit.
  mutating func append(distance: Int) { append(UInt64(bitPattern: Int64(distance << 1 ^ distance >> 63))) }

  private mutating func append(_ number: UInt64) {
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }
}

private struct RowNumberReader {
  let bytes: [UInt8]
  var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func number() -> Int? { word().flatMap { Int(exactly: $0) } }

  mutating func distance() -> Int? { word().map { Int(Int64(bitPattern: $0 >> 1)) ^ -Int($0 & 1) } }

  mutating func crc() -> UInt32? {
    guard bytes.count - position >= 4 else { return nil }
    defer { position += 4 }
    return bytes[position..<position + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private mutating func word() -> UInt64? {
    var number: UInt64 = 0
    for shift in stride(from: 0, to: 63, by: 7) {
      guard position < bytes.count else { return nil }
      let byte = bytes[position]
      position += 1
      number |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte < 0x80 { return number }
    }
    return nil
  }
}
