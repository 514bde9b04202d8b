extension Optional: Archivable where Wrapped: Archivable {
  @inlinable
  public func write(to writer: inout ArchiveWriter) throws {
    guard let self else { return writer.writeNull() }
    if Wrapped._mayBeNull { try Self.checkNull(self) }
    try self.write(to: &writer)
  }

  @inlinable
  public static var _mayBeNull: Bool { true }

  /// Throws if the wrapped value is a nil optional, because it would be encoded in the same way as a nil outer optional.
  @usableFromInline
  static func checkNull(_ wrapped: Wrapped) throws {
    guard let optional = wrapped as? any OptionalType, optional.isNone else { return }
    throw ArchiveError(
      .notEncodable,
      "an optional contains an optional that is nil, so the outer optional would also be read back as nil; use an enum "
        + "instead")
  }

  @inlinable
  public static func read(from reader: inout ArchiveReader) throws -> Wrapped? {
    if try reader.readNullIfPresent() { return nil }
    return try Wrapped.read(from: &reader)
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Wrapped? {
    value.isNull ? nil : try Wrapped.decode(from: value, in: context)
  }

  public static var _archiveTypeName: String { Wrapped._archiveTypeName + "?" }
  public static var typeShape: TypeShape { containerShape }
}

extension Array: Archivable where Element: Archivable {
  @inlinable
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginArray(count: count)
    // The buffer's span borrows each element, whereas a loop over the array would copy all fields of the element. `Array.span` would
    // require macOS 26.
    try withUnsafeBufferPointer { buffer in
      let elements = buffer.span
      var index = 0
      do {
        while index < elements.count {
          try elements[index].write(to: &writer)
          index &+= 1
        }
      } catch {
        throw writer.error(error, atIndex: index)
      }
    }
    writer.leave()
  }

  @inlinable
  public static func read(from reader: inout ArchiveReader) throws -> [Element] {
    let count = try reader.beginArray()
    var elements: [Element] = []
    // The reserved capacity is limited, because a damaged body may contain a wrong count. An element may use only one byte of the body, but
    // it takes far more memory.
    elements.reserveCapacity(Swift.min(count, 1024))
    do {
      while elements.count < count { elements.append(try Element.read(from: &reader)) }
    } catch {
      throw reader.error(error, atIndex: elements.count)
    }
    reader.endArray()
    return elements
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> [Element] {
    guard case .array(let values) = value else {
      throw ArchiveError.mismatch(expected: "an array", found: value.kind)
    }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    var failures: [ArchiveError] = []
    for (index, value) in values.enumerated() {
      do { elements.append(try Element.decode(from: value, in: context)) } catch {
        failures.append(ArchiveError.at(.index(index), error))
        if !context.collectsErrors { break }
      }
    }
    if let error = ArchiveError.combined(failures) { throw error }
    return elements
  }

  public static var _archiveTypeName: String { "[\(Element._archiveTypeName)]" }
  public static var typeShape: TypeShape { containerShape }
  public var _archivedCount: Int { count }
}

/// A `ContiguousArray` is archived like an array with the same elements.
extension ContiguousArray: Archivable where Element: Archivable {
  public func write(to writer: inout ArchiveWriter) throws { try Array(self).write(to: &writer) }

  public static func read(from reader: inout ArchiveReader) throws -> ContiguousArray {
    ContiguousArray(try [Element].read(from: &reader))
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> ContiguousArray {
    ContiguousArray(try [Element].decode(from: value, in: context))
  }

  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> ContiguousArray {
    ContiguousArray(try [Element].decode(fromJSON: element, in: context))
  }

  public static var _archiveTypeName: String { [Element]._archiveTypeName }
  public static var typeShape: TypeShape { containerShape }
  public var _archivedCount: Int { count }
}

extension Set: Archivable where Element: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginSet(count: count)
    let items = try CanonicalOrder.encoded(
      self, objects: writer.objects, inPlace: writer.objectsInPlace, by: { try $1.write(to: &$0) })
    if !writer.includesExcluded, !(Element._rootSchema?.holdsObjects ?? false) {
      try CanonicalOrder.checkDifferent(
        items, "two elements of a set differ only in excluded fields, so they would be the same element in the archive"
      ) { $0 }
    }
    for item in items {
      // The bytes that were encoded for sorting can be used if the writer does not write references to strings or objects.
      if writer.sharesNothing { writer.append(encoded: item.bytes) } else { try item.element.write(to: &writer) }
    }
    writer.leave()
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Set<Element> {
    var set = Set<Element>()
    if case .set(let elements) = value { set.reserveCapacity(elements.count) }
    try forEachMember(of: value, takesArrays: context.source == .json || context.takesPlainObjects, in: context) {
      set.insert($0).inserted
    }
    return set
  }

  /// Decodes the elements of a set and passes them to a closure in stored order.
  ///
  /// - Parameters:
  ///   - takesArrays: whether an array is accepted as a set. The array may contain duplicates.
  ///   - add: adds an element to the set. Returns false if the element was already present.
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for a value that is not a set, `damaged` for a duplicate
  ///   element, and any error that decoding an element throws.
  package static func forEachMember(
    of value: ArchiveValue, takesArrays: Bool, in context: DecodingContext, _ add: (Element) -> Bool
  ) throws {
    let values: [ArchiveValue]
    switch value {
    case .set(let elements): values = elements
    case .array(let elements) where takesArrays: values = elements
    default: throw ArchiveError.mismatch(expected: "a set", found: value.kind)
    }
    var load = HashLoad<Element>(context.budget)
    for (index, value) in values.enumerated() {
      do {
        let element = try Element.decode(from: value, in: context)
        try load.add(element, value)
        guard add(element) || takesArrays else { throw ArchiveError(.damaged, "a set has a duplicate element") }
      } catch { throw ArchiveError.at(.index(index), error) }
    }
  }

  public static var _archiveTypeName: String { "Set<\(Element._archiveTypeName)>" }
  public static var typeShape: TypeShape { containerShape }
  public var _archivedCount: Int { count }
}

extension Dictionary: Archivable where Key: Archivable, Value: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginMap(count: count)
    // Sorts key-value pairs instead of keys, because a key that is not equal to itself, such as NaN, could not be used to look up its value
    // afterwards.
    let items = try CanonicalOrder.encoded(
      self, objects: writer.objects, inPlace: writer.objectsInPlace, by: { try $1.key.write(to: &$0) })
    if !writer.includesExcluded, !(Key._rootSchema?.holdsObjects ?? false) {
      try CanonicalOrder.checkDifferent(
        items, "two keys of a dictionary differ only in excluded fields, so they would be the same key in the archive"
      ) { $0.key }
    }
    for item in items {
      let (key, value) = item.element
      if writer.sharesNothing { writer.append(encoded: item.bytes) } else { try key.write(to: &writer) }
      // Errors normally contain no user data. The error for a value nevertheless contains the value's key, because the value could not be
      // located without it.
      do { try value.write(to: &writer) } catch { throw ArchiveError.at(.key(key as? String ?? "(key)"), error) }
    }
    writer.leave()
  }

  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> [Key: Value] {
    var result: [Key: Value] = [:]
    try forEachPair(of: value, in: context) {
      result.updateValue($1, forKey: $0) == nil
    }
    return result
  }

  /// Decodes the keys and values of a dictionary and passes them to a closure in stored order.
  ///
  /// - Parameters:
  ///   - takesPairs: whether an array of pairs is accepted as a dictionary in archives. JSON always accepts such an array.
  ///   - add: adds a pair to the dictionary. Returns false if the key was already present.
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for a value that is not a dictionary, `damaged` or
  ///   `invalidJSON` for a duplicate key, and any error that decoding a key or a value throws.
  package static func forEachPair(
    of value: ArchiveValue, takesPairs: Bool = false, in context: DecodingContext, _ add: (Key, Value) -> Bool
  ) throws {
    var failures: [ArchiveError] = []
    var load = HashLoad<Key>(context.budget)
    func insert(_ key: ArchiveValue, _ value: ArchiveValue) throws {
      do {
        let made = (value: try Value.decode(from: value, in: context), key: try makeKey(key, context))
        try load.add(made.key, key)
        guard add(made.key, made.value) else {
          throw context.source == .json
            ? ArchiveError(.invalidJSON, "the object has a duplicate key; each key may occur only once")
            : ArchiveError(.damaged, "a dictionary has a duplicate key")
        }
      } catch {
        let error = ArchiveError.at(.key(key.stringValue ?? "(key)"), error)
        guard context.collectsErrors else { throw error }
        failures.append(error)
      }
    }
    for (key, value) in try pairs(of: value, takesPairs: takesPairs || context.source == .json) {
      try insert(key, value)
    }
    if let error = ArchiveError.combined(failures) { throw error }
  }

  /// Returns the key-value pairs of a dictionary, which can be an object, a map or an array.
  ///
  /// `Codable` writes a dictionary whose keys are neither strings nor integers as an array of alternating keys and values. This form is
  /// accepted, because data must stay readable if a type that was only `Codable` becomes a model.
  ///
  /// - Parameter takesPairs: whether an array of pairs is accepted. JSON uses such arrays if the keys are not strings.
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for any other value.
  package static func pairs(of value: ArchiveValue, takesPairs: Bool) throws -> [(
    key: ArchiveValue, value: ArchiveValue
  )] {
    switch value {
    case .object(let object): return object.entries.map { (.string($0.key), $0.value) }
    case .map(let entries): return entries.map { ($0.key, $0.value) }
    case .array(let elements):
      let pairs = elements.map(\.arrayValue)
      if takesPairs, pairs.allSatisfy({ $0?.count == 2 }) { return pairs.compactMap { $0.map { ($0[0], $0[1]) } } }
      if !(Key.self is String.Type || Key.self is Int.Type) {
        guard elements.count.isMultiple(of: 2) else {
          throw ArchiveError(
            .typeMismatch, "a key of a dictionary has no value", path: [.index(elements.count - 1)])
        }
        return stride(from: 0, to: elements.count, by: 2).map { (elements[$0], elements[$0 + 1]) }
      }
      guard takesPairs else { break }
      let wrong = pairs.firstIndex { $0?.count != 2 } ?? 0
      throw ArchiveError(.typeMismatch, "an entry of a dictionary is not a key-value pair", path: [.index(wrong)])
    default: break
    }
    throw ArchiveError.mismatch(expected: "a dictionary", found: value.kind)
  }

  /// Decodes a key of a dictionary. In JSON, even integer keys are strings. If such a string cannot be decoded as the key type, the integer
  /// in the string is decoded instead.
  package static func makeKey(_ key: ArchiveValue, _ context: DecodingContext) throws -> Key {
    guard context.source == .json, !(Key.self is String.Type), case .string(let text) = key,
      let number = ArchiveValue(integerText: text)
    else { return try Key.decode(from: key, in: context) }
    if Key.self is any FixedWidthInteger.Type { return try Key.decode(from: number, in: context) }
    do { return try Key.decode(from: key, in: context) } catch let error as ArchiveError
      where error.code == .typeMismatch
    {
      return try Key.decode(from: number, in: context)
    }
  }

  public static var _archiveTypeName: String { "[\(Key._archiveTypeName): \(Value._archiveTypeName)]" }
  public static var typeShape: TypeShape { containerShape }
  public var _archivedCount: Int { count }
}

extension ArchiveValue {
  /// Parses decimal digits with an optional sign as an integer.
  fileprivate init?(integerText text: String) {
    guard let integer = WideInteger(text) else { return nil }
    self.init(integer)
  }
}

extension ArchiveWriter {
  /// Returns the error with the given array index prepended to its path.
  public func error(_ error: any Error, atIndex index: Int) -> any Error { ArchiveError.at(.index(index), error) }
}

extension ArchiveReader {
  /// Starts reading an array and returns the number of elements that follow.
  public mutating func beginArray() throws -> Int {
    let count = try readArrayCount()
    try enter()
    return count
  }

  /// Ends reading an array, after all of its elements have been read.
  public mutating func endArray() { leave() }

  /// Returns the error with the given array index prepended to its path.
  public func error(_ error: any Error, atIndex index: Int) -> any Error { ArchiveError.at(.index(index), error) }
}
