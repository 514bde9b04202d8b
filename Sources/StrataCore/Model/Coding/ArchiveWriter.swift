public import Foundation

/// Writes the CBOR body of an archive. A writer is the argument of a model's `encodeFields(to:)`.
///
/// Values are written directly as bytes. A repeated string is written as a reference, and only the first record of each
/// shape contains the keys.
public struct ArchiveWriter: ~Copyable {
  package var buffer: ByteBuffer
  private var strings = StringIndex()
  /// Whether repeated strings and keys are written as references.
  package let usesReferences: Bool
  /// Whether repeated strings are written as references. False in a row: references would change with every string
  /// before them, and would not be shorter than the deflated strings.
  private var refersToStrings: Bool
  /// The first schema that was written, with the data for its records. It is kept separately, because finding a schema
  /// by identity is faster than finding its shape by content.
  private var firstSchema: KnownSchema?
  /// All schemas written so far, except the first.
  private var schemas: [KnownSchema] = []
  /// The numbers of the shapes whose definitions have been written.
  private var numbers = ShapeNumbers()
  /// The shapes whose definitions have been written, with their numbers.
  package var definedShapes: [(number: Int, shape: RecordShape)] { numbers.all }
  /// The schemas written for each shape; `nil` unless requested.
  package private(set) var schemasOfShapes: [RecordShape: [ModelSchema]]?
  /// The version floors of the records written so far.
  private(set) var floors = StampFloors()
  /// In a stream, the only floors that the header will contain; `nil` if the header will contain all floors that are found.
  package var knownFloors: StampFloors?
  var depth = 0
  /// Checks the class of each object that is written in place. The arguments are the object's class, the declared
  /// class, and whether the object is part of another value. `nil` if classes are not checked.
  package var classCheck: ((any VersionedModel.Type, any VersionedModel.Type, Bool) throws -> Void)?
  private var output: OutputLimit
  /// The counts that a reader of this body would reach, for checking the limits.
  var counts: ReadingCounts
  /// The outermost container that is being written; `nil` if a `Codable` type encoded it. `openValues` is the number of
  /// open containers.
  private var outermost: ArchiveValue?
  private var openValues = 0
  /// The cached orders of the sets and map keys inside the set or map that is being written.
  var orders: CanonicalOrders?
  /// The position of an open array's count, which is filled in when the array ends.
  var countPlace = 0
  package let depthLimit: Int
  /// Whether excluded fields are also written, for merging.
  package let includesExcluded: Bool
  package var failedField = -1
  package let limits: ArchiveLimits
  /// How objects are written; `nil` if they are written in place, like structs.
  package var objects: ObjectRole? {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// Whether the writer has no object role and is not writing the fields of a superclass. If so, models can be written
  /// on the fast path.
  package private(set) var isPlain = true
  /// The index of the first field of the superclass whose fields are currently being written.
  package var placeOffset = 0 {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// The objects that are being written in place; `nil` until there is one.
  var objectsInPlace: ObjectsInPlace?
  /// The number of bytes already counted for the objects in `objectsInPlace`.
  var bytesInPlace = 0
  /// Classes that may occur in place of a superclass, as in a decoder.
  package var subclasses: [any VersionedModel.Type] = []
  /// The classes found for the most recent root, cached because a stream has a graph for each of its models.
  var knownObjectTypes: (root: ObjectIdentifier, types: Set<ObjectIdentifier>)?
  /// The number of objects already in the body.
  package var sharedCount = 0
  /// For an untyped graph that is being written: the number of its first object, the total number of objects, and the
  /// number of objects written so far.
  package var graphObjects: (first: Int, count: Int, written: Int)?
  /// The shapes and long strings that belong to a row but are stored outside its bytes; `nil` in an archive.
  package var row: RowParts?
  /// The maximum length of a string that is written into a row. Longer strings are stored outside.
  private var longestInPlace = Int.max
  /// Whether sets and maps are written in the given order, without sorting.
  package var keepsOrder = false

  package init(
    limits: ArchiveLimits = ArchiveLimits(), includesExcluded: Bool = false, usesReferences: Bool = true,
    notesSchemas: Bool = false, minimumCapacity: Int = 1024
  ) {
    buffer = ByteBuffer(minimumCapacity: minimumCapacity)
    depthLimit = limits.depth
    self.limits = limits
    output = OutputLimit(limits)
    counts = ReadingCounts(limits)
    self.includesExcluded = includesExcluded
    self.usesReferences = usesReferences
    refersToStrings = usesReferences
    if notesSchemas { schemasOfShapes = [:] }
    beginBody()
  }

  /// Creates a writer of a row. The row's records refer to the given shapes. New shapes are added after them.
  package init(rowWith shapes: [RecordShape], limits: ArchiveLimits) {
    self.init(limits: limits)
    buffer.removeAll()
    for shape in shapes {
      _ = numbers.add(shape)
      counts.passDefinition(shape)
    }
    row = RowParts(shapes: shapes)
    refersToStrings = false
    longestInPlace = RowParts.longestInPlace
  }

  /// Whether bytes that another writer encoded can be appended unchanged, with nothing else to record.
  package var sharesNothing: Bool {
    !usesReferences && objects == nil && !includesExcluded && schemasOfShapes == nil
  }

  /// Appends bytes that another writer encoded.
  package mutating func append(encoded bytes: [UInt8]) {
    buffer.append(bytes.bytes)
    // The other writer has already counted these bytes.
    bytesInPlace += bytes.count
  }

  private mutating func beginBody() {
    if usesReferences { buffer.appendHead(CBOR.Major.tag, CBOR.Tag.stringNamespace) }
  }

  /// Starts a new body, independent of the previous one, and reuses the memory.
  package mutating func reset() {
    buffer.removeAll()
    floors = StampFloors()
    counts.reset()
    strings.removeAll()
    firstSchema = nil
    schemas.removeAll(keepingCapacity: true)
    numbers.removeAll()
    depth = 0
    openValues = 0
    outermost = nil
    sharedCount = 0
    placeOffset = 0
    objectsInPlace = nil
    bytesInPlace = 0
    beginBody()
  }

  // MARK: Scalars

  /// Writes an explicit null.
  public mutating func writeNull() { buffer.append(CBOR.nullByte) }

  /// Writes a boolean.
  public mutating func write(_ value: Bool) { buffer.append(value ? CBOR.trueByte : CBOR.falseByte) }

  /// Writes an integer in the fewest bytes.
  public mutating func write(_ value: Int64) {
    if value >= 0 {
      buffer.appendHead(CBOR.Major.unsigned, UInt64(bitPattern: value))
    } else {
      buffer.appendHead(CBOR.Major.negative, UInt64(bitPattern: ~value))
    }
  }

  /// Writes an integer in the fewest bytes.
  public mutating func write(_ value: UInt64) { buffer.appendHead(CBOR.Major.unsigned, value) }

  /// Writes a 32-bit floating-point number.
  public mutating func write(_ value: Float) { buffer.append(CBOR.floatByte, value.bitPattern) }

  /// Writes a 64-bit floating-point number.
  public mutating func write(_ value: Double) { buffer.append(CBOR.doubleByte, value.bitPattern) }

  /// Writes a string, or a reference to an equal string that was already written.
  public mutating func write(_ value: String) {
    let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable { utf8 in
      writeUnique(UnsafeRawBufferPointer(utf8), major: CBOR.Major.text)
    }
    if isWritten == nil { writeBridged(value) }
  }

  /// Writes a string without contiguous storage, such as a string bridged from Objective-C.
  @inline(never)
  private mutating func writeBridged(_ value: String) {
    var value = value
    value.withUTF8 { writeUnique(UnsafeRawBufferPointer($0), major: CBOR.Major.text) }
  }

  /// Writes data, or a reference to equal data that was already written.
  public mutating func write(_ value: Data) {
    value.withUnsafeBytes { writeUnique($0, major: CBOR.Major.bytes) }
  }

  @inline(__always)
  private mutating func writeUnique(_ bytes: UnsafeRawBufferPointer, major: UInt8) {
    if bytes.count > longestInPlace { return writeContent(bytes, major: major) }
    if refersToStrings {
      // The position of the content depends on the length of the head, which is at most nine bytes.
      let start = buffer.count &+ ByteBuffer.headLength(bytes.count)
      if let number = strings.find(bytes, major: major, start: start, in: buffer) {
        buffer.append(0xD8, UInt8(truncatingIfNeeded: CBOR.Tag.stringReference))
        buffer.appendHead(CBOR.Major.unsigned, number)
        counts.addReference(bytes.count)
        return
      }
    }
    counts.addText(bytes.count)
    buffer.appendHead(major, UInt64(truncatingIfNeeded: bytes.count))
    buffer.append(contentsOf: bytes)
  }

  /// Writes a reference to content that is stored outside the row.
  @inline(never)
  private mutating func writeContent(_ bytes: UnsafeRawBufferPointer, major: UInt8) {
    counts.addText(bytes.count)
    counts.addReference(bytes.count)
    let digest = row?.add(bytes) ?? []
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.rowContent)
    buffer.appendHead(CBOR.Major.bytes, UInt64(digest.count + 1))
    buffer.append(major)
    buffer.append(digest.bytes)
  }

  /// Writes a date without loss: as whole or fractional seconds since 1970 if that is exact (tag 1), otherwise as
  /// seconds since 2001.
  public mutating func write(_ value: Date) {
    let seconds = value.timeIntervalSinceReferenceDate
    let since1970 = seconds + Date.timeIntervalBetween1970AndReferenceDate
    if (since1970 - Date.timeIntervalBetween1970AndReferenceDate).bitPattern == seconds.bitPattern {
      if let whole = Int64(exactly: since1970) {
        buffer.append(0xC1)
        write(whole)
        return
      }
      if since1970.isFinite {
        buffer.append(0xC1)
        write(since1970)
        return
      }
    }
    writeGeneric(CBOR.Generic.date, count: 1)
    write(seconds)
  }

  /// Writes a URL as its absolute string (tag 32). A URL with a base is written as its relative string and the base.
  public mutating func write(_ value: URL) {
    if let base = value.baseURL {
      writeGeneric(CBOR.Generic.url, count: 2)
      write(value.relativeString)
      write(base.absoluteString)
    } else {
      buffer.append(0xD8, UInt8(truncatingIfNeeded: CBOR.Tag.url))
      write(value.absoluteString)
    }
  }

  /// Writes the 16 bytes of a UUID, or a reference to an equal UUID that was already written.
  public mutating func write(_ value: UUID) {
    buffer.append(0xD8, UInt8(truncatingIfNeeded: CBOR.Tag.uuid))
    withUnsafeBytes(of: value.uuid) { writeUnique($0, major: CBOR.Major.bytes) }
  }

  /// Writes a decimal as a mantissa and a power of ten (tag 4).
  public mutating func write(_ value: Decimal) {
    guard let parts = DecimalParts(value) else {
      writeGeneric(CBOR.Generic.decimal, count: 0)
      return
    }
    buffer.append(0xC4)
    beginArray(count: 2)
    write(Int64(parts.exponent))
    write(WideInteger(isNegative: parts.isNegative, magnitude: parts.mantissa))
  }

  /// Writes a number that can only be represented exactly as text.
  public mutating func write(_ value: NumberText) {
    writeGeneric(CBOR.Generic.number, count: 1)
    write(value.text)
  }

  /// Writes an integer. An integer of more than 64 bits is written as a bignum (tags 2 and 3).
  public mutating func write(_ value: WideInteger) {
    // CBOR encodes the negative integer n as -1 - n.
    let argument = value.isNegative ? value.magnitude.predecessor : value.magnitude
    if argument.high == 0 {
      buffer.appendHead(value.isNegative ? CBOR.Major.negative : CBOR.Major.unsigned, argument.low)
      return
    }
    buffer.append(value.isNegative ? 0xC3 : 0xC2)
    let significant = 16 - argument.leadingZeroBitCount / 8
    withUnsafeBytes(of: argument.bigEndian) { bytes in
      writeUnique(UnsafeRawBufferPointer(rebasing: bytes.suffix(significant)), major: CBOR.Major.bytes)
    }
  }

  mutating func writeGeneric(_ name: String, count: Int) {
    buffer.append(0xD8, UInt8(truncatingIfNeeded: CBOR.Tag.genericObject))
    beginArray(count: count + 1)
    write(name)
  }

  // MARK: Containers

  /// Starts an array; `count` elements must follow.
  public mutating func beginArray(count: Int) {
    counts.addCollection(count)
    buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
  }

  /// Starts a set; `count` elements must follow, sorted by their encoded bytes.
  public mutating func beginSet(count: Int) {
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.set)
    beginArray(count: count)
  }

  /// Starts a map; `count` pairs of key and value must follow, sorted by the encoded bytes of the key.
  public mutating func beginMap(count: Int) {
    counts.addCollection(count, valuesPerElement: 2)
    buffer.appendHead(CBOR.Major.map, UInt64(truncatingIfNeeded: count))
  }

  /// Enters a nested level. Each call must be balanced by a call to ``leave()``.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the model is nested too deeply.
  public mutating func enter() throws {
    depth &+= 1
    if depth > depthLimit { throw ArchiveError.tooDeep(depthLimit) }
  }

  /// Leaves the level that ``enter()`` entered.
  public mutating func leave() { depth &-= 1 }

  /// Begins a value that contains other values. Each call must be balanced by a call to ``endValue()``.
  ///
  /// - Parameter value: the value; `nil` if a `Codable` type encoded it. Such a value is not checked for repeated
  ///   parts, because the type encoded each repetition itself.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if repeated parts make the output too large.
  mutating func begin(_ value: ArchiveValue?) throws {
    if openValues == 0 {
      outermost = value
      output.begin(at: buffer.count)
    }
    openValues &+= 1
    try output.check(buffer.count, of: outermost)
  }

  /// Ends a value begun with ``begin(_:)``.
  mutating func endValue() {
    openValues &-= 1
    if openValues == 0 { outermost = nil }
  }

  /// Resets the number of open values after their output has been discarded.
  mutating func closeValues() { openValues = 0 }

  /// Checks that a reader with the same limits can read the output.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded`.
  package borrowing func checkLimits() throws(ArchiveError) { try counts.check(bodySize: buffer.count) }

  /// Checks that a reader with the same limits can read the body by itself, without a file around it.
  package borrowing func checkLimitsAlone() throws(ArchiveError) { try counts.checkAlone(bodySize: buffer.count) }

  /// Checks that a reader with the same limits can read a row together with the data stored outside its bytes.
  package borrowing func checkRowLimits() throws(ArchiveError) {
    try counts.checkAlone(bodySize: buffer.count + (row?.size ?? 0))
  }

  /// The smallest file size at which a reader's limits allow the body.
  var leastFileSize: Int { counts.leastFileSize }

  // MARK: Records

  /// Starts the record of a model. The fields must follow in the order of the schema.
  package mutating func beginRecord(_ schema: ModelSchema) throws {
    let identity = ObjectIdentifier(schema)
    if let known = firstSchema {
      if known.schema == identity { return try beginKnown(known) }
      for known in schemas where known.schema == identity { return try beginKnown(known) }
    }
    try beginFirst(schema)
    try enter()
  }

  @inline(__always)
  private mutating func beginKnown(_ known: KnownSchema) throws {
    beginReference(known.number, count: known.count, keyBytes: known.keyBytes)
    try enter()
  }

  /// Starts the first record of a schema.
  @inline(never)
  private mutating func beginFirst(_ schema: ModelSchema) throws {
    try schema.check()
    let shape = includesExcluded ? schema.fullShape : schema.archivedShape
    if schemasOfShapes != nil { note(schema, of: shape) }
    guard let number = try begin(shape, leading: includesExcluded ? schema.fullDefinition : schema.archivedDefinition)
    else { return }
    let known = KnownSchema(
      schema: ObjectIdentifier(schema), number: number, count: shape.keys.count, keyBytes: shape.keyBytes)
    if firstSchema == nil { firstSchema = known } else { schemas.append(known) }
  }

  /// Records the schema of a shape if the writer collects the schemas of shapes.
  package mutating func note(_ schema: ModelSchema, of shape: RecordShape) {
    guard schemasOfShapes != nil else { return }
    schemasOfShapes?[shape, default: []].removeAll { $0.typeIdentity == schema.typeIdentity }
    schemasOfShapes?[shape, default: []].append(schema)
  }

  /// Starts a record of a shape. Its values must follow.
  package mutating func beginRecord(_ shape: RecordShape) throws {
    _ = try begin(shape)
    try enter()
  }

  /// Writes a record unchanged, whether or not its type is known.
  package mutating func write(_ record: ModelRecord) throws {
    try beginRecord(record.shape)
    for (place, value) in record.values.enumerated() {
      do { try write(value) } catch { throw ArchiveError.at(.key(record.keys[place]), error) }
    }
    leave()
  }

  /// Starts a record with its definition, or with a reference if the definition has already been written.
  ///
  /// - Returns: the number of the definition, or `nil` if all numbers are in use. There are 256 record tags. Once 255
  ///   shapes have been defined, each further shape is defined again for every record, under the last tag.
  private mutating func begin(_ shape: RecordShape, leading definition: LeadingDefinition? = nil) throws -> Int? {
    if shape.floors != nil { floors.add(shape) }
    if let definition, numbers.isEmpty, strings.isEmpty, refersToStrings {
      strings.begin(with: definition.strings, at: buffer.count)
      counts.add(definition.counts)
      definition.write(to: &buffer)
      return numbers.add(shape)
    }
    if let number = numbers[shape] {
      beginReference(number, count: shape.keys.count, keyBytes: shape.keyBytes)
      return number
    }
    guard shape.hasPlainMark else {
      throw ArchiveError(
        .notEncodable, "a type name must not end with @ and a number, and a version must not be negative",
        typeName: shape.typeName,
        foundVersion: shape.modelVersion)
    }
    if row != nil {
      let number = numbers.add(shape)
      row?.shapes.append(shape)
      counts.passDefinition(shape)
      beginReference(number, count: shape.keys.count, keyBytes: shape.keyBytes)
      return number
    }
    let number = min(numbers.count, 255)
    if number < 255 { _ = numbers.add(shape) }
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.inlineRecord))
    beginArray(count: shape.keys.count + 2)
    write(CBOR.Tag.firstRecord + UInt64(number))
    beginArray(count: shape.keys.count + 1)
    for key in shape.keys { write(key) }
    write(shape.mark)
    counts.addDefinition(shape)
    return number < 255 ? number : nil
  }

  /// Returns the strings and counts of this body. The positions of the strings are relative to `start`.
  borrowing func counted(from start: Int) -> (strings: StringIndex.Contents, counts: ReadingCounts) {
    (strings.contents(from: start), counts)
  }

  @inline(__always)
  private mutating func beginReference(_ number: Int, count: Int, keyBytes: Int) {
    counts.addRecord(count, keyBytes: keyBytes)
    // Only rows have more than 256 definitions. The number then follows a tag.
    if number > 255 {
      buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.inlineRecord))
      buffer.appendHead(CBOR.Major.unsigned, UInt64(truncatingIfNeeded: number))
      return buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
    }
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.firstRecord) &+ UInt16(truncatingIfNeeded: number))
    buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
  }

  /// A schema whose definition has been written.
  private struct KnownSchema {
    let schema: ObjectIdentifier
    /// The number of the definition.
    let number: Int
    /// The number of fields in each record.
    let count: Int
    /// The total size of the keys in bytes, which a reader counts again for each record.
    let keyBytes: Int
  }
}
