extension ArchiveReader {
  /// The result of reading the head of a record.
  package enum RecordStart {
    /// The record has the model's current shape. The next bytes contain the fields in the order of the schema.
    case fields
    /// The record has the given shape, which differs from the model's current shape. The next bytes contain the values
    /// in the order of the shape's keys.
    case values(RecordShape)
    /// The next value is not a record.
    case other
  }

  /// Reads the head of a record, which contains or refers to the record's definition. If the next value is not a
  /// record, nothing is read.
  @inline(__always)
  package mutating func beginRecord(_ schema: ModelSchema) throws -> RecordStart {
    guard try peekByte() == 0xD9 else { return .other }
    let start = position
    position &+= 1
    let tag = UInt64(try readByte()) << 8 | UInt64(try readByte())
    if tag >= CBOR.Tag.firstRecord, tag <= CBOR.Tag.lastRecord {
      let number = Int(tag &- CBOR.Tag.firstRecord)
      for place in definitions.indices where definitions[place].number == number {
        let count = definitions[place].shape.keys.count
        guard try readArrayCount() == count else { throw ArchiveReader.wrongCount(start) }
        if definitions[place].matching == ObjectIdentifier(schema) { return .fields }
        return match(place, schema)
      }
      throw ArchiveError.damaged("the definition of a record is missing", at: start)
    }
    guard tag == CBOR.Tag.inlineRecord else {
      position = start
      return .other
    }
    if context.row == nil, let known = schema.definition(includingExcluded: context.includesExcluded),
      try passDefinition(known, at: start)
    {
      return .fields
    }
    return match(try readDefinition(at: start), schema)
  }

  /// Reads the head of a record of any type. Returns the index of the record's definition in `definitions`, or `nil` if
  /// the next value is not a record.
  package mutating func beginAnyRecord() throws -> Int? {
    guard try peekByte() == 0xD9 else { return nil }
    let start = position
    position &+= 1
    let tag = UInt64(try readByte()) << 8 | UInt64(try readByte())
    if tag == CBOR.Tag.inlineRecord { return try readDefinition(at: start) }
    guard tag >= CBOR.Tag.firstRecord, tag <= CBOR.Tag.lastRecord else {
      position = start
      return nil
    }
    return try beginReferencedRecord(Int(tag &- CBOR.Tag.firstRecord), at: start)
  }

  private mutating func beginReferencedRecord(_ number: Int, at start: Int) throws -> Int {
    guard let place = definitions.firstIndex(where: { $0.number == number }) else {
      throw ArchiveError.damaged("the definition of a record is missing", at: start)
    }
    guard try readArrayCount() == definitions[place].shape.keys.count else { throw Self.wrongCount(start) }
    return place
  }

  package mutating func match(_ place: Int, _ schema: ModelSchema) -> RecordStart {
    let shape = definitions[place].shape
    guard schema.reads(shape, includingExcluded: context.includesExcluded) else { return .values(shape) }
    definitions[place].matching = ObjectIdentifier(schema)
    return .fields
  }

  package static func wrongCount(_ start: Int) -> ArchiveError {
    ArchiveError.damaged(
      "the number of values in a record differs from the number of keys in its definition", at: start)
  }

  /// Reads a record definition whose tag has already been read: the definition's number and keys. Returns the index of
  /// the definition in `definitions`. The next bytes contain the values of the record.
  package mutating func readDefinition(at start: Int) throws -> Int {
    if context.row != nil { return try readDefinitionNumber(at: start) }
    let count = try readArrayCount()
    guard count >= 2, case .int(let tag)? = try readPlainNumber(), tag >= 57344, tag <= 57599 else {
      throw ArchiveError.damaged("a record definition has no number", at: start)
    }
    let keyCount = try readArrayCount()
    guard keyCount == count - 1 else { throw Self.wrongCount(start) }
    var keys: [String] = []
    for _ in 0..<keyCount { keys.append(try readString()) }
    let mark = keys.removeLast()
    try context.budget.spend(values: WorkBudget.values(ofDefinition: keys.count))
    let floors = context.floors
    let shape = RecordShape(mark: mark, keys: keys) { floors[$0, $1] }
    guard shape.keysAreUnique else { throw ArchiveError.damaged("a record definition has a duplicate key", at: start) }
    let number = Int(tag) - 57344
    return define(Definition(number: number, shape: shape, matching: nil))
  }

  /// Adds a definition, or replaces the definition with the same number. Returns the index of the definition in
  /// `definitions`.
  mutating func define(_ definition: Definition) -> Int {
    if let place = definitions.firstIndex(where: { $0.number == definition.number }) {
      definitions[place] = definition
      return place
    }
    definitions.append(definition)
    return definitions.count - 1
  }

  /// Reads the definition number of a record in a row. Returns the index of the definition in `definitions`. A row
  /// stores the number separately if it is too large for a record tag.
  private mutating func readDefinitionNumber(at start: Int) throws -> Int {
    guard case .int(let number)? = try readPlainNumber() else {
      throw ArchiveError.damaged("a record in a row has no definition number", at: start)
    }
    return try beginReferencedRecord(Int(number), at: start)
  }

  /// Reads a record whose tag has already been read.
  package mutating func readRecord(_ tag: UInt64, at start: Int) throws -> ModelRecord {
    let place: Int
    if tag == CBOR.Tag.inlineRecord {
      place = try readDefinition(at: start)
    } else {
      place = try beginReferencedRecord(Int(truncatingIfNeeded: tag) - Int(CBOR.Tag.firstRecord), at: start)
    }
    return try readValues(of: definitions[place].shape)
  }

  /// Reads the values of a record whose head has already been read.
  package mutating func readValues(of shape: RecordShape) throws -> ModelRecord {
    try enter()
    // The archive contains the keys only once, but each decoded record has them. The size of the keys is therefore charged to the work
    // budget for each record.
    try context.budget.spend(bytes: shape.keyBytes)
    var values: [ArchiveValue] = []
    values.reserveCapacity(shape.keys.count)
    for key in shape.keys {
      do { values.append(try readValue()) } catch { throw ArchiveError.at(.key(key), error) }
    }
    leave()
    return ModelRecord(shape: shape, values: values)
  }

  /// Skips the next value, including all values inside it, without checking its content (RFC 8949 §3).
  ///
  /// - Parameter definesRecords: whether record definitions inside the skipped value are kept for later values.
  package mutating func skipValue(definesRecords: Bool = false) throws {
    var remaining: UInt64 = 1
    while remaining > 0 {
      remaining &-= 1
      let start = position
      let initial = try readByte()
      let argument = try readArgument(initial)
      var inside: UInt64 = 0
      switch initial >> 5 {
      case CBOR.Major.bytes, CBOR.Major.text:
        guard argument <= UInt64(bytes.byteCount - position) else {
          throw ArchiveError.damaged("a string extends past the end of the body", at: position)
        }
        position &+= Int(argument)
      case CBOR.Major.array: inside = argument
      case CBOR.Major.map: inside = argument &* 2
      case CBOR.Major.tag where definesRecords && argument == CBOR.Tag.inlineRecord:
        inside = UInt64(definitions[try readDefinition(at: start)].shape.keys.count)
      case CBOR.Major.tag: inside = 1
      default: break
      }
      guard inside > 0 else { continue }
      guard inside <= UInt64(bytes.byteCount) else {
        throw ArchiveError.damaged("a collection extends past the end of the body", at: position)
      }
      remaining &+= inside
    }
  }

  /// Reads tag 256, which starts every body and allows the body to contain references to strings.
  package mutating func beginBody() throws {
    guard bytes.byteCount >= 3, try readByte() == 0xD9, try readByte() == 1, try readByte() == 0 else {
      throw ArchiveError.damaged("the body does not begin with tag 256", at: 0)
    }
    usesReferences = true
    strings = NumberedStrings(areReferred: bytes.mayHoldReference)
    context.graph = GraphReading()
    context.forgetShared()
  }

  /// Throws `damaged` if bytes remain after the last value.
  package mutating func endBody() throws {
    guard position == bytes.byteCount else {
      throw ArchiveError.damaged("the body has \(bytes.byteCount - position) bytes after the last value", at: position)
    }
  }
}
