package import Foundation

/// Reads the fields of a model. A reader is the argument of a model's `init(fields:)`.
///
/// If an archive was written with the model's current version and fields, the reader reads the fields from consecutive bytes of the CBOR
/// body. Otherwise the reader looks up each field in an upgraded record or in a JSON object. The code of a model is the same in all cases.
public struct ArchiveReader: ~Copyable, ~Escapable {
  package let bytes: RawSpan
  @usableFromInline package var position: Int
  package var strings = NumberedStrings()
  package var definitions: [Definition] = []
  package var depth = 0
  /// The field values of an upgraded record; `nil` for a reader of CBOR bytes, and empty for a reader of a JSON object.
  package var values: FieldValues?
  /// The tokens of the JSON document whose text is in `bytes`; empty for a reader of an archive.
  let jsonTokens: JSONTokens
  /// For each field of the schema, the index in `jsonTokens` of the token for the field's value.
  @usableFromInline var jsonPlaces: [Int] = []
  package var unknownFields = UnknownFields()
  package var failedField = -1
  package var usesReferences = false
  /// Whether the reader is reading an object of a graph, whose fields may refer to objects that have not been decoded yet. Most other data
  /// about graphs is stored in the context, because a larger reader would slow down the decoding of every archive.
  @usableFromInline package var isObjectFrame = false
  /// The index in the schema of the first field of the superclass being read; 0 if no superclass is being read. It is
  /// added to the field indices that the superclass uses.
  @usableFromInline package var placeOffset: UInt16 = 0
  @usableFromInline package let context: DecodingContext

  /// A record definition in the archive, with the identity of the schema that it matches.
  package struct Definition {
    let number: Int
    let shape: RecordShape
    var matching: ObjectIdentifier?
    /// The class of the records; `nil` until it has been looked up.
    var objectType: (any VersionedModel.Type)?
  }

  /// Creates a reader for a CBOR body.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, context: DecodingContext) {
    self.bytes = bytes
    jsonTokens = JSONTokens()
    self.context = context
    position = 0
  }

  /// Creates a reader for the fields of a record.
  @_lifetime(immortal)
  package init(_ values: FieldValues, unknownFields: UnknownFields, context: DecodingContext) {
    bytes = RawSpan()
    jsonTokens = JSONTokens()
    position = 0
    self.context = context
    self.values = values
    self.unknownFields = unknownFields
  }

  /// Creates a reader for the members of a JSON object.
  @_lifetime(copy element)
  init(json element: JSONElement, places: [Int], context: DecodingContext) {
    bytes = element.bytes
    // The position is set to the end, so that functions for CBOR bytes fail instead of reading the JSON text.
    position = element.bytes.byteCount
    jsonTokens = element.tokens
    jsonPlaces = places
    self.context = context
    values = .slots([])
  }

  // These limits are read from the context instead of being stored in the reader. A small reader is faster to pass from
  // field to field.
  package var depthLimit: Int { context.limits.depth }
  package var countLimit: Int { context.limits.count }
  package var lengthLimit: Int { context.limits.stringLength }

  // MARK: Position

  /// The current position in the bytes, together with the state that is needed to return to it with ``goBack(to:)``.
  @usableFromInline var here: ReadingPlace {
    ReadingPlace(
      position: position, stringCount: strings.count, depth: depth, sharedCount: context.graph.sharedCount)
  }

  /// Returns to an earlier position to read the value at that position again.
  mutating func goBack(to place: ReadingPlace) {
    (position, depth) = (place.position, place.depth)
    // Removes the strings and objects that were read after this position. They get the same numbers when they are read again.
    strings.removeAll(from: place.stringCount)
    context.graph.sharedCount = place.sharedCount
  }

  // MARK: Bytes

  @inline(__always)
  package mutating func readByte() throws -> UInt8 {
    guard position < bytes.byteCount else { throw Self.endOfBytes(at: position) }
    let byte = bytes.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self)
    position &+= 1
    return byte
  }

  @inline(__always)
  package func peekByte() throws -> UInt8 {
    guard position < bytes.byteCount else { throw Self.endOfBytes(at: position) }
    return bytes.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self)
  }

  /// Returns the byte at an offset without a bounds check. The offset must be within `bytes`.
  @inline(__always)
  func byte(_ place: Int) -> UInt8 { bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) }

  /// Whether the next two bytes encode this tag.
  @inline(__always)
  func isTag(_ tag: UInt64) -> Bool {
    bytes.byteCount &- position >= 2 && byte(position) == 0xD8 && byte(position &+ 1) == UInt8(truncatingIfNeeded: tag)
  }

  @inline(__always)
  private mutating func readInteger<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws -> T {
    guard bytes.byteCount &- position >= MemoryLayout<T>.size else { throw Self.endOfBytes(at: position) }
    let value = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: T.self)
    position &+= MemoryLayout<T>.size
    return T(bigEndian: value)
  }

  // Static, because callers of an instance method would copy the whole reader.
  @inline(never)
  private static func endOfBytes(at position: Int) -> ArchiveError {
    ArchiveError(.truncated, "the body ends in the middle of a value", byteOffset: position)
  }

  /// Reads the argument of a value (RFC 8949 §3): its number, length or tag, depending on the value's initial byte.
  @inline(__always)
  package mutating func readArgument(_ initial: UInt8) throws -> UInt64 {
    let low = initial & 0x1F
    if low < 24 { return UInt64(low) }
    return try readLongArgument(low)
  }

  @inline(never)
  private mutating func readLongArgument(_ low: UInt8) throws -> UInt64 {
    switch low {
    case 24: return UInt64(try readByte())
    case 25: return UInt64(try readInteger(UInt16.self))
    case 26: return UInt64(try readInteger(UInt32.self))
    case 27: return try readInteger(UInt64.self)
    default:
      throw ArchiveError.damaged("a value has a length encoding that is not part of the format", at: position &- 1)
    }
  }

  // MARK: Scalars

  /// Skips the next value if it is an explicit null. Returns whether a null was skipped.
  public mutating func readNullIfPresent() throws -> Bool {
    guard try peekByte() == CBOR.nullByte else { return false }
    position &+= 1
    return true
  }

  package mutating func readBool() throws -> Bool {
    switch try peekByte() {
    case CBOR.falseByte:
      position &+= 1
      return false
    case CBOR.trueByte:
      position &+= 1
      return true
    default: throw try mismatch("a boolean")
    }
  }

  @inline(__always)
  package mutating func readInteger64() throws -> (isNegative: Bool, argument: UInt64) {
    let byte = try peekByte()
    guard byte < 0x40 else { throw try mismatch("an integer") }
    position &+= 1
    return (byte >= 0x20, try readArgument(byte))
  }

  package mutating func readDouble() throws -> Double {
    switch try peekByte() {
    case CBOR.doubleByte:
      position &+= 1
      return Double(bitPattern: try readInteger(UInt64.self))
    case CBOR.floatByte:
      position &+= 1
      return Double(Float(bitPattern: try readInteger(UInt32.self)))
    default:
      let start = position
      guard let value = try Double(exactlyAs: readValue()) else {
        throw ArchiveError.mismatch(
          expected: "a floating-point number", found: "a value that a double cannot represent", at: start)
      }
      return value
    }
  }

  package mutating func readFloat() throws -> Float {
    if try peekByte() == CBOR.floatByte {
      position &+= 1
      return Float(bitPattern: try readInteger(UInt32.self))
    }
    let start = position
    let wide = try readDouble()
    let value = Float(wide)
    guard Double(value) == wide || wide.isNaN else {
      throw ArchiveError.mismatch(
        expected: "a number that Float represents exactly", found: "a more precise number", at: start)
    }
    return value
  }

  /// Reads a string or a string reference and returns the string.
  @inline(__always)
  package mutating func readString() throws -> String {
    let byte = try peekByte()
    if byte >> 5 == CBOR.Major.text {
      position &+= 1
      return try readText(byte)
    }
    guard byte >> 5 == CBOR.Major.tag else { throw try mismatch("a string") }
    return try referredText(try readReference(expected: "a string"))
  }

  /// Returns the string with the given reference number. Throws if the number refers to data instead.
  package func referredText(_ number: Int) throws -> String {
    guard let text = strings.text(number) else {
      throw ArchiveError.mismatch(expected: "a string", found: "data", at: position)
    }
    try context.budget.spend(bytes: text.utf8.count)
    return text
  }

  /// Reads a string whose initial byte has already been read.
  @inline(__always)
  package mutating func readText(_ initial: UInt8) throws -> String {
    let length = try readLength(initial)
    let string = try makeString(at: position, length: length)
    position &+= length
    if usesReferences, length >= StringIndex.minimumLength(forNumber: UInt64(strings.count)) {
      let (text, isNew) = strings.append(string)
      if isNew { try context.budget.spend(weight: WorkBudget.ofText) }
      return text
    }
    return string
  }

  @inline(__always)
  package mutating func readLength(_ initial: UInt8) throws -> Int {
    let argument = try readArgument(initial)
    guard argument <= UInt64(bytes.byteCount &- position) else { throw Self.endOfBytes(at: position) }
    guard argument <= UInt64(lengthLimit) else {
      throw ArchiveError(
        .limitExceeded, "a string of \(argument) bytes is longer than the limit of \(lengthLimit) bytes",
        limit: .stringLength, byteOffset: position)
    }
    return Int(argument)
  }

  @inline(__always)
  private func makeString(at start: Int, length: Int) throws -> String {
    let content = bytes.extracting(start..<start &+ length)
    guard let string = content.withUnsafeBytes({ ByteBuffer.string($0) }) else {
      throw ArchiveError.damaged("a string is not valid UTF-8", at: start)
    }
    return string
  }

  /// Reads a string reference (tag 25) and returns the reference number of the string.
  package mutating func readReference(expected: String) throws -> Int {
    if isTag(CBOR.Tag.stringReference) {
      position &+= 2
      return try readReferenceNumber()
    }
    // Also accepts a tag that is encoded in more bytes than necessary and, in a row, a reference to content stored outside the row.
    let start = position
    let initial = try readByte()
    guard initial >> 5 == CBOR.Major.tag else {
      position = start
      throw try mismatch(expected)
    }
    switch try readArgument(initial) {
    case CBOR.Tag.stringReference: return try readReferenceNumber()
    case CBOR.Tag.rowContent where context.row != nil: return try readContent(at: start)
    default:
      position = start
      throw try mismatch(expected)
    }
  }

  /// Reads the number of a string reference whose tag has already been read. Throws if no string has this number.
  package mutating func readReferenceNumber() throws -> Int {
    let initial = try readByte()
    guard usesReferences, initial < 0x20 else {
      throw ArchiveError.damaged("a string reference is not a number", at: position)
    }
    let number = try readArgument(initial)
    guard strings.isKept, number < UInt64(strings.count) else {
      throw ArchiveError.damaged("a reference names a string that does not exist", at: position)
    }
    return Int(number)
  }

  package mutating func readData() throws -> Data {
    let byte = try peekByte()
    if byte >> 5 == CBOR.Major.bytes {
      position &+= 1
      let length = try readLength(byte)
      let data = bytes.extracting(position..<position &+ length).withUnsafeBytes { Data($0) }
      position &+= length
      if usesReferences, length >= StringIndex.minimumLength(forNumber: UInt64(strings.count)) {
        try context.budget.spend(weight: WorkBudget.ofData)
        strings.append(data)
      }
      return data
    }
    guard byte >> 5 == CBOR.Major.tag else { throw try mismatch("binary data") }
    let number = try readReference(expected: "binary data")
    guard let data = strings.data(number) else {
      throw ArchiveError.mismatch(expected: "binary data", found: "a string", at: position)
    }
    try context.budget.spend(bytes: data.count)
    return data
  }

  // MARK: Containers

  /// Reads the head of an array and returns the element count.
  package mutating func readArrayCount() throws -> Int {
    let byte = try peekByte()
    guard byte >> 5 == CBOR.Major.array else { throw try mismatch("an array") }
    position &+= 1
    return try readCount(byte)
  }

  /// Reads the element count of a collection, and charges the elements to the work budget. Throws if the count exceeds the limit, or if the
  /// remaining bytes cannot contain this number of elements.
  package mutating func readCount(_ initial: UInt8, bytesPerElement: Int = 1) throws -> Int {
    let count = try readArgument(initial)
    guard count <= UInt64(countLimit) else {
      throw ArchiveError(
        .limitExceeded, "a collection of \(count) elements is longer than the limit of \(countLimit) elements",
        limit: .count, byteOffset: position)
    }
    guard count <= UInt64((bytes.byteCount &- position) / bytesPerElement) else { throw Self.endOfBytes(at: position) }
    try context.budget.spend(values: Int(count) &* bytesPerElement &+ 1)
    try context.budget.spend(weight: WorkBudget.ofCollection)
    return Int(count)
  }

  /// Enters a nested level. Each call must be balanced by a call to ``leave()``.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the values are nested too deeply.
  @inline(__always)
  package mutating func enter() throws {
    depth &+= 1
    if depth > depthLimit { throw ArchiveError.tooDeep(depthLimit) }
  }

  @inline(__always)
  package mutating func leave() { depth &-= 1 }

  /// Returns the error to throw if the next value is not of the expected kind. Reads the head of the value to find out its actual kind.
  package mutating func mismatch(_ expected: String) throws -> ArchiveError {
    let start = position
    let found = try readKind()
    return ArchiveError.mismatch(expected: expected, found: found, at: start)
  }
}

/// A position in a reader's bytes, with the state that the reader needs to read from this position again.
@usableFromInline
struct ReadingPlace {
  let position, stringCount, depth, sharedCount: Int
}
