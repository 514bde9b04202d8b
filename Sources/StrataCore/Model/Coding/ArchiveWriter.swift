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
  /// Whether repeated strings are written as references. False for a row, because a reference depends on all preceding strings of the row
  /// and saves no space after compression.
  private var refersToStrings: Bool
  /// The first schema for which a record was written. Schemas are looked up by identity, which is faster than looking up record shapes by
  /// their content.
  private var firstSchema: KnownSchema?
  /// All other schemas for which a record was written, in the order of their first records.
  private var schemas: [KnownSchema] = []
  private var numbers = ShapeNumbers()
  /// The record shapes that have been defined so far, each with the number by which records refer to it.
  package var definedShapes: [(number: Int, shape: RecordShape)] { numbers.all }
  /// For each record shape written so far, the schemas of the models with this shape; `nil` unless `notesSchemas` was passed to the
  /// initializer.
  package private(set) var schemasOfShapes: [RecordShape: [ModelSchema]]?
  /// The version floors (oldest allowed reader and writer) of the records written so far.
  private(set) var floors = StampFloors()
  /// The version floors (oldest allowed reader and writer) in the header of a stream. The header is written before the models, so the
  /// floors cannot change later. `nil` if the header is written after the body.
  package var knownFloors: StampFloors?
  var depth = 0
  /// A check for the class of each object written in place; `nil` if classes are not checked. The arguments are the
  /// object's class, the declared class, and whether the object is part of another value.
  package var classCheck: ((any VersionedModel.Type, any VersionedModel.Type, Bool) throws -> Void)?
  private var output: OutputLimit
  /// The numbers of values and bytes that a reader of this body will compare with its limits.
  var counts: ReadingCounts
  /// The outermost array, object or other container being written, which is searched for repeated parts; `nil` if a `Codable` type encoded
  /// it.
  private var outermost: ArchiveValue?
  /// The number of containers that have been begun with ``begin(_:)`` and not ended yet.
  private var openValues = 0
  /// A cache of the sorted elements of the sets and maps inside the set or map being written; `nil` outside sets and maps.
  var orders: CanonicalOrders?
  /// The offset in `buffer` of the element count of the array being written. The count is filled in when the array ends.
  var countPlace = 0
  package let depthLimit: Int
  /// Whether fields that are excluded from archives are also written, as merges and JSON require.
  package let includesExcluded: Bool
  package var failedField = -1
  package let limits: ArchiveLimits
  /// How class instances are written; `nil` if they are written in place, like structs.
  package var objects: ObjectRole? {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// Whether models can be written on the fast path, which is the case if `objects` is `nil` and no superclass fields are being written.
  package private(set) var isPlain = true
  /// The index in the schema of the first field of the superclass being written; 0 if no superclass is being written. It is added to the
  /// field indices that the superclass uses.
  package var placeOffset = 0 {
    didSet { isPlain = objects == nil && placeOffset == 0 }
  }
  /// Tracks the objects being written in place, to find objects that contain themselves; `nil` until the first such object begins.
  var objectsInPlace: ObjectsInPlace?
  /// The number of leading bytes of `buffer` that `objectsInPlace` has already counted.
  var bytesInPlace = 0
  /// Additional subclasses whose instances may occur where a superclass is declared.
  package var subclasses: [any VersionedModel.Type] = []
  /// The classes that graphs with the most recent root type can contain. Each model of a stream has its own graph, so the result of the
  /// search is cached.
  var knownObjectTypes: (root: ObjectIdentifier, types: Set<ObjectIdentifier>)?
  /// The number of objects in all graphs that have been written to the body. The next graph numbers its objects from here.
  package var sharedCount = 0
  /// The state of the untyped graph being written: the number of its first object in the body, the number of its objects, and how many of
  /// them have been written; `nil` outside untyped graphs.
  package var graphObjects: (first: Int, count: Int, written: Int)?
  /// The record shapes and long strings stored outside a row's bytes; `nil` for an archive.
  package var row: RowParts?
  /// The maximum size, in bytes, of strings and data that are written to the body. In a row, longer strings and data are stored outside the
  /// row's bytes.
  private var longestInPlace = Int.max
  /// Whether sets and maps are written in their given order, without sorting. Used for untyped values that were read from an archive or a
  /// row, because their bytes must stay the same.
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

  /// Creates a writer for a row. The row's records refer to `shapes` by index. Shapes that are not in the list are appended to
  /// ``RowParts/shapes``.
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

  /// Whether an element that a separate writer has encoded can be appended unchanged, because this writer would produce the same bytes.
  package var sharesNothing: Bool {
    !usesReferences && objects == nil && !includesExcluded && schemasOfShapes == nil
  }

  /// Appends the bytes of an element that a separate writer has encoded for sorting.
  package mutating func append(encoded bytes: [UInt8]) {
    buffer.append(bytes.bytes)
    // The separate writer has already counted these bytes in `objectsInPlace`, so they must not be counted again.
    bytesInPlace += bytes.count
  }

  private mutating func beginBody() {
    if usesReferences { buffer.appendHead(CBOR.Major.tag, CBOR.Tag.stringNamespace) }
  }

  /// Clears the writer in order to write a new, independent body. The buffer's memory is reused.
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

  /// Writes a string, or a reference if the same string has already been written.
  public mutating func write(_ value: String) {
    let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable { utf8 in
      writeUnique(UnsafeRawBufferPointer(utf8), major: CBOR.Major.text)
    }
    if isWritten == nil { writeBridged(value) }
  }

  /// Writes a string without contiguous UTF-8 storage, such as a string bridged from Objective-C.
  @inline(never)
  private mutating func writeBridged(_ value: String) {
    var value = value
    value.withUTF8 { writeUnique(UnsafeRawBufferPointer($0), major: CBOR.Major.text) }
  }

  /// Writes data, or a reference if the same data has already been written.
  public mutating func write(_ value: Data) {
    value.withUnsafeBytes { writeUnique($0, major: CBOR.Major.bytes) }
  }

  @inline(__always)
  private mutating func writeUnique(_ bytes: UnsafeRawBufferPointer, major: UInt8) {
    if bytes.count > longestInPlace { return writeContent(bytes, major: major) }
    if refersToStrings {
      // The content of the string follows its head, whose size of up to nine bytes depends on the length of the string.
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

  /// Stores long text or data outside the row's bytes and writes a reference that contains its digest.
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

  /// Writes a date without loss of precision. The seconds since 1970 are written (tag 1) if they represent the date
  /// exactly. Otherwise the seconds since 2001 are written.
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

  /// Writes the 16 bytes of a UUID, or a reference if the same UUID has already been written.
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
    // CBOR encodes the negative integer n as the argument -1 - n, which is its magnitude minus 1.
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

  /// Starts an array. The caller must then write `count` elements.
  public mutating func beginArray(count: Int) {
    counts.addCollection(count)
    buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
  }

  /// Starts a set. The caller must then write `count` elements, sorted by their encoded bytes.
  public mutating func beginSet(count: Int) {
    buffer.appendHead(CBOR.Major.tag, CBOR.Tag.set)
    beginArray(count: count)
  }

  /// Starts a map. The caller must then write `count` pairs of key and value, sorted by the encoded bytes of the keys.
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

  /// Leaves the nested level that the last call to ``enter()`` entered.
  public mutating func leave() { depth &-= 1 }

  /// Begins a container and checks the size of the output. If a container repeats shared parts many times, its output could be enormous.
  /// Each call must be balanced by a call to ``endValue()``.
  ///
  /// - Parameter value: the container; `nil` if a `Codable` type encoded it. Such a container is not checked for repeated parts, because
  ///   the type encodes each repetition itself.
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the output exceeds ``ArchiveLimits/outputSize``, or if repeated parts make
  ///   it too large.
  mutating func begin(_ value: ArchiveValue?) throws {
    if openValues == 0 {
      outermost = value
      output.begin(at: buffer.count)
    }
    openValues &+= 1
    try output.check(buffer.count, of: outermost)
  }

  /// Ends a container begun with ``begin(_:)``.
  mutating func endValue() {
    openValues &-= 1
    if openValues == 0 { outermost = nil }
  }

  /// Sets the number of open containers to 0 after an error, when the output has been discarded.
  mutating func closeValues() { openValues = 0 }

  /// Checks that a reader with the same limits can read the output.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if the output exceeds a limit.
  package borrowing func checkLimits() throws(ArchiveError) { try counts.check(bodySize: buffer.count) }

  /// Throws if a reader with the same limits could not read the body on its own, outside an archive file.
  package borrowing func checkLimitsAlone() throws(ArchiveError) { try counts.checkAlone(bodySize: buffer.count) }

  /// Throws if a reader with the same limits could not read the row, including the data that is stored outside the row's bytes.
  package borrowing func checkRowLimits() throws(ArchiveError) {
    try counts.checkAlone(bodySize: buffer.count + (row?.size ?? 0))
  }

  /// The minimum size, in bytes, of a file with this body. The work that a reader allows grows with the file size, so readers would reject
  /// a smaller file.
  var leastFileSize: Int { counts.leastFileSize }

  // MARK: Records

  /// Starts the record of a model. The caller must then write the fields in the order of the schema.
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

  /// Starts the first record of a schema and remembers the number of the definition for later records.
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

  /// Notes that records of this schema can have the given shape, if this writer collects schemas.
  package mutating func note(_ schema: ModelSchema, of shape: RecordShape) {
    guard schemasOfShapes != nil else { return }
    schemasOfShapes?[shape, default: []].removeAll { $0.typeIdentity == schema.typeIdentity }
    schemasOfShapes?[shape, default: []].append(schema)
  }

  /// Starts a record. The caller must then write a value for each key of the shape.
  package mutating func beginRecord(_ shape: RecordShape) throws {
    _ = try begin(shape)
    try enter()
  }

  /// Writes a record with its own type name, version and keys, whether or not the program knows the type.
  package mutating func write(_ record: ModelRecord) throws {
    try beginRecord(record.shape)
    for (place, value) in record.values.enumerated() {
      do { try write(value) } catch { throw ArchiveError.at(.key(record.keys[place]), error) }
    }
    leave()
  }

  /// Starts a record with a definition of its shape, or with a reference if the definition has already been written.
  ///
  /// - Returns: the number of the definition, or `nil` if all numbers are in use. There are 256 numbers. Once 255 shapes have been defined,
  ///   each record of any other shape gets its own definition, always with the last number.
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
        .notEncodable, "the type name ends with “@” and a number, or the model version is negative; neither is allowed",
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

  /// Returns an index of the strings in this body, with positions relative to the offset `start`, and the numbers of values and bytes in
  /// the body.
  borrowing func counted(from start: Int) -> (strings: StringIndex.Contents, counts: ReadingCounts) {
    (strings.contents(from: start), counts)
  }

  @inline(__always)
  private mutating func beginReference(_ number: Int, count: Int, keyBytes: Int) {
    counts.addRecord(count, keyBytes: keyBytes)
    // Only rows can have more than 256 definitions. A number above 255 does not fit into a record tag, so it is written after a separate
    // tag.
    if number > 255 {
      buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.inlineRecord))
      buffer.appendHead(CBOR.Major.unsigned, UInt64(truncatingIfNeeded: number))
      return buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
    }
    buffer.append(0xD9, UInt16(truncatingIfNeeded: CBOR.Tag.firstRecord) &+ UInt16(truncatingIfNeeded: number))
    buffer.appendHead(CBOR.Major.array, UInt64(truncatingIfNeeded: count))
  }

  /// A schema whose record definition is already in the body, so that later records only refer to it.
  private struct KnownSchema {
    let schema: ObjectIdentifier
    let number: Int
    /// The number of values in each record of the schema.
    let count: Int
    /// The total size of the keys in bytes. A reader charges this size to its work budget for each record.
    let keyBytes: Int
  }
}
