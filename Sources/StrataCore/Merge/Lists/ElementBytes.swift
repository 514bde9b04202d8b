/// The elements of lists as bytes that are equal where the elements are, so that most elements are compared and no
/// more.
struct ElementBytes: ~Copyable {
  private var writer = ArchiveWriter(includesExcluded: true, usesReferences: false, minimumCapacity: 1 << 16)

  /// The bytes of each of the elements.
  mutating func add<M: VersionedModel>(_ elements: [M]) throws -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(elements.count)
    // An enumerated sequence would ask for the type of its pairs each time, since the type is not known here.
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
      var reader = ArchiveReader(bytes, context: DecodingContext(includesExcluded: true, finishesModels: false))
      reader.define(shapes)
      return try body(&reader)
    }
  }
}

/// The identity of an element, as bytes.
enum ElementIdentity: Hashable {
  /// Up to seven bytes, with their number after them.
  case short(UInt64)
  case long([UInt8])
}

extension ArchiveReader {
  /// Makes records readable whose definitions are elsewhere.
  mutating func define(_ shapes: [(number: Int, shape: RecordShape)]) {
    definitions = shapes.map { Definition(number: $0.number, shape: $0.shape, matching: nil) }
  }

  /// The offsets of the fields of a record, and of the end of the last; `false` where the record has another shape.
  mutating func findFields(_ shape: RecordShape, in range: Range<Int>, _ places: inout [Int]) throws -> Bool {
    position = range.lowerBound
    places.removeAll(keepingCapacity: true)
    guard let definition = try beginAnyRecord(), definitions[definition].shape == shape else { return false }
    for _ in shape.keys {
      places.append(position)
      try skipItem()
    }
    places.append(position)
    return true
  }

  mutating func value(at place: Int) throws -> Value {
    position = place
    return try readValue()
  }

  /// Passes one value, whatever it is (RFC 8949 §3).
  mutating func skipItem() throws {
    var remaining: UInt64 = 1
    while remaining > 0 {
      remaining &-= 1
      let initial = try readByte()
      let argument = try readArgument(initial)
      var inside: UInt64 = 0
      switch initial >> 5 {
      case CBOR.Major.bytes, CBOR.Major.text:
        guard argument <= UInt64(bytes.byteCount - position) else {
          throw ArchiveError.damaged("a string goes beyond the body", at: position)
        }
        position &+= Int(argument)
      case CBOR.Major.array: inside = argument
      case CBOR.Major.map: inside = argument &* 2
      case CBOR.Major.tag: inside = 1
      default: break
      }
      guard inside > 0 else { continue }
      guard inside <= UInt64(bytes.byteCount) else {
        throw ArchiveError.damaged("a collection goes beyond the body", at: position)
      }
      remaining &+= inside
    }
  }

  /// Whether a value may have others inside: arrays, maps, records and sets.
  func mayHoldMore(_ range: Range<Int>) -> Bool {
    let initial = bytes.unsafeLoad(fromByteOffset: range.lowerBound, as: UInt8.self)
    return initial >> 5 == CBOR.Major.array || initial >> 5 == CBOR.Major.map || initial == 0xD9
  }

  /// Whether two stretches have the same bytes.
  func areEqual(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    guard one.count == other.count else { return false }
    var (left, right) = (one.lowerBound, other.lowerBound)
    while one.upperBound - left >= 8 {
      guard
        bytes.unsafeLoadUnaligned(fromByteOffset: left, as: UInt64.self)
          == bytes.unsafeLoadUnaligned(fromByteOffset: right, as: UInt64.self)
      else { return false }
      left += 8
      right += 8
    }
    while left < one.upperBound {
      guard
        bytes.unsafeLoad(fromByteOffset: left, as: UInt8.self)
          == bytes.unsafeLoad(fromByteOffset: right, as: UInt8.self)
      else { return false }
      left += 1
      right += 1
    }
    return true
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
