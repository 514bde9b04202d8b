/// The encoded elements of lists. Equal elements have equal bytes, so unchanged elements are found without decoding.
struct ElementBytes: ~Copyable {
  private var writer = ArchiveWriter(includesExcluded: true, usesReferences: false, minimumCapacity: 1 << 16)

  /// Encodes elements into the shared buffer and returns the byte range of each one.
  mutating func add<M: VersionedModel>(_ elements: [M]) throws -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(elements.count)
    // A loop over `enumerated()` would be slow: because `M` is generic, the type of the pairs would be looked up for each element.
    var place = 0
    while place < elements.count {
      let start = writer.buffer.count
      do { try elements[place].write(to: &writer) } catch { throw ArchiveError.at(.index(place), error) }
      ranges.append(start..<writer.buffer.count)
      place += 1
    }
    return ranges
  }

  borrowing func shapes() -> [(number: Int, shape: RecordShape)] { writer.definedShapes }

  borrowing func array() -> [UInt8] { writer.buffer.array() }

  borrowing func withReader<R>(_ body: (inout ArchiveReader) throws -> R) throws -> R {
    let shapes = writer.definedShapes
    return try writer.buffer.withBytes { bytes in
      var reader = ArchiveReader(bytes, context: DecodingContext(includesExcluded: true, finishing: .never))
      reader.define(shapes)
      return try body(&reader)
    }
  }
}

/// The encoded identity of a list element, used as a dictionary key to find the corresponding element of another list.
enum ElementIdentity: Hashable {
  /// An identity of up to seven bytes, packed into an integer together with the number of bytes.
  case short(UInt64)
  case long([UInt8])
}

extension ArchiveReader {
  /// Gives the reader the record shapes that elements refer to. The reader reads single elements, so it does not see the shape definitions
  /// that precede them.
  mutating func define(_ shapes: [(number: Int, shape: RecordShape)]) {
    definitions = shapes.map { Definition(number: $0.number, shape: $0.shape, matching: nil) }
  }

  /// Sets `places` to the byte offset of each field of a record, followed by the end of the last field. Returns `false` if the record has a
  /// different shape.
  mutating func findFields(_ shape: RecordShape, in range: Range<Int>, _ places: inout [Int]) throws -> Bool {
    position = range.lowerBound
    places.removeAll(keepingCapacity: true)
    guard let definition = try beginAnyRecord(), definitions[definition].shape == shape else { return false }
    for _ in shape.keys {
      places.append(position)
      try skipValue()
    }
    places.append(position)
    return true
  }

  mutating func value(at place: Int) throws -> ArchiveValue {
    position = place
    return try readValue()
  }

  /// Whether a value may be a container (an array, a map, a record or a set), judged by its first byte.
  func mayHoldMore(_ range: Range<Int>) -> Bool {
    let initial = bytes.unsafeLoad(fromByteOffset: range.lowerBound, as: UInt8.self)
    return initial >> 5 == CBOR.Major.array || initial >> 5 == CBOR.Major.map || initial == 0xD9
  }

  func areEqual(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    bytes.extracting(one).holdsSameBytes(as: bytes.extracting(other))
  }

  func identity(_ range: Range<Int>) -> ElementIdentity {
    guard range.count < 8 else {
      return .long(range.map { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) })
    }
    var word = UInt64(range.count)
    for place in range { word = word << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self)) }
    return .short(word)
  }
}
