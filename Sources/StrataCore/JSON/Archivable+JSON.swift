public import Foundation

// The functions in this file decode values directly from JSON tokens. This is faster than creating an `ArchiveValue` first. The results are
// the same as with `decode(from:in:)`, and tests compare both. Types that do not implement `decode(fromJSON:in:)` are decoded from an
// `ArchiveValue`.

extension Archivable where Self: FixedWidthInteger {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self {
    if element.token.kind == .integer, let small = ArchiveValue.smallInteger(element.text),
      let integer = Self(exactly: small)
    {
      return integer
    }
    return try makeOfLarge(element, in: context)
  }

  @inline(never)
  private static func makeOfLarge(_ element: JSONElement, in context: DecodingContext) throws -> Self {
    guard element.kind == .number else { throw element.mismatch("an integer") }
    return try decode(from: element.value(), in: context)
  }
}

extension Double {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Double {
    switch element.token.kind {
    case .fraction:
      let number = Double(ofJSON: element.text)
      guard number.isFinite else { throw element.mismatch("a number in the range of a double") }
      return number
    // A double represents every integer of up to 15 digits exactly, so the integer can be converted directly.
    case .integer where element.token.length <= 15:
      if let integer = ArchiveValue.smallInteger(element.text) { return Double(integer) }
      return try decode(from: element.value(), in: context)
    case .integer: return try decode(from: element.value(), in: context)
    default: throw element.mismatch("a floating-point number")
    }
  }
}

extension Decimal {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Decimal {
    guard element.kind == .number, let decimal = JSONNumber(element.text).decimal else {
      throw element.mismatch("a decimal")
    }
    return decimal
  }
}

extension String {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> String {
    guard let string = element.stringValue else { throw element.mismatch("a string") }
    return string
  }
}

extension Date {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Date {
    switch element.token.kind {
    case .string: if let date = ISO8601.date(from: element.text) { return date }
    case .escapedString: if let text = element.stringValue, let date = ISO8601.date(from: text) { return date }
    default: break
    }
    throw element.mismatch("a date in the form 2011-01-26T19:01:12Z")
  }
}

extension URL {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> URL {
    if let url = context.url(element) { return url }
    throw element.kind == .string ? element.located(ArchiveError.invalidURL) : element.mismatch("a URL")
  }
}

extension Optional where Wrapped: Archivable {
  @inlinable
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Wrapped? {
    element.isNull ? nil : try Wrapped.decode(fromJSON: element, in: context)
  }
}

extension Array where Element: Archivable {
  @inlinable
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> [Element] {
    var place = try element.firstElement()
    let end = element.end
    var elements: [Element] = []
    elements.reserveCapacity(element.elementCount)
    while place < end {
      let next = element.element(at: place)
      do { elements.append(try Element.decode(fromJSON: next, in: context)) } catch {
        throw next.error(error, atIndex: elements.count)
      }
      place = element.place(after: place)
    }
    return elements
  }
}

extension Set where Element: Archivable {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Set<Element> {
    guard element.kind == .array else { throw element.mismatch("a set") }
    var set = Set<Element>(minimumCapacity: element.elementCount)
    var load = HashLoad<Element>(context.budget)
    try element.forEachElement {
      let element = try Element.decode(fromJSON: $0, in: context)
      try load.add(element, weight: $0.weight)
      set.insert(element)
    }
    return set
  }
}

extension Dictionary where Key: Archivable, Value: Archivable {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> [Key: Value] {
    if element.kind == .array { return try decode(from: element.value(), in: context) }
    guard element.kind == .object else { throw element.mismatch("a dictionary") }
    var result: [Key: Value] = [:]
    result.reserveCapacity(element.elementCount)
    var load = HashLoad<Key>(context.budget)
    try element.forEachMember { text, element in
      let key = try (text as? Key) ?? makeKey(.string(text), context)
      try load.add(key, weight: 1 + text.utf8.count / 16)
      guard result.updateValue(try Value.decode(fromJSON: element, in: context), forKey: key) == nil else {
        throw ArchiveError(.invalidJSON, "the object has a duplicate key; each key may occur only once")
      }
    }
    return result
  }
}

extension JSONElement {
  /// The number of elements or members to reserve capacity for. The limit of 65,536 bounds the memory that is reserved for types that take
  /// more memory than their JSON tokens.
  @usableFromInline
  var elementCount: Int { token.isContainer ? Swift.min(token.count, 65_536) : 0 }
}

extension JSONElement {
  /// Decodes the members that have one of the keys, in the order of the document. Throws an error if one of the keys occurs twice.
  func members(_ keys: Set<ExactKey>) throws -> ArchiveObject {
    var entries: [ArchiveObject.Entry] = []
    try forEachMember { key, member in
      guard keys.contains(ExactKey(key)) else { return }
      guard !entries.contains(where: { ExactKey.isSame($0.key, key) }) else {
        throw ArchiveError(
          .invalidJSON, "the object has a duplicate key that a field reads; each key may occur only once",
          byteOffset: member.byteOffset)
      }
      entries.append(ArchiveObject.Entry(key: key, value: try member.value()))
    }
    return ArchiveObject(uniqueEntries: entries)
  }
}

extension VersionedModel {
  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self {
    let schema = schema
    let plan = context.json.plan(of: schema)
    if try schema.isEnumeration || !context.readsDirectly(plan) || schema.jsonHierarchy() != nil {
      return try decode(from: element.value(), in: context)
    }
    try schema.check()
    guard element.kind == .object else {
      throw element.mismatch("a JSON object that represents \(schema.name)").inType(schema.name)
    }
    let places = try plan.keys.places(in: element, of: plan)
    var reader = ArchiveReader(json: element, places: places, context: context)
    var others: [ArchiveValue?] = []
    if let keys = plan.otherKeys, !keys.isEmpty {
      do {
        let slots = try plan.read(.object(element.members(keys)), in: context)
        (reader.values, others) = (slots.fieldValues, slots.values)
      } catch { throw element.located(error) }
    }
    var model: Self
    do { model = try Self(fields: &reader) } catch {
      let failed = reader.failedField
      let place = places.indices.contains(failed) ? places[failed] : -1
      let isNull =
        place >= 0
        ? element.element(at: place).isNull : others.indices.contains(failed) && others[failed]?.isNull == true
      throw element.located(plan.locate(error, failed, input: isNull ? ArchiveValue.null : nil))
    }
    if schema.finishesModels { try finish(&model, in: context) }
    return model
  }
}

extension DecodingContext {
  /// Returns the URL in a JSON string, from a cache if possible. Documents repeat URLs, and parsing a URL takes far longer than a lookup.
  func url(_ element: JSONElement) -> URL? {
    // A URL in a string with escape sequences is not cached. This is rare, because the slash is the only URL character that JSON writers
    // commonly escape.
    guard element.token.kind == .string else { return element.stringValue.flatMap { URL(exactly: $0) } }
    let bytes = element.text
    let slot = Int(truncatingIfNeeded: bytes.sampledHash &>> 56)
    if urls.isEmpty { urls = Array(repeating: nil, count: 256) }
    if let known = urls[slot], ByteBuffer.withUTF8(of: known.text, { bytes.holdsSameBytes(as: $0.bytes) }) {
      return known.url
    }
    let text = ByteBuffer.validString(bytes)
    guard let url = URL(exactly: text) else { return nil }
    urls[slot] = (text, url)
    return url
  }
}
