extension ArchiveReader {
  /// Reads a value of a type that is only `Codable`.
  ///
  /// - Throws: ``ArchiveError``, and first of all where the bytes are damaged; what the type's own code throws is its cause.
  package mutating func readCodable<T: Decodable>(_ type: T.Type = T.self) throws -> T {
    if let type = TypeShape.archivable(type), let made = try type.make(from: readValue(), in: context) as? T {
      return made
    }
    var flat = FlatValue(firstNumber: strings.count)
    try readPart(0, into: &flat)
    return try ValueCoding.make(type, from: flat, in: context)
  }

  /// Reads the next value into a part: what ``readValue()`` reads, with the same checks.
  private mutating func readPart(_ place: UInt32, into flat: inout FlatValue) throws {
    let initial = try peekByte()
    switch initial >> 5 {
    case CBOR.Major.text:
      position &+= 1
      flat.set(place, text: try readText(initial, into: &flat).place)
    case CBOR.Major.unsigned where initial < 24:
      position &+= 1
      flat.set(place, Int64(initial))
    case CBOR.Major.array:
      position &+= 1
      try readElements(of: place, readCount(initial), into: &flat)
    case CBOR.Major.map:
      position &+= 1
      try readEntries(of: place, initial, into: &flat)
    default:
      guard initial == 0xD8, let text = try readReference(into: &flat) else { return flat.set(place, try readValue()) }
      flat.set(place, text: text.place)
    }
  }

  /// The content of a text whose initial byte was read, and the number that it got or would have got.
  @inline(__always)
  private mutating func readText(
    _ initial: UInt8, into flat: inout FlatValue
  ) throws -> (place: UInt32, number: Int) {
    let number = strings.count
    let text = try readText(initial)
    return (strings.count == number ? flat.addText(text) : flat.addText(text, number: number), number)
  }

  /// The text that a reference at this position names, which is added where it is not there; `nil`, with nothing passed, where
  /// there is anything else.
  @inline(__always)
  private mutating func readReference(into flat: inout FlatValue) throws -> (place: UInt32, number: Int)? {
    guard bytes.byteCount &- position >= 2,
      bytes.unsafeLoad(fromUncheckedByteOffset: position, as: UInt8.self) == 0xD8,
      bytes.unsafeLoad(fromUncheckedByteOffset: position &+ 1, as: UInt8.self) == UInt8(CBOR.Tag.stringReference)
    else { return nil }
    let start = position
    position &+= 2
    let number = try readReferenceNumber()
    guard byteStrings[number] == nil else {
      position = start
      return nil
    }
    try context.budget.spend(bytes: strings[number].utf8.count)
    return (flat.text(number: number) ?? flat.addText(strings[number], number: number), number)
  }

  /// The text of a key; `nil`, with nothing passed, where there is anything else.
  @inline(__always)
  private mutating func readKey(
    _ map: inout MapReading, into flat: inout FlatValue
  ) throws -> (place: UInt32, number: Int)? {
    let start = position
    let initial = try peekByte()
    let key: (place: UInt32, number: Int)?
    if initial >> 5 == CBOR.Major.text {
      position &+= 1
      key = try readText(initial, into: &flat)
    } else {
      key = try readReference(into: &flat)
    }
    if key != nil { passKey(of: &map, from: start) }
    return key
  }

  /// Adds an empty part, as many as a place has numbers for.
  @inline(__always)
  private func addPart(to parent: UInt32, _ kind: FlatValue.Kind, of flat: inout FlatValue) throws -> UInt32 {
    guard flat.parts.count < UInt32.max, flat.texts.count < UInt32.max else {
      throw ArchiveError(.limitExceeded, "more than \(UInt32.max) values are in one Codable value", limit: .values)
    }
    return flat.addPart(to: parent, kind)
  }

  private mutating func readElements(of array: UInt32, _ count: Int, into flat: inout FlatValue) throws {
    flat.begin(.array, at: array)
    // A part takes more than a value.
    try context.budget.spend(weight: count)
    try enter()
    var index = 0
    do {
      while index < count {
        try readPart(addPart(to: array, .array, of: &flat), into: &flat)
        index &+= 1
      }
    } catch { throw ArchiveError.at(.index(index), error) }
    leave()
  }

  /// Reads a map: an object where all keys are strings, else a value.
  private mutating func readEntries(of object: UInt32, _ initial: UInt8, into flat: inout FlatValue) throws {
    var map = try beginMap(initial)
    defer { endMap(map) }
    try context.budget.spend(weight: map.count)
    let before = flat.counts
    flat.begin(.object, at: object)
    while map.passed < map.count {
      let place: UInt32
      if let key = try readKey(&map, into: &flat) {
        place = try addPart(to: object, .object, of: &flat)
        flat.setKey(key.place, number: key.number, of: place, in: object)
      } else if let key = try readTextKey(&map) {
        place = try addPart(to: object, .object, of: &flat)
        flat.setKey(key, of: place, in: object)
      } else {
        let entries = flat.value(object).objectValue?.entries ?? []
        flat.removeParts(after: before)
        return flat.set(object, try readRest(of: &map, after: entries))
      }
      do { try readPart(place, into: &flat) } catch { throw ArchiveError.at(.key(flat.key(place)), error) }
    }
    leave()
    guard flat.keysAreUnique(in: object) else { throw ArchiveError.damaged("a duplicate key", at: map.start) }
    flat.expectFirstKey(in: object)
  }
}
