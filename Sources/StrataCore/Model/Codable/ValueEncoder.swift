/// Builds an archive value from what a `Codable` type encodes. Archivable types (dates, URLs, models) are not converted to text or numbers.
///
/// Each encoder builds the value at one position of the result. A type may request several containers from one encoder. All of them add to
/// the same list of entries.
final class ValueEncoder: Encoder {
  private enum Contents { case empty, single, object, array }

  private let types: CodableTypes
  private let parent: ValueEncoder?
  private let key: (any CodingKey)?
  private let depth: Int
  @exclusivity(unchecked) private var contents = Contents.empty
  @exclusivity(unchecked) private var single = ArchiveValue.null
  /// The entries of an object. For an array, each element is an entry with an empty key.
  @exclusivity(unchecked) private var entries: [ArchiveObject.Entry] = []
  /// The nested encoders to which values can still be added. Each one has the index in `entries` at which its final value will be stored.
  @exclusivity(unchecked) private var open: [(index: Int, encoder: ValueEncoder)] = []

  var codingPath: [any CodingKey] { sequence(first: self, next: \.parent).compactMap(\.key).reversed() }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The maximum depth of encoded values, which is also the default limit of readers.
  private static let mostDepth = ArchiveLimits().depth
  /// The depth beyond which nested containers are dropped. The methods that request a container cannot throw, so the error is thrown at the
  /// end of the encoding.
  private static let mostNested = 2048
  private static let mostReserved = 128
  private static let empty = ArchiveValue.object(ArchiveObject())

  private init(_ types: CodableTypes, _ key: (any CodingKey)?, in parent: ValueEncoder?) {
    self.types = types
    self.key = key
    self.parent = parent
    depth = parent.map { $0.depth + 1 } ?? 0
  }

  /// Converts an `Encodable` value to an archive value.
  ///
  /// - Throws: ``ArchiveError``. An error thrown by the type's own code is the underlying error.
  static func value(of value: some Encodable, includingExcluded: Bool) throws -> ArchiveValue {
    let root = ValueEncoder(CodableTypes(includesExcluded: includingExcluded), nil, in: nil)
    do { try root.encode(value) } catch {
      // An open encoder and its parent refer to each other. Calling `finish()` on the root breaks these reference cycles, which would
      // otherwise leak memory.
      _ = root.finish()
      if let error = error as? ArchiveError { throw error }
      var path: [ArchiveError.PathComponent] = []
      if case EncodingError.invalidValue(_, let context) = error { path = ArchiveError.path(context.codingPath) }
      throw ArchiveError(
        .notEncodable, "a Codable type failed to encode its value", path: path, underlying: error)
    }
    let value = root.finish()
    if root.types.isTooDeep { throw ArchiveError.tooDeep(mostNested) }
    return value
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if contents == .empty { contents = .object }
    return KeyedEncodingContainer(Keyed<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if contents == .empty { contents = .array }
    return Unkeyed(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

  // MARK: Entries

  /// Adds an entry. If the encoder already has content of a different kind, such as a single value, that content is removed first.
  @inline(__always)
  private func add(_ key: String, _ value: ArchiveValue = empty, to contents: Contents) {
    if self.contents != contents { clear(contents) }
    entries.append(ArchiveObject.Entry(key: key, value: value))
  }

  @inline(never)
  private func clear(_ contents: Contents) {
    self.contents = contents
    entries = []
    open = []
  }

  private func set(_ value: ArchiveValue) {
    clear(.single)
    single = value
  }

  @inline(__always)
  private func checkDepth(_ depth: Int) throws {
    if depth > Self.mostDepth { throw ArchiveError.tooDeep(Self.mostDepth) }
  }

  /// Encodes a value as a new entry. If the value's type throws before encoding anything, the entry is an empty object.
  @inline(__always)
  private func encode<T: Encodable>(
    _ value: T, as text: @autoclosure () -> String, to contents: Contents, _ key: @autoclosure () -> any CodingKey
  ) throws {
    if let value = ArchiveValue(common: value), depth < Self.mostDepth { return add(text(), value, to: contents) }
    add(text(), to: contents)
    try checkDepth(depth &+ 1)
    try encodeLast(value, key())
  }

  @inline(never)
  private func encodeLast<T: Encodable>(_ value: T, _ key: any CodingKey) throws {
    let index = entries.count - 1
    // The dynamic type of the value is used, because a subclass can be archivable even if its superclass, the static type, is not.
    let type = types[Swift.type(of: value)]
    if let known = try type.value(of: value, includingExcluded: types.includesExcluded) {
      if entries.indices.contains(index) { entries[index].value = known }
      return
    }
    defer { closeLast() }
    try addEncoder(key).encode(value, type)
  }

  /// Creates a nested encoder for the last entry, which is still empty. When the nested encoder is closed, its value is stored in the
  /// entry.
  private func addEncoder(_ key: any CodingKey) -> ValueEncoder {
    let encoder = ValueEncoder(types, key, in: self)
    if depth < Self.mostNested { open.append((entries.count - 1, encoder)) } else { types.isTooDeep = true }
    return encoder
  }

  /// Closes the last open encoder and stores its value in its entry. The encoder stays open if the encoded type still retains the encoder
  /// or one of its containers, and can therefore still encode values.
  private func closeLast() {
    guard !open.isEmpty, isKnownUniquelyReferenced(&open[open.count - 1].encoder) else { return }
    let (index, encoder) = open.removeLast()
    entries[index].value = encoder.finish()
  }

  /// Closes all open encoders, stores their values in their entries, and returns the value of this encoder.
  private func finish() -> ArchiveValue {
    for (index, encoder) in open { entries[index].value = encoder.finish() }
    open = []
    return switch contents {
    case .empty: Self.empty
    case .single: single
    case .object: .object(ArchiveObject(entries))
    case .array: .array(entries.map(\.value))
    }
  }

  /// Encodes a value as the entire content of this encoder instead of as an entry.
  private func encode<T: Encodable>(_ value: T) throws {
    try checkDepth(depth)
    let type = types[Swift.type(of: value)]
    guard let known = try type.value(of: value, includingExcluded: types.includesExcluded) else {
      return try encode(value, type)
    }
    set(known)
  }

  /// Calls the value's own `encode(to:)` with this encoder.
  private func encode<T: Encodable>(_ value: T, _ type: CodableType) throws {
    guard let hashed = type.hashed else {
      entries.reserveCapacity(min(type.entryCount, Self.mostReserved))
      try value.encode(to: self)
      return type.entryCount = entries.count
    }
    clear(.empty)
    try value.encode(to: self)
    set(try CanonicalOrder.ordered(finish(), pairs: hashed.hasPairs))
  }

  // MARK: Containers

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { encoder.add(key.stringValue, .null, to: .object) }

    @inline(__always)
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      try encoder.encode(value, as: key.stringValue, to: .object, key)
    }

    private func child(_ key: some CodingKey) -> ValueEncoder {
      encoder.add(key.stringValue, to: .object)
      return encoder.addEncoder(key)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      child(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { child(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { child(AnyCodingKey("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { child(key) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let encoder: ValueEncoder
    var count = 0
    var codingPath: [any CodingKey] { encoder.codingPath }

    mutating func encodeNil() throws {
      count += 1
      encoder.add("", .null, to: .array)
    }

    @inline(__always)
    mutating func encode<T: Encodable>(_ value: T) throws {
      count += 1
      try encoder.encode(value, as: "", to: .array, AnyCodingKey(intValue: count - 1))
    }

    private mutating func child() -> ValueEncoder {
      defer { count += 1 }
      encoder.add("", to: .array)
      return encoder.addEncoder(AnyCodingKey(intValue: count))
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      child().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { child() }
  }

  private struct Single: SingleValueEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { encoder.set(.null) }
    @inline(__always)
    func encode<T: Encodable>(_ value: T) throws {
      if let value = ArchiveValue(common: value), encoder.depth <= ValueEncoder.mostDepth { return encoder.set(value) }
      try encoder.encode(value)
    }
  }
}

extension ArchiveValue {
  /// Creates the archive value of a common scalar. Returns `nil` for any other type. If the type is known at compile time, the compiler
  /// removes the comparisons in this function.
  @inline(__always)
  fileprivate init?<T>(common value: T) {
    if T.self == String.self, let value = value as? String {
      self = .string(value)
    } else if T.self == Int.self, let value = value as? Int {
      self = .int(Int64(value))
    } else if T.self == Bool.self, let value = value as? Bool {
      self = .bool(value)
    } else if T.self == Double.self, let value = value as? Double {
      self = .double(value)
    } else {
      return nil
    }
  }
}

extension CanonicalOrder {
  /// Sorts the elements of an encoded set, or the keys of an encoded dictionary, by their encoded bytes.
  ///
  /// - Parameter pairs: whether an array contains alternating keys and values, as in an encoded dictionary whose keys are
  ///   not strings.
  fileprivate static func ordered(_ value: ArchiveValue, pairs: Bool) throws -> ArchiveValue {
    switch value {
    case .object(let object):
      return .object(ArchiveObject(uniqueEntries: try sorted(object.entries) { $0.write($1.key) }))
    case .array(let elements) where pairs:
      let pairs = stride(from: 0, to: elements.count - 1, by: 2).map { (elements[$0], elements[$0 + 1]) }
      return .array(try sorted(pairs) { try $0.write($1.0) }.flatMap { [$0.0, $0.1] })
    case .array(let elements): return .array(try sorted(elements) { try $0.write($1) })
    default: return value
    }
  }
}
