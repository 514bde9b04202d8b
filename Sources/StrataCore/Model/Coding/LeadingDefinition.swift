/// The encoded record definition of a schema, as it appears at the start of a body. Created once for each type.
///
/// Most bodies begin with this definition. A writer therefore copies the bytes, and a reader that recognizes the bytes does not parse them.
/// If the definition occurs later in a body, each key is written with the same bytes or as a reference to an earlier string.
package final class LeadingDefinition: Sendable {
  let shape: RecordShape
  /// The encoded definition, from the tag of the record to the end of the mark (type name and version).
  private let bytes: [UInt8]
  /// The offset in `bytes` of the low byte of the definition's number. The number differs if the definition is not the first in its body.
  let numberPlace: Int
  /// The end offsets in `bytes` of the keys and of the mark (type name and version) that follows the keys. The first key begins at
  /// ``keysStart``.
  let ends: [Int]
  let keysStart: Int
  /// The keys, followed by the mark (type name and version).
  let texts: [String]
  /// The keys and the mark that get a reference number if the definition is the first in its body. Short texts get no number.
  let numbered: [String]
  /// The strings in the definition to which later parts of the body can refer.
  let strings: StringIndex.Contents
  /// The numbers of values and bytes that a reader of the definition compares with its limits.
  let counts: ReadingCounts
  /// The reader's list of definitions once it has read this definition at the start of a body.
  let definitions: [ArchiveReader.Definition]

  /// Encodes the definition of a shape. Returns `nil` if a writer rejects the shape, or if the mark (type name and version) is equal to one
  /// of the keys.
  init?(of shape: RecordShape, readBy schema: ObjectIdentifier) {
    var writer = ArchiveWriter(minimumCapacity: 256)
    let start = writer.buffer.count
    // If the shape cannot be written, the schema has a mistake, which ``ModelSchema/check()`` reports.
    guard (try? writer.beginRecord(shape)) != nil else { return nil }
    self.shape = shape
    bytes = writer.buffer.array(from: start)
    (strings, counts) = writer.counted(from: start)
    texts = shape.keys + [shape.mark]
    numberPlace = 3 + ByteBuffer.headLength(texts.count + 1) + 2
    keysStart = numberPlace + 1 + ByteBuffer.headLength(texts.count)
    var (ends, numbered): ([Int], [String]) = ([], [])
    for text in texts {
      let count = text.utf8.count
      ends.append((ends.last ?? keysStart) + ByteBuffer.headLength(count) + count)
      if count >= StringIndex.minimumLength(forNumber: UInt64(numbered.count)) { numbered.append(text) }
    }
    (self.ends, self.numbered) = (ends, numbered)
    definitions = [ArchiveReader.Definition(number: 0, shape: shape, matching: schema)]
    // If the mark (type name and version) equals a key, it was written as a reference, and the bytes are shorter than the texts. The
    // offsets would then be wrong.
    guard ends.last == bytes.count else { return nil }
  }

  func write(to buffer: inout ByteBuffer) { bytes.withUnsafeBytes { buffer.append(contentsOf: $0) } }

  /// Returns whether a range of the definition's bytes, by default all of them, occurs at the given position in a body.
  @inline(__always)
  func matches(from start: Int = 0, to end: Int? = nil, at position: Int, of body: RawSpan) -> Bool {
    bytes.withUnsafeBytes { bytes in
      let part = UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)])
      return body.byteCount &- position >= part.count && part.bytes.occurs(at: position, in: body)
    }
  }

  var byteCount: Int { bytes.count }
}

extension ArchiveReader {
  /// Skips a record definition if its bytes match the definition of the current schema.
  ///
  /// - Parameter start: the position of the record's tag.
  /// - Returns: whether the definition was skipped. A definition is not skipped if its shape differs or if its CBOR
  ///   heads are longer than necessary.
  mutating func passDefinition(_ known: LeadingDefinition, at start: Int) throws -> Bool {
    // If the definition may exceed a limit, it is parsed instead of skipped, because the error must name the part that is too long.
    guard known.texts.count < countLimit, known.byteCount < lengthLimit else { return false }
    if strings.count == 0, definitions.isEmpty, known.matches(at: start, of: bytes) {
      position = start &+ known.byteCount
      strings.begin(with: known.numbered)
      definitions = known.definitions
      try passed(known, numbered: strings.count)
      return true
    }
    return try passLaterDefinition(known, at: start)
  }

  @inline(never)
  private mutating func passLaterDefinition(_ known: LeadingDefinition, at start: Int) throws -> Bool {
    let numberPlace = start &+ known.numberPlace
    guard known.matches(to: known.numberPlace, at: start, of: bytes),
      known.matches(from: known.numberPlace &+ 1, to: known.keysStart, at: numberPlace &+ 1, of: bytes)
    else { return false }
    let before = strings.count
    var place = start &+ known.keysStart
    var (keyStart, referred) = (known.keysStart, 0)
    for (text, end) in zip(known.texts, known.ends) {
      if known.matches(from: keyStart, to: end, at: place, of: bytes) {
        place &+= end &- keyStart
        if text.utf8.count >= StringIndex.minimumLength(forNumber: UInt64(strings.count)) { _ = strings.append(text) }
      } else {
        guard let end = endOfReference(to: text, at: place) else {
          strings.removeAll(from: before)
          return false
        }
        referred &+= text.utf8.count
        place = end
      }
      keyStart = end
    }
    position = place
    try context.budget.spend(bytes: referred)
    try passed(known, numbered: strings.count &- before)
    let number = Int(bytes.unsafeLoad(fromUncheckedByteOffset: numberPlace, as: UInt8.self))
    _ = define(Definition(number: number, shape: known.shape, matching: known.definitions[0].matching))
    return true
  }

  /// Charges a skipped definition to the work budget, as if the definition had been parsed.
  private mutating func passed(_ known: LeadingDefinition, numbered: Int) throws {
    let keyCount = known.shape.keys.count
    try context.budget.spend(values: 2 &* keyCount &+ 5 &+ WorkBudget.values(ofDefinition: keyCount))
    try context.budget.spend(weight: 2 &* WorkBudget.ofCollection &+ numbered &* WorkBudget.ofText)
  }

  /// Returns the position after a string reference that begins at `start`. Returns `nil` unless the reference is in its shortest form and
  /// refers to the given text.
  private func endOfReference(to text: String, at start: Int) -> Int? {
    guard bytes.byteCount &- start >= 5, byte(start) == 0xD8, byte(start &+ 1) == UInt8(CBOR.Tag.stringReference) else {
      return nil
    }
    let (number, end): (Int, Int)
    switch byte(start &+ 2) {
    case let small where small < 24: (number, end) = (Int(small), start &+ 3)
    case 24: (number, end) = (Int(byte(start &+ 3)), start &+ 4)
    case 25: (number, end) = (Int(byte(start &+ 3)) << 8 | Int(byte(start &+ 4)), start &+ 5)
    default: return nil
    }
    guard strings.isKept, number < strings.count, let referred = strings.text(number),
      ExactKey.isSame(referred, text)
    else { return nil }
    return end
  }
}
