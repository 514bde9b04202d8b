package import Foundation

extension ArchiveReader {
  /// Reads the next value, whatever its kind, as an untyped value.
  ///
  /// - Throws: ``ArchiveError`` with the code `truncated`, `damaged` or `limitExceeded`.
  public mutating func readValue() throws -> ArchiveValue {
    let start = position
    let initial = try readByte()
    switch initial >> 5 {
    case CBOR.Major.unsigned:
      let argument = try readArgument(initial)
      return argument <= UInt64(Int64.max) ? .int(Int64(argument)) : .uint(argument)
    case CBOR.Major.negative:
      let argument = try readArgument(initial)
      guard argument <= UInt64(Int64.max) else {
        let magnitude = WideInteger.Magnitude(argument).adding(1) ?? .zero
        return try context.shared(WideInteger(isNegative: true, magnitude: magnitude))
      }
      return .int(~Int64(argument))
    case CBOR.Major.bytes:
      position = start
      return .data(try readData())
    case CBOR.Major.text:
      return .string(try readText(initial))
    case CBOR.Major.array:
      return .array(try readElements(try readCount(initial)))
    case CBOR.Major.map:
      return try readMap(initial)
    case CBOR.Major.tag:
      position = start
      return try readTagged()
    default:
      return try readSimple(initial, at: start)
    }
  }

  private mutating func readSimple(_ initial: UInt8, at start: Int) throws -> ArchiveValue {
    switch initial {
    case CBOR.falseByte: return .bool(false)
    case CBOR.trueByte: return .bool(true)
    case CBOR.nullByte: return .null
    case CBOR.floatByte:
      position = start
      return .float(try readFloat())
    case CBOR.doubleByte:
      position = start
      return .double(try readDouble())
    default:
      throw ArchiveError.damaged("the body contains a simple value that is not part of the format", at: start)
    }
  }

  /// Reads the elements of an array or a set whose element count has already been read.
  ///
  /// - Parameter note: called for each element with the element's range in the bytes, and with the bytes.
  @inline(__always)
  package mutating func readElements(
    _ count: Int, _ note: (Range<Int>, RawSpan) -> Void = { _, _ in }
  ) throws -> [ArchiveValue] {
    try enter()
    var elements: [ArchiveValue] = []
    // The reserved capacity is limited, because a damaged body may contain a wrong count. An element may use only one byte of the body, but
    // it takes far more memory.
    elements.reserveCapacity(min(count, 4096))
    for index in 0..<count {
      let start = position
      do { elements.append(try readValue()) } catch { throw ArchiveError.at(.index(index), error) }
      note(start..<position, bytes)
    }
    leave()
    return elements
  }

  /// Reads a map whose initial byte has already been read. The result is an object if all keys are strings, and a map otherwise.
  private mutating func readMap(_ initial: UInt8) throws -> ArchiveValue {
    var map = try beginMap(initial)
    defer { endMap(map) }
    var entries: [ArchiveObject.Entry] = []
    entries.reserveCapacity(min(map.count, 4096))
    while map.passed < map.count {
      guard let key = try readTextKey(&map) else { return try readRest(of: &map, after: entries) }
      do { entries.append(ArchiveObject.Entry(key: key, value: try readValue())) } catch {
        throw ArchiveError.at(.key(key), error)
      }
    }
    leave()
    guard ArchiveObject.keysAreUnique(entries) else {
      throw ArchiveError.damaged("a map has a duplicate key", at: map.start)
    }
    return .object(ArchiveObject(uniqueEntries: entries))
  }

  /// The state of the map being read.
  struct MapReading {
    let start: Int
    let count: Int
    /// The number of keys of the map that have been read so far.
    fileprivate(set) var passed = 0
    /// The first key of the map that is not a string; `.null` until such a key has been read.
    fileprivate var otherKey = ArchiveValue.null
    fileprivate var hasCollections = false
    fileprivate var order = AscendingScalars()
  }

  /// Reads the head of a map whose initial byte has already been read. The caller must call ``endMap(_:)`` even after
  /// an error, and ``leave()`` after reading all entries.
  mutating func beginMap(_ initial: UInt8) throws -> MapReading {
    let start = position
    let map = MapReading(start: start, count: try readCount(initial, bytesPerElement: 2))
    try enter()
    return map
  }

  func endMap(_ map: MapReading) { if map.hasCollections { context.digests.leave() } }

  /// Reads the next key of a map. Returns `nil` if the key is not a string. In that case, the caller must call
  /// ``readRest(of:after:)``.
  @inline(__always)
  mutating func readTextKey(_ map: inout MapReading) throws -> String? {
    let start = position
    let initial = try peekByte()
    if initial >> 5 == CBOR.Major.text {
      position &+= 1
      let key = try readText(initial)
      passKey(of: &map, from: start)
      return key
    }
    if isTag(CBOR.Tag.stringReference) {
      position &+= 2
      let number = try readReferenceNumber()
      if let text = strings.text(number) {
        try context.budget.spend(bytes: text.utf8.count)
        passKey(of: &map, from: start)
        return text
      }
      position = start
    }
    let key = try readKey(&map)
    if case .string(let text) = key { return text }
    map.otherKey = key
    return nil
  }

  private mutating func readKey(_ map: inout MapReading) throws -> ArchiveValue {
    if !map.hasCollections, try keyIsCollection() {
      context.digests.enter()
      map.hasCollections = true
    }
    let start = position
    let key = try readValue()
    passKey(of: &map, from: start)
    return key
  }

  /// Counts a key that has just been read, and records whether all keys so far are in canonical order. If they are, scalar keys need not be
  /// searched for duplicates.
  @inline(__always)
  func passKey(of map: inout MapReading, from start: Int) {
    map.order.add(start..<position, in: bytes)
    map.passed &+= 1
  }

  /// Reads the rest of a map after its first key that is not a string, and returns the whole map as pairs. That key has already been read,
  /// but its value has not.
  ///
  /// - Parameter entries: the entries of the map before this key, all with string keys.
  mutating func readRest(of map: inout MapReading, after entries: [ArchiveObject.Entry]) throws -> ArchiveValue {
    var pairs = entries.map { ArchiveValue.MapEntry(key: .string($0.key), value: $0.value) }
    pairs.append(ArchiveValue.MapEntry(key: map.otherKey, value: try readValue()))
    while map.passed < map.count {
      let key = try readKey(&map)
      pairs.append(ArchiveValue.MapEntry(key: key, value: try readValue()))
    }
    leave()
    guard try map.order.isAscending && !context.digests.isOpen || context.digests.areUnique(pairs) else {
      throw ArchiveError.damaged("a map has a duplicate key", at: map.start)
    }
    return .map(pairs)
  }

  /// Whether the next key of a map can be a collection, judging by its first byte. Checking such keys for duplicates takes additional work.
  private func keyIsCollection() throws -> Bool {
    let major = try peekByte() >> 5
    return major == CBOR.Major.array || major == CBOR.Major.map
      || major == CBOR.Major.tag && !isTag(CBOR.Tag.stringReference)
  }

  private mutating func readTagged() throws -> ArchiveValue {
    let start = position
    let tag = try readArgument(try readByte())
    switch tag {
    case CBOR.Tag.stringReference:
      return try readReferenced(readReferenceNumber())
    case CBOR.Tag.firstRecord...CBOR.Tag.lastRecord, CBOR.Tag.inlineRecord:
      return .record(try readRecord(tag, at: start))
    case CBOR.Tag.rowContent where context.row != nil:
      return try readReferenced(readContent(at: start))
    case CBOR.Tag.epochDate: return .date(try readDateContent(at: start))
    case CBOR.Tag.url: return .url(try readURLContent(at: start))
    case CBOR.Tag.decimal: return .decimal(try readDecimalContent(at: start))
    case CBOR.Tag.genericObject: return try readGenericContent(at: start)
    case CBOR.Tag.uuid: return try readUUIDValue(at: start)
    case CBOR.Tag.set:
      context.digests.enter()
      defer { context.digests.leave() }
      var order = AscendingScalars()
      let elements = try readElements(try readArrayCount()) { order.add($0, in: $1) }
      guard try order.isAscending && !context.digests.isNested || context.digests.areUnique(elements) else {
        throw ArchiveError.damaged("a set has a duplicate element", at: start)
      }
      return .set(elements)
    case CBOR.Tag.positiveInteger, CBOR.Tag.negativeInteger:
      return try context.shared(readBignum(isNegative: tag == CBOR.Tag.negativeInteger, at: start))
    case CBOR.Tag.sharedReference: return try readObjectNumber(isLater: false, at: start)
    case CBOR.Tag.shareable: throw ArchiveError.damaged("a shared object occurs outside a graph", at: start)
    default:
      throw ArchiveError.damaged("the body contains the tag \(tag), which is not part of the format", at: start)
    }
  }

  /// Returns the string or data with the given reference number.
  private func readReferenced(_ number: Int) throws -> ArchiveValue {
    guard let data = strings.data(number) else { return .string(try referredText(number)) }
    try context.budget.spend(bytes: data.count)
    return .data(data)
  }

  /// Returns the kind of the next value, such as `array`, for error messages. Reads only the head of the value and does
  /// not check the content.
  package mutating func readKind() throws -> String {
    let start = position
    let initial = try readByte()
    switch initial >> 5 {
    case CBOR.Major.unsigned, CBOR.Major.negative: return "integer"
    case CBOR.Major.bytes: return "data"
    case CBOR.Major.text: return "string"
    case CBOR.Major.array: return "array"
    case CBOR.Major.map: return "object"
    case CBOR.Major.tag: return try readKind(ofTag: try readArgument(initial), at: start)
    default: return try readSimple(initial, at: start).kind
    }
  }

  private mutating func readKind(ofTag tag: UInt64, at start: Int) throws -> String {
    switch tag {
    case CBOR.Tag.stringReference: return strings.data(try readReferenceNumber()) == nil ? "string" : "data"
    case CBOR.Tag.rowContent where context.row != nil:
      return strings.data(try readContent(at: start)) == nil ? "string" : "data"
    case CBOR.Tag.firstRecord...CBOR.Tag.lastRecord, CBOR.Tag.inlineRecord: return "record"
    case CBOR.Tag.epochDate: return "date"
    case CBOR.Tag.url: return "URL"
    case CBOR.Tag.decimal: return "decimal"
    case CBOR.Tag.genericObject: return "generic object"
    case CBOR.Tag.sharedReference: return "reference"
    case CBOR.Tag.uuid: return "UUID"
    case CBOR.Tag.set: return "set"
    case CBOR.Tag.positiveInteger, CBOR.Tag.negativeInteger: return "integer"
    default: throw ArchiveError.damaged("the body contains the tag \(tag), which is not part of the format", at: start)
    }
  }

  // MARK: Tagged scalars

  // The following functions check the head of a tag's content before calling readValue(), because nested tags could
  // otherwise exhaust the stack.

  /// Reads an untagged number of at most 64 bits. If the next value is anything else, returns `nil` without advancing.
  package mutating func readPlainNumber() throws -> ArchiveValue? {
    let initial = try peekByte()
    guard initial < 0x40 || initial == CBOR.floatByte || initial == CBOR.doubleByte else { return nil }
    return try readValue()
  }

  private mutating func readGenericContent(at start: Int) throws -> ArchiveValue {
    let count = try readArrayCount() - 1
    guard count >= 0 else { throw ArchiveError.damaged("a generic object has no name", at: start) }
    switch try readString() {
    case CBOR.Generic.date: return .date(try readGenericDate(count, at: start))
    case CBOR.Generic.url: return .url(try readGenericURL(count, at: start))
    case CBOR.Generic.decimal where count == 0: return .decimal(.nan)
    case CBOR.Generic.later where count == 1: return try readObjectNumber(isLater: true, at: start)
    case CBOR.Generic.graph where count == 2: return .graph(try readGraphContent(at: start))
    case CBOR.Generic.number where count == 1:
      guard let number = NumberText(try readString()) else {
        throw ArchiveError.damaged("a number is not a valid JSON number", at: start)
      }
      return .number(number)
    default: throw ArchiveError.damaged("a generic object has an unknown kind", at: start)
    }
  }

  package mutating func readDate() throws -> Date {
    let start = position
    guard try peekByte() == 0xC1 else {
      let value = try readValue()
      guard case .date(let date) = value else {
        throw ArchiveError.mismatch(expected: "a date", found: value.kind, at: start)
      }
      return date
    }
    position &+= 1
    return try readDateContent(at: start)
  }

  private mutating func readDateContent(at start: Int) throws -> Date {
    if try peekByte() == CBOR.doubleByte { return Date(since1970: try readDouble()) }
    let seconds: Double
    switch try readPlainNumber() {
    case .int(let whole)?: seconds = Double(whole)
    case .double(let fraction)?: seconds = fraction
    case .float(let fraction)?: seconds = Double(fraction)
    default: throw ArchiveError.damaged("the content of a date is not a number", at: start)
    }
    return Date(since1970: seconds)
  }

  private mutating func readGenericDate(_ count: Int, at start: Int) throws -> Date {
    guard count == 1, case .double(let seconds)? = try readPlainNumber() else {
      throw ArchiveError.damaged("the content of a date is not a number", at: start)
    }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }

  /// Reads a URL. A text that occurs several times in the body is parsed as a URL only once, because parsing takes most
  /// of the time.
  package mutating func readURL() throws -> URL {
    let start = position
    guard isTag(CBOR.Tag.url) else {
      let value = try readValue()
      guard case .url(let url) = value else {
        throw ArchiveError.mismatch(expected: "a URL", found: value.kind, at: start)
      }
      return url
    }
    position &+= 2
    return try readURLContent(at: start)
  }

  private mutating func readURLContent(at start: Int) throws -> URL {
    if try peekByte() >> 5 == CBOR.Major.tag {
      let number = try readReference(expected: "a string")
      let text = try referredText(number)
      if let url = strings.url(number) { return url }
      let url = try makeURL(text, at: start)
      strings.remember(url, number)
      return url
    }
    let before = strings.count
    let text = try readString()
    guard strings.count > before else { return try context.sharedURL(text) { try makeURL(text, at: start) } }
    let url = try makeURL(text, at: start)
    strings.remember(url, before)
    return url
  }

  private func makeURL(_ string: String, at start: Int) throws -> URL {
    try context.budget.spend(weight: WorkBudget.ofShared)
    guard let url = URL(exactly: string) else {
      throw ArchiveError.damaged("a URL is invalid", at: start)
    }
    return url
  }

  private mutating func readGenericURL(_ count: Int, at start: Int) throws -> URL {
    guard count == 2 else { throw ArchiveError.damaged("a relative URL has no base URL", at: start) }
    let relative = try readString()
    let base = try readURLContent(at: start)
    return try context.sharedURL(relative, base.absoluteString) {
      try context.budget.spend(weight: WorkBudget.ofShared)
      guard let url = URL(string: relative, relativeTo: base) else {
        throw ArchiveError.damaged("a URL is invalid", at: start)
      }
      return url
    }
  }

  private mutating func readUUIDValue(at start: Int) throws -> ArchiveValue {
    let before = strings.count
    let data = try readData()
    guard data.count == 16 else { throw ArchiveError.damaged("a UUID is not 16 bytes long", at: start) }
    var content: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &content) { $0.copyBytes(from: data) }
    // A UUID that has just received a reference number is not cached, because its bytes were charged to the budget as data. Any other
    // UUID, such as one that was read from a reference, shares memory with equal UUIDs through a cache.
    return strings.count > before ? .uuid(UUID(uuid: content)) : context.shared(UUID(uuid: content))
  }

  private mutating func readBignum(isNegative: Bool, at start: Int) throws -> WideInteger {
    let data = try readData()
    guard data.count <= 16 else {
      throw ArchiveError.damaged("an integer exceeds the maximum of 128 bits", at: start)
    }
    let bits = data.reduce(WideInteger.Magnitude.zero) { $0.appending(bits: UInt64($1), count: 8) }
    guard let magnitude = bits.adding(isNegative ? 1 : 0) else {
      throw ArchiveError.damaged("an integer exceeds the maximum of 128 bits", at: start)
    }
    return WideInteger(isNegative: isNegative, magnitude: magnitude)
  }

  /// Reads a decimal. If the next value is anything else, returns `nil` without advancing.
  mutating func readDecimal() throws -> Decimal? {
    let start = position
    guard try peekByte() == 0xC4 else { return nil }
    position &+= 1
    return try readDecimalContent(at: start)
  }

  mutating func readDecimalContent(at start: Int) throws -> Decimal {
    func damage() -> ArchiveError {
      ArchiveError.damaged("a decimal is not a pair of an exponent and a mantissa", at: start)
    }
    guard try readArrayCount() == 2, let head = try readPlainInteger(), head.argument < 1000 else { throw damage() }
    // CBOR encodes the negative integer n as the argument -1 - n, which is ~n.
    let exponent = head.isNegative ? ~Int(head.argument) : Int(head.argument)
    guard exponent > -1000 else { throw damage() }
    let mantissa: WideInteger
    if let plain = try readPlainInteger() {
      let argument = WideInteger.Magnitude(plain.argument)
      mantissa = WideInteger(
        isNegative: plain.isNegative, magnitude: plain.isNegative ? argument &+ WideInteger.Magnitude(1) : argument)
    } else {
      let initial = try readByte()
      let tag = initial >> 5 == CBOR.Major.tag ? try readArgument(initial) : 0
      guard tag == CBOR.Tag.positiveInteger || tag == CBOR.Tag.negativeInteger else { throw damage() }
      mantissa = try readBignum(isNegative: tag == CBOR.Tag.negativeInteger, at: start)
    }
    let parts = DecimalParts(isNegative: mantissa.isNegative, mantissa: mantissa.magnitude, exponent: exponent)
    guard let decimal = parts.decimal else {
      throw ArchiveError.damaged(
        "the mantissa of a decimal has more than 128 bits, or its exponent is not between -128 and 127", at: start)
    }
    return decimal
  }

  /// Reads an untagged 64-bit integer. If the next value is anything else, returns `nil` without advancing.
  private mutating func readPlainInteger() throws -> (isNegative: Bool, argument: UInt64)? {
    let initial = try peekByte()
    guard initial < 0x40 else { return nil }
    position &+= 1
    return (initial >= 0x20, try readArgument(initial))
  }
}

extension Date {
  /// Creates a date from a number of seconds since 1970, as stored in a date with CBOR tag 1.
  fileprivate init(since1970 seconds: Double) {
    self.init(timeIntervalSinceReferenceDate: seconds - Date.timeIntervalBetween1970AndReferenceDate)
  }
}
