/// Lets a Codable type decode itself from parts.
final class FlatDecoder: Decoder {
  private let source: FlatSource
  private let place: UInt32
  private let parent: FlatDecoder?
  private let step: CodingStep

  var codingPath: [any CodingKey] { CodingStep.path(self, \.parent, \.step) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  convenience init(_ flat: FlatValue, in context: DecodingContext) {
    self.init(FlatSource(flat, in: context), at: 0, .root, in: nil)
  }

  private init(_ source: FlatSource, at place: UInt32, _ step: CodingStep, in parent: FlatDecoder?) {
    self.source = source
    self.place = place
    self.step = step
    self.parent = parent
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let object = source.object(at: place) else { throw mismatch([String: ArchiveValue].self) }
    return KeyedDecodingContainer(Keyed<Key>(decoder: self, object: object))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let array = source.array(at: place) else { throw mismatch([ArchiveValue].self) }
    return Unkeyed(decoder: self, next: source.flat.part(array).first, count: source.flat.part(array).count)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(decoder: self) }

  private func mismatch<T>(_ type: T.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "found \(source.flat.kind(place))"))
  }

  // MARK: Parts

  /// A value of a type that has parts.
  @inline(__always)
  private func read<T: FlatPart>(at place: UInt32, _ step: @autoclosure () -> CodingStep?) throws -> T {
    do { return try T.make(of: source, at: place) } catch { throw prefixed(error, step()) }
  }

  /// A value of any type that can be decoded.
  private func decode<T: Decodable>(_ type: T.Type, at place: UInt32, _ step: CodingStep?) throws -> T {
    let known = source.types.type(T.self)
    do {
      if let type = known.inParts {
        if let made = try type.make(of: source, at: place) as? T { return made }
      } else if let type = known.archivable {
        if let made = try source.make(type, at: place) as? T { return made }
      }
    } catch { throw prefixed(error, step) }
    return try (step.map { FlatDecoder(source, at: place, $0, in: self) } ?? self).make(T.self)
  }

  /// A value that the type's own code makes.
  func make<T: Decodable>(_ type: T.Type) throws -> T {
    do { return try T(from: self) } catch DecodingError.dataCorrupted(let context)
      where type is any RawRepresentable.Type && context.codingPath.count == codingPath.count
    {
      // What Swift writes for enums with raw values says so where no case has the value.
      throw ArchiveError.unknownCase(of: T.self).prefixed(by: ArchiveError.path(codingPath))
    }
  }

  private func prefixed(_ error: any Error, _ step: CodingStep?) -> any Error {
    guard let error = error as? ArchiveError else { return error }
    return error.prefixed(by: path(step))
  }

  private func path(_ step: CodingStep?) -> [ArchiveError.PathComponent] {
    ArchiveError.path(codingPath + (step?.key.map { [$0] } ?? []))
  }

  // MARK: Containers

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: FlatDecoder
    /// The part whose entries are read.
    let object: UInt32

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.source.keys(in: object).compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { decoder.source.find(key.stringValue, in: object) != nil }

    /// The part under a key.
    @inline(__always)
    private func place(_ key: some CodingKey) throws -> UInt32 {
      guard let place = decoder.source.find(key.stringValue, in: object) else {
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "the key is absent"))
      }
      return place
    }

    /// The part under a key, unless it is absent or null.
    @inline(__always)
    private func placeIfPresent(_ key: Key) -> UInt32? {
      guard let place = decoder.source.find(key.stringValue, in: object), !decoder.source.isNull(place) else {
        return nil
      }
      return place
    }

    @inline(__always)
    private func read<T: FlatPart>(_ key: Key) throws -> T {
      try decoder.read(at: place(key), .key(key))
    }

    @inline(__always)
    private func readIfPresent<T: FlatPart>(_ key: Key) throws -> T? {
      guard let place = placeIfPresent(key) else { return nil }
      return try decoder.read(at: place, .key(key))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder.source.isNull(place(key)) }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      try decoder.decode(T.self, at: place(key), .key(key))
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try readIfPresent(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try readIfPresent(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try readIfPresent(key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
      guard let place = placeIfPresent(key) else { return nil }
      return try decoder.decode(T.self, at: place, .key(key))
    }

    private func child(_ key: some CodingKey) throws -> FlatDecoder {
      FlatDecoder(decoder.source, at: try place(key), .key(key), in: decoder)
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
    let decoder: FlatDecoder
    /// The part of the next element.
    var next: UInt32
    private let elementCount: UInt32
    private var index: UInt32 = 0

    init(decoder: FlatDecoder, next: UInt32, count: UInt32) {
      self.decoder = decoder
      self.next = next
      elementCount = count
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var currentIndex: Int { Int(index) }
    var count: Int? { Int(elementCount) }
    var isAtEnd: Bool { index >= elementCount }

    private func checkNext() throws {
      guard isAtEnd else { return }
      throw DecodingError.valueNotFound(
        ArchiveValue.self,
        .init(
          codingPath: codingPath + [AnyCodingKey(intValue: currentIndex)],
          debugDescription: "the array has no more elements"))
    }

    private mutating func pass() {
      next = decoder.source.flat.parts[Int(next)].next
      index += 1
    }

    @inline(__always)
    private mutating func read<T: FlatPart>() throws -> T {
      try checkNext()
      let made: T = try decoder.read(at: next, .index(currentIndex))
      pass()
      return made
    }

    mutating func decodeNil() throws -> Bool {
      try checkNext()
      guard decoder.source.isNull(next) else { return false }
      pass()
      return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read() }
    mutating func decode(_ type: String.Type) throws -> String { try read() }
    mutating func decode(_ type: Double.Type) throws -> Double { try read() }
    mutating func decode(_ type: Float.Type) throws -> Float { try read() }
    mutating func decode(_ type: Int.Type) throws -> Int { try read() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try read() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try read() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try read() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try read() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try read() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read() }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
      try checkNext()
      let made = try decoder.decode(T.self, at: next, .index(currentIndex))
      pass()
      return made
    }

    /// A decoder for the next element, which is not passed yet.
    private func child() throws -> FlatDecoder {
      try checkNext()
      return FlatDecoder(decoder.source, at: next, .index(currentIndex), in: decoder)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
      let container = try child().container(keyedBy: type)
      pass()
      return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      let container = try child().unkeyedContainer()
      pass()
      return container
    }

    mutating func superDecoder() throws -> any Decoder {
      let decoder = try child()
      pass()
      return decoder
    }
  }

  private struct Single: SingleValueDecodingContainer {
    let decoder: FlatDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    private func read<T: FlatPart>() throws -> T { try decoder.read(at: decoder.place, nil) }

    func decodeNil() -> Bool { decoder.source.isNull(decoder.place) }
    func decode(_ type: Bool.Type) throws -> Bool { try read() }
    func decode(_ type: String.Type) throws -> String { try read() }
    func decode(_ type: Double.Type) throws -> Double { try read() }
    func decode(_ type: Float.Type) throws -> Float { try read() }
    func decode(_ type: Int.Type) throws -> Int { try read() }
    func decode(_ type: Int8.Type) throws -> Int8 { try read() }
    func decode(_ type: Int16.Type) throws -> Int16 { try read() }
    func decode(_ type: Int32.Type) throws -> Int32 { try read() }
    func decode(_ type: Int64.Type) throws -> Int64 { try read() }
    func decode(_ type: UInt.Type) throws -> UInt { try read() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try read() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try read() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try read() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try read() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.decode(T.self, at: decoder.place, nil) }
  }
}
