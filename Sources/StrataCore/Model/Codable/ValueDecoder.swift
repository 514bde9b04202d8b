/// Decodes a `Decodable` type from an archive value.
final class ValueDecoder: Decoder {
  private let value: ArchiveValue
  private let key: (any CodingKey)?
  private let parent: ValueDecoder?
  private let types: CodableTypes
  private let context: DecodingContext
  /// The entries of the object or record being decoded. Empty until the decoded type requests a keyed container.
  @exclusivity(unchecked) private var entries: [ArchiveObject.Entry] = []
  @exclusivity(unchecked) private var isKeyed = false
  /// Whether all keys of the object are ASCII. If not, keys are looked up in a dictionary, because canonically equivalent strings are equal
  /// in Swift even if their bytes differ.
  @exclusivity(unchecked) private var isASCII = true
  /// The index in `entries` at which the search for the next key starts. Most types decode their keys in the order in
  /// which they were encoded, so the key is usually found there.
  @exclusivity(unchecked) private var next = 0
  @exclusivity(unchecked) private var table: [String: Int]?

  var codingPath: [any CodingKey] { path(nil) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: ArchiveValue, in context: DecodingContext) {
    self.value = value
    self.context = context
    (key, parent, types) = (nil, nil, CodableTypes())
  }

  private init(_ value: ArchiveValue, _ key: any CodingKey, in parent: ValueDecoder) {
    self.value = value
    self.key = key
    self.parent = parent
    (types, context) = (parent.types, parent.context)
  }

  /// Decodes a value by calling the type's own `init(from:)`.
  func decodeValue<T: Decodable>(_ type: T.Type) throws -> T {
    do { return try T(from: self) } catch DecodingError.dataCorrupted(let problem)
      where type is any RawRepresentable.Type && problem.codingPath.count == codingPath.count
    {
      // The standard library throws `dataCorrupted` if no case of an enum has the raw value. It is replaced with a more specific error.
      context.report.addUnknownCase(of: "\(T.self)")
      throw ArchiveError.unknownCase(of: T.self).prefixed(by: ArchiveError.path(codingPath))
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if !isKeyed {
      switch value {
      case .object(let object): entries = object.entries
      case .record(let record): entries = record.object.entries
      default: throw mismatch([String: ArchiveValue].self)
      }
      isASCII = entries.allSatisfy { ByteBuffer.withUTF8(of: $0.key) { ByteBuffer.isASCII($0) } }
      isKeyed = true
    }
    return KeyedDecodingContainer(Keyed<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.arrayValue else { throw mismatch([ArchiveValue].self) }
    return Unkeyed(decoder: self, elements: elements)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(decoder: self) }

  // MARK: Errors

  private func path(_ last: (any CodingKey)?) -> [any CodingKey] {
    sequence(first: self, next: \.parent).compactMap(\.key).reversed() + (last.map { [$0] } ?? [])
  }

  private func mismatch<T>(_ type: T.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "found \(value.kind)"))
  }

  // MARK: Keys

  /// Returns the value under a key; `nil` if the key is absent. If a key occurs more than once, its first value is
  /// returned.
  @inline(never)
  private func find(_ key: String) -> ArchiveValue? {
    if isASCII {
      if next < entries.count, entries[next].key == key {
        next += 1
        return entries[next - 1].value
      }
      // Also checks the entry that was found last, because a type may request the same key twice in a row.
      if next > 0, entries[next - 1].key == key { return entries[next - 1].value }
    }
    guard let index = search(key) else { return nil }
    next = index + 1
    return entries[index].value
  }

  /// The maximum number of keys for which a linear search is used. In an object with more keys, a lookup table is
  /// faster.
  private static let mostScanned = 128

  private func search(_ key: String) -> Int? {
    if isASCII, entries.count <= Self.mostScanned, ByteBuffer.withUTF8(of: key, { ByteBuffer.isASCII($0) }) {
      let length = key.utf8.count
      return entries.firstIndex { $0.key.utf8.count == length && $0.key == key }
    }
    let table = table ?? Dictionary(zip(entries.lazy.map(\.key), entries.indices)) { first, _ in first }
    self.table = table
    return table[key]
  }

  // MARK: Values

  /// Decodes a value found under a key, or the decoder's own value if the key is `nil`.
  @inline(__always)
  private func decode<T: Decodable>(
    _ type: T.Type, _ value: ArchiveValue, _ key: @autoclosure () -> (any CodingKey)?
  ) throws -> T {
    // These special cases avoid the slower general path for common types. If the type is known at compile time, the
    // compiler removes the comparisons.
    if T.self == String.self, case .string(let text) = value, let text = text as? T { return text }
    if T.self == Int.self, case .int(let wide) = value, let integer = Int(exactly: wide), let integer = integer as? T {
      return integer
    }
    if T.self == Bool.self, case .bool(let flag) = value, let flag = flag as? T { return flag }
    if T.self == Double.self, case .double(let number) = value, let number = number as? T { return number }
    return try decodeOther(type, value, key())
  }

  @inline(never)
  private func decodeOther<T: Decodable>(
    _ type: T.Type, _ value: ArchiveValue, _ key: (any CodingKey)?
  ) throws -> T {
    if let known = types[type].archivable {
      do { if let made = try known.decode(from: value, in: context) as? T { return made } } catch {
        guard let error = error as? ArchiveError else { throw error }
        throw error.prefixed(by: ArchiveError.path(path(key)))
      }
    }
    return try (key.map { ValueDecoder(value, $0, in: self) } ?? self).decodeValue(type)
  }

  // MARK: Containers

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.entries.compactMap { Key(stringValue: $0.key) } }
    func contains(_ key: Key) -> Bool { decoder.find(key.stringValue) != nil }

    @inline(__always)
    private func value(_ key: some CodingKey) throws -> ArchiveValue {
      guard let value = decoder.find(key.stringValue) else {
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "the key is missing"))
      }
      return value
    }

    func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

    @inline(__always)
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      try decoder.decode(type, value(key), key)
    }

    @inline(__always)
    private func decodePresent<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
      guard let value = decoder.find(key.stringValue), !value.isNull else { return nil }
      return try decoder.decode(type, value, key)
    }

    // These methods are implemented for each type, because the protocol's default implementations would look up each
    // key three times.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try decodePresent(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try decodePresent(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try decodePresent(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try decodePresent(type, key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? { try decodePresent(type, key) }

    private func child(_ key: some CodingKey) throws -> ValueDecoder {
      ValueDecoder(try value(key), key, in: decoder)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      try child(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try child(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try child(AnyCodingKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }
  }

  private struct Unkeyed: UnkeyedDecodingContainer {
    let decoder: ValueDecoder
    let elements: [ArchiveValue]
    private(set) var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    /// Reads the next element of the array and advances to the element after it. If `read` throws, the current index
    /// does not change.
    @inline(__always)
    private mutating func pass<R>(_ read: (ValueDecoder, ArchiveValue, AnyCodingKey) throws -> R) throws -> R {
      let key = AnyCodingKey(intValue: currentIndex)
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          ArchiveValue.self,
          .init(codingPath: decoder.path(key), debugDescription: "the array has no more elements"))
      }
      let result = try read(decoder, elements[currentIndex], key)
      currentIndex += 1
      return result
    }

    mutating func decodeNil() throws -> Bool {
      let start = currentIndex
      let isNull = try pass { _, value, _ in value.isNull }
      if !isNull { currentIndex = start }
      return isNull
    }

    @inline(__always)
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
      try pass { try $0.decode(type, $1, $2) }
    }

    private mutating func child<R>(_ open: (ValueDecoder) throws -> R) throws -> R {
      try pass { try open(ValueDecoder($1, $2, in: $0)) }
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
      try child { try $0.container(keyedBy: type) }
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      try child { try $0.unkeyedContainer() }
    }
    mutating func superDecoder() throws -> any Decoder { try child { $0 } }
  }

  private struct Single: SingleValueDecodingContainer {
    let decoder: ValueDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value.isNull }
    @inline(__always)
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.decode(type, decoder.value, nil) }
  }
}
