public import Foundation

/// Writes the CBOR body of an archive: the argument of a model's `encodeFields(to:)`.
///
/// Values are written directly as bytes. Repeated strings become references, and only the first record of a kind contains its keys.
public struct ArchiveWriter: ~Copyable {
  package var buffer: ByteBuffer
  private var strings = StringIndex()
  /// Whether repeated strings and keys become references.
  package let usesReferences: Bool
  /// Whether repeated strings become references. Not in a row, where a reference would change with every string before
  /// it and would not be shorter than the deflated string.
  private var refersToStrings: Bool
  /// The first schema that was written, with the data for its records. It is found faster than by content.
  private var firstSchema: KnownSchema?
  /// The other schemas that were written.
  private var schemas: [KnownSchema] = []
  /// The numbers of the shapes whose definitions were written.
  private var numbers = ShapeNumbers()
  /// The shapes whose definitions were written, with their numbers.
  package var definedShapes: [(number: Int, shape: RecordShape)] { numbers.all }
  /// The schemas of the shapes that were written, if requested.
  package private(set) var schemasOfShapes: [RecordShape: [ModelSchema]]?
  /// The floors of the records that were written.
  private(set) var floors = StampFloors()
  /// The only floors that the header will have, in a stream; `nil` if it will have all that are found.
  package var knownFloors: StampFloors?
  var depth = 0
  /// Checks the class of each object that is written in place. Receives its class, the declared class, and whether the
  /// object is a part of another value. `nil` for no check.
  package var classCheck: ((any VersionedModel.Type, any VersionedModel.Type, Bool) throws -> Void)?
  private var output: OutputLimit
  /// The counts of a reader of this body.
  var counts: ReadingCounts
  /// The value that is being written and contains others, unless a Codable type encoded it. `openValues` is its nesting.
  private var outermost: ArchiveValue?
  private var openValues = 0
  /// The orders of the sets and keys inside the set or map that is being written.
  var orders: CanonicalOrders?
  /// The position of the count of an open array, which is set at its end.
  var countPlace = 0
  package let depthLimit: Int
  /// Whether excluded fields are written too, as merging needs.
  package let includesExcluded: Bool
  package var failedField = -1
  package let limits: ArchiveLimits
  /// The treatment of objects; `nil` if they are written in place, like values.
  package var objects: ObjectRole? {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// Whether models are written as their fields only.
  package private(set) var isPlain = true
  /// The index of the first field of the superclass whose fields are being written.
  package var placeOffset = 0 {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// The objects that are written in place; `nil` before the first.
  var objectsInPlace: ObjectsInPlace?
  /// The number of bytes that were already counted for these objects.
  var bytesInPlace = 0
  /// Classes that may occur where one of their superclasses is declared, as for a decoder.
  package var subclasses: [any VersionedModel.Type] = []
  /// The classes found for the last root. A stream has a graph for each of its models.
  var knownObjectTypes: (root: ObjectIdentifier, types: Set<ObjectIdentifier>)?
  /// The number of objects that the body already contains.
  package var sharedCount = 0
  /// For a graph without types that is being written: the number of the first object, of all and of the written objects.
  package var graphObjects: (first: Int, count: Int, written: Int)?
  /// The data of a row outside its bytes; `nil` in an archive.
  package var row: RowParts?
  /// Longer strings are kept outside the row.
  private var longestInPlace = Int.max
  /// Whether sets and maps are written in the order that the value has, without sorting.
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

  /// A writer of a row. Its records refer to the given shapes and to new shapes, which are added to these.
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

  /// Whether values encoded by another writer have the same bytes here, with nothing else to record.
  package var sharesNothing: Bool {
    !usesReferences && objects == nil && !includesExcluded && schemasOfShapes == nil
  }

  /// Appends bytes encoded by another writer.
  package mutating func append(encoded bytes: [UInt8]) {
    buffer.append(bytes.bytes)
    // The other writer has already counted these bytes.
    bytesInPlace += bytes.count
  }

  private mutating func beginBody() {
    if usesReferences { buffer.appendHead(CBOR.Major.tag, CBOR.Tag.stringNamespace) }
  }

  /// Starts a body that shares nothing with the previous one, in the same memory.
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

  /// Writes a floating-point number of 32 bits.
  public mutating func write(_ value: Float) { buffer.append(CBOR.floatByte, value.bitPattern) }

  /// Writes a floating-point number of 64 bits.
  public mutating func write(_ value: Double) { buffer.append(CBOR.doubleByte, value.bitPattern) }

  /// Writes a string, or a reference to it if it was written before.
  public mutating func write(_ value: String) {
    let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable { utf8 in
      writeUnique(UnsafeRawBufferPointer(utf8), major: CBOR.Major.text)
    }
    if isWritten == nil { writeBridged(value) }
  }

  /// Writes a string without contiguous storage, such as a bridged one.
  @inline(never)
  private mutating func writeBridged(_ value: String) {
    var value = value
    value.withUTF8 { writeUnique(UnsafeRawBufferPointer($0), major: CBOR.Major.text) }
  }

  /// Writes bytes, or a reference to them if they were written before.
  public mutating func write(_ value: Data) {
    value.withUnsafeBytes { writeUnique($0, major: CBOR.Major.bytes) }
  }

  @inline(__always)
  private mutating func writeUnique(_ bytes: UnsafeRawBufferPointer, major: UInt8) {
    if bytes.count > longestInPlace { return writeContent(bytes, major: major) }
    if refersToStrings {
      // The head has at most nine bytes. The position of the content depends on its length.
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

  /// Writes a reference to content that is kept outside a row.
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

  /// Writes a date without losing a bit: as whole or fractional seconds since 1970 if these are exact (tag 1),
  /// otherwise as seconds since 2001.
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

  /// Writes a URL as its absolute string (tag 32). A URL with a base keeps the base.
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

  /// Writes the 16 bytes of a UUID, or a reference to them if they were written before.
  public mutating func write(_ value: UUID) {
    buffer.append(0xD8, UInt8(truncatingIfNeeded: CBOR.Tag.uuid))
    withUnsafeBytes(of: value.uuid) { writeUnique($0, major: CBOR.Major.bytes) }
  }

  /// Writes a decimal as mantissa and power of ten (tag 4).
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

  /// Writes a number that only a text holds exactly.
  public mutating func write(_ value: NumberText) {
    writeGeneric(CBOR.Generic.number, count: 1)
    write(value.text)
  }

  /// Writes an integer. Beyond 64 bits it is a bignum (tags 2 and 3).
  public mutating func write(_ value: WideInteger) {
    // A negative CBOR integer stores -1 minus its value.
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

  /// Starts a set; `count` elements must follow, in the order of their encodings.
  public mutating func beginSet(count: Int) {
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.set)
    beginArray(count: count)
  }

  /// Starts a map; `count` pairs of key and value must follow, sorted by the encoded key.
  public mutating func beginMap(count: Int) {
    counts.addCollection(count, valuesPerElement: 2)
    buffer.appendHead(CBOR.Major.map, UInt64(truncatingIfNeeded: count))
  }

  /// Enters a nested level. Each call needs its ``leave()``.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the model is nested too deeply.
  public mutating func enter() throws {
    depth &+= 1
    if depth > depthLimit { throw ArchiveError.tooDeep(depthLimit) }
  }

  /// Leaves the level that ``enter()`` began.
  public mutating func leave() { depth &-= 1 }

  /// Begins a value that contains others. Each call needs its ``endValue()``.
  ///
  /// - Parameter value: the value; `nil` if a Codable type encoded it. Its repetitions are not checked, because the type
  ///   itself encoded each of them.
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

  /// Resets the open values after their output has been removed.
  mutating func closeValues() { openValues = 0 }

  /// Checks that readers with the same limits can read the output.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded`.
  package borrowing func checkLimits() throws(ArchiveError) { try counts.check(bodySize: buffer.count) }

  /// Checks that readers with the same limits can read the body alone, without a file around it.
  package borrowing func checkLimitsAlone() throws(ArchiveError) { try counts.checkAlone(bodySize: buffer.count) }

  /// Checks that readers with the same limits can read a row and its data outside the bytes.
  package borrowing func checkRowLimits() throws(ArchiveError) {
    try counts.checkAlone(bodySize: buffer.count + (row?.size ?? 0))
  }

  /// The smallest file size that allows a reader to read the body.
  var leastFileSize: Int { counts.leastFileSize }

  // MARK: Records

  /// Starts the record of a model. Its fields follow, in the order of the schema.
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

  /// Records the schema of a shape, if requested.
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

  /// Writes a record unchanged, whatever its type name.
  package mutating func write(_ record: ModelRecord) throws {
    try beginRecord(record.shape)
    for (place, value) in record.values.enumerated() {
      do { try write(value) } catch { throw ArchiveError.at(.key(record.keys[place]), error) }
    }
    leave()
  }

  /// Starts a record: with a reference to its definition, or with the definition if this is the first record.
  ///
  /// - Returns: the number of the definition, or `nil` if none is left: there are 256 record tags, and shapes beyond
  ///   255 are defined again each time, under the last tag.
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
        .notEncodable, "a type name cannot end with @ and a number, and a version cannot be negative",
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

  /// The strings and counts of this body. The positions of the strings are relative to `start`.
  borrowing func counted(from start: Int) -> (strings: StringIndex.Contents, counts: ReadingCounts) {
    (strings.contents(from: start), counts)
  }

  @inline(__always)
  private mutating func beginReference(_ number: Int, count: Int, keyBytes: Int) {
    counts.addRecord(count, keyBytes: keyBytes)
    // Only rows have that many definitions. The number follows a tag.
    if number > 255 {
      buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.inlineRecord))
      buffer.appendHead(CBOR.Major.unsigned, UInt64(truncatingIfNeeded: number))
      return buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
    }
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.firstRecord) &+ UInt16(truncatingIfNeeded: number))
    buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
  }

  /// A schema whose definition was written.
  private struct KnownSchema {
    let schema: ObjectIdentifier
    /// The number of the definition.
    let number: Int
    /// The number of fields in a record.
    let count: Int
    /// The bytes of the keys, which each record expands to.
    let keyBytes: Int
  }
}
