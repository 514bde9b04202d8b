@testable import StrataCore

/// Decodes a Codable type from a value. This is a simpler version of the library's decoder, for comparison.
struct ValueDecoder: Decoder {
  let value: ArchiveValue
  let codingPath: [any CodingKey]
  let context: DecodingContext
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func decodeSelf<T: Decodable>(_ type: T.Type) throws -> T {
    if let type = type as? any Archivable.Type {
      do {
        if let made = try type.decode(from: value, in: context) as? T { return made }
      } catch let error as ArchiveError {
        throw error.prefixed(by: ArchiveError.path(codingPath))
      }
    }
    do { return try T(from: self) } catch DecodingError.dataCorrupted(let found)
      where T.self is any RawRepresentable.Type && found.codingPath.count == codingPath.count
    {
      throw ArchiveError(
        .unknownCase,
        "the value is not a case of the type \(T.self); add the case, list the value in "
          + "formerRawValues, or declare an unknownCase",
        path: ArchiveError.path(codingPath))
    }
  }

  func mismatch<T>(_ type: T.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "found \(value.kind)"))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let object: ArchiveObject
    switch value {
    case .object(let found): object = found
    case .record(let record): object = record.object
    default: throw mismatch([String: ArchiveValue].self)
    }
    return KeyedDecodingContainer(Keyed<Key>(object, codingPath, context))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.arrayValue else { throw mismatch([ArchiveValue].self) }
    return Unkeyed(elements: elements, codingPath: codingPath, context: context)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(decoder: self) }

  struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let codingPath: [any CodingKey]
    let context: DecodingContext
    private let keys: [String]
    private let values: [String: ArchiveValue]

    init(_ object: ArchiveObject, _ codingPath: [any CodingKey], _ context: DecodingContext) {
      keys = object.keys
      values = Dictionary(object.entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      self.codingPath = codingPath
      self.context = context
    }

    var allKeys: [Key] { keys.compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }

    private func decoder(_ key: some CodingKey) throws -> ValueDecoder {
      guard let value = values[key.stringValue] else {
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "the key is missing"))
      }
      return ValueDecoder(value: value, codingPath: codingPath + [key], context: context)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value.isNull }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decodeSelf(T.self) }
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      try decoder(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try decoder(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try decoder(AnyCodingKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
  }

  struct Unkeyed: UnkeyedDecodingContainer {
    let elements: [ArchiveValue]
    let codingPath: [any CodingKey]
    let context: DecodingContext
    var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func decoder() throws -> ValueDecoder {
      let path = codingPath + [AnyCodingKey(intValue: currentIndex)]
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          ArchiveValue.self, .init(codingPath: path, debugDescription: "the array has no more elements"))
      }
      return ValueDecoder(value: elements[currentIndex], codingPath: path, context: context)
    }

    mutating func decodeNil() throws -> Bool {
      guard try decoder().value.isNull else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
      let made = try decoder().decodeSelf(T.self)
      currentIndex += 1
      return made
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
      let container = try decoder().container(keyedBy: type)
      currentIndex += 1
      return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      let container = try decoder().unkeyedContainer()
      currentIndex += 1
      return container
    }

    mutating func superDecoder() throws -> any Decoder {
      let decoder = try decoder()
      currentIndex += 1
      return decoder
    }
  }

  struct Single: SingleValueDecodingContainer {
    let decoder: ValueDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }
    func decodeNil() -> Bool { decoder.value.isNull }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.decodeSelf(T.self) }
  }
}
