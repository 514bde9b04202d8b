extension Optional: Archivable where Wrapped: Archivable {
  @inlinable
  public func write(to writer: inout ArchiveWriter) throws {
    guard let self else { return writer.writeNull() }
    if Wrapped._mayBeNull { try Self.checkNull(self) }
    try self.write(to: &writer)
  }

  @inlinable
  public static var _mayBeNull: Bool { true }

  /// Makes sure that a value is not written as the nil around it would be.
  @usableFromInline
  static func checkNull(_ wrapped: Wrapped) throws {
    guard let optional = wrapped as? any OptionalType, optional.isNone else { return }
    throw ArchiveError(
      .notEncodable, "an optional holds an optional that is nil, which would be read as nil itself; make it an enum")
  }

  @inlinable
  public static func read(from reader: inout ArchiveReader) throws -> Wrapped? {
    if try reader.readNullIfPresent() { return nil }
    return try Wrapped.read(from: &reader)
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> Wrapped? {
    value.isNull ? nil : try Wrapped.make(from: value, in: context)
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) { Wrapped._collectSchemas(into: &catalog) }
  public static var _archiveTypeName: String { Wrapped._archiveTypeName + "?" }
  public static var _rootSchema: ModelSchema? { Wrapped._rootSchema }
  public static var typeShape: TypeShape { TypeShape(.optional(Wrapped.self)) }
}

extension Array: Archivable where Element: Archivable {
  @inlinable
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginArray(count: count)
    // Through a span, an element is lent and not copied with all its fields. Arrays have spans of their own from macOS 26 on only.
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
    // An element may take far more memory than the byte that announces it.
    elements.reserveCapacity(Swift.min(count, 1024))
    do {
      while elements.count < count { elements.append(try Element.read(from: &reader)) }
    } catch {
      throw reader.error(error, atIndex: elements.count)
    }
    reader.endArray()
    return elements
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> [Element] {
    guard case .array(let values) = value else {
      throw ArchiveError.mismatch(expected: "an array", found: value.kind)
    }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    var failures: [ArchiveError] = []
    for (index, value) in values.enumerated() {
      do { elements.append(try Element.make(from: value, in: context)) } catch {
        failures.append(ArchiveError.at(.index(index), error))
        if !context.collectsErrors { break }
      }
    }
    if let error = ArchiveError.combined(failures) { throw error }
    return elements
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) { Element._collectSchemas(into: &catalog) }
  public static var _archiveTypeName: String { "[\(Element._archiveTypeName)]" }
  public static var _rootSchema: ModelSchema? { Element._rootSchema }
  public static var typeShape: TypeShape { TypeShape(.array(Element.self)) }
  public var _archivedCount: Int { count }
}

/// Archived as an array of the same elements is.
extension ContiguousArray: Archivable where Element: Archivable {
  public func write(to writer: inout ArchiveWriter) throws { try Array(self).write(to: &writer) }

  public static func read(from reader: inout ArchiveReader) throws -> ContiguousArray {
    ContiguousArray(try [Element].read(from: &reader))
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> ContiguousArray {
    ContiguousArray(try [Element].make(from: value, in: context))
  }

  public static func make(fromJSON element: JSONElement, in context: DecodingContext) throws -> ContiguousArray {
    ContiguousArray(try [Element].make(fromJSON: element, in: context))
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) { Element._collectSchemas(into: &catalog) }
  public static var _archiveTypeName: String { [Element]._archiveTypeName }
  public static var _rootSchema: ModelSchema? { Element._rootSchema }
  public static var typeShape: TypeShape { TypeShape(.array(Element.self)) }
  public var _archivedCount: Int { count }
}

extension Set: Archivable where Element: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginSet(count: count)
    let items = try CanonicalOrder.encoded(
      self, objects: writer.objects, inPlace: writer.objectsInPlace, by: { try $1.write(to: &$0) })
    if !writer.includesExcluded, !(Element._rootSchema?.holdsObjects ?? false) {
      try CanonicalOrder.checkDifferent(items, "elements of a set") { $0 }
    }
    for item in items {
      // What is only written for its order shares nothing, so it needs not be written once more at every level.
      if writer.sharesNothing { writer.append(encoded: item.bytes) } else { try item.element.write(to: &writer) }
    }
    writer.leave()
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> Set<Element> {
    var set = Set<Element>()
    if case .set(let elements) = value { set.reserveCapacity(elements.count) }
    try forEachMember(of: value, takesArrays: context.source == .json || context.takesPlainObjects, in: context) {
      set.insert($0).inserted
    }
    return set
  }

  /// Makes the elements of a set, of whatever kind, in the order in which they are here.
  ///
  /// - Parameters:
  ///   - takesArrays: whether an array is a set as well, in which an element may be there twice.
  ///   - add: adds an element; false where it was there.
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for what is no set, `damaged` for a duplicate element, and what elements throw.
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
        let element = try Element.make(from: value, in: context)
        try load.add(element, value)
        guard add(element) || takesArrays else { throw ArchiveError(.damaged, "a duplicate element of a set") }
      } catch { throw ArchiveError.at(.index(index), error) }
    }
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) { Element._collectSchemas(into: &catalog) }
  public static var _archiveTypeName: String { "Set<\(Element._archiveTypeName)>" }
  public static var _rootSchema: ModelSchema? { Element._rootSchema }
  public static var typeShape: TypeShape { TypeShape(.set(Element.self)) }
  public var _archivedCount: Int { count }
}

extension Dictionary: Archivable where Key: Archivable, Value: Archivable {
  public func write(to writer: inout ArchiveWriter) throws {
    try writer.enter()
    writer.beginMap(count: count)
    // The pairs are sorted and not the keys: a key that is not equal to itself, as NaN, could not be looked up.
    let items = try CanonicalOrder.encoded(
      self, objects: writer.objects, inPlace: writer.objectsInPlace, by: { try $1.key.write(to: &$0) })
    if !writer.includesExcluded, !(Key._rootSchema?.holdsObjects ?? false) {
      try CanonicalOrder.checkDifferent(items, "keys of a dictionary") { $0.key }
    }
    for item in items {
      let (key, value) = item.element
      if writer.sharesNothing { writer.append(encoded: item.bytes) } else { try key.write(to: &writer) }
      // Keys of a dictionary are data, but without them nobody finds the place.
      do { try value.write(to: &writer) } catch { throw ArchiveError.at(.key(key as? String ?? "(key)"), error) }
    }
    writer.leave()
  }

  public static func make(from value: ArchiveValue, in context: DecodingContext) throws -> [Key: Value] {
    var result: [Key: Value] = [:]
    try forEachPair(of: value, in: context) {
      result.updateValue($1, forKey: $0) == nil
    }
    return result
  }

  /// Makes the keys and values of a dictionary, of whatever kind, in the order in which they are here.
  ///
  /// - Parameters:
  ///   - takesPairs: whether an array of pairs is a dictionary in archives as well, and not in JSON alone.
  ///   - add: adds a pair; false where the key was there.
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` for what is no dictionary, `damaged` or `invalidJSON` for a duplicate key, and
  ///   what keys and values throw.
  package static func forEachPair(
    of value: ArchiveValue, takesPairs: Bool = false, in context: DecodingContext, _ add: (Key, Value) -> Bool
  ) throws {
    var failures: [ArchiveError] = []
    var load = HashLoad<Key>(context.budget)
    func make(_ key: ArchiveValue, _ value: ArchiveValue) throws {
      do {
        let made = (value: try Value.make(from: value, in: context), key: try makeKey(key, context))
        try load.add(made.key, key)
        guard add(made.key, made.value) else {
          throw context.source == .json
            ? ArchiveError(.invalidJSON, "a duplicate key; each may be there once")
            : ArchiveError(.damaged, "a duplicate key")
        }
      } catch {
        let error = ArchiveError.at(.key(key.stringValue ?? "(key)"), error)
        guard context.collectsErrors else { throw error }
        failures.append(error)
      }
    }
    for (key, value) in try pairs(of: value, takesPairs: takesPairs || context.source == .json) { try make(key, value) }
    if let error = ArchiveError.combined(failures) { throw error }
  }

  /// The keys and values in any of the forms of a dictionary.
  ///
  /// `Codable` writes a dictionary whose keys are neither strings nor integers as an array in which keys and values alternate. Such an
  /// array is read, so that data stays readable when a type that was only `Codable` becomes a model.
  ///
  /// - Parameter takesPairs: whether an array of pairs is a dictionary. JSON has no keys but strings, so others stand in pairs.
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
            .typeMismatch, "found a key without a value in a dictionary", path: [.index(elements.count - 1)])
        }
        return stride(from: 0, to: elements.count, by: 2).map { (elements[$0], elements[$0 + 1]) }
      }
      guard takesPairs else { break }
      let wrong = pairs.firstIndex { $0?.count != 2 } ?? 0
      throw ArchiveError(.typeMismatch, "found no pair of a key and a value in a dictionary", path: [.index(wrong)])
    default: break
    }
    throw ArchiveError.mismatch(expected: "a dictionary", found: value.kind)
  }

  /// JSON writes every key as a string, integers among them: what cannot be made of the text is made of its number.
  package static func makeKey(_ key: ArchiveValue, _ context: DecodingContext) throws -> Key {
    guard context.source == .json, !(Key.self is String.Type), case .string(let text) = key,
      let number = ArchiveValue(integerText: text)
    else { return try Key.make(from: key, in: context) }
    if Key.self is any FixedWidthInteger.Type { return try Key.make(from: number, in: context) }
    do { return try Key.make(from: key, in: context) } catch let error as ArchiveError
      where error.code == .typeMismatch
    {
      return try Key.make(from: number, in: context)
    }
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) {
    Key._collectSchemas(into: &catalog)
    Value._collectSchemas(into: &catalog)
  }
  public static var _archiveTypeName: String { "[\(Key._archiveTypeName): \(Value._archiveTypeName)]" }
  public static var _rootSchema: ModelSchema? { Value._rootSchema }
  public static var typeShape: TypeShape { TypeShape(.dictionary(keys: Key.self, values: Value.self)) }
  public var _archivedCount: Int { count }
}

extension ArchiveValue {
  /// The integer that a text is, as JSON writes integers.
  fileprivate init?(integerText text: String) {
    guard let integer = WideInteger(text) else { return nil }
    self.init(integer)
  }
}

extension ArchiveWriter {
  /// The error with a place in an array before its path.
  public func error(_ error: any Error, atIndex index: Int) -> any Error { ArchiveError.at(.index(index), error) }
}

extension ArchiveReader {
  /// Starts reading an array and tells how many elements follow.
  public mutating func beginArray() throws -> Int {
    let count = try readArrayCount()
    try enter()
    return count
  }

  /// Ends what ``beginArray()`` began.
  public mutating func endArray() { leave() }

  /// The error with a place in an array before its path.
  public func error(_ error: any Error, atIndex index: Int) -> any Error { ArchiveError.at(.index(index), error) }
}
