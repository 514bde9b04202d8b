/// Lets a Codable type encode itself into parts. Types that archives know (dates, URLs, models) stay what they are.
final class FlatEncoder: Encoder {
  /// What all encoders of one value share.
  final class Target {
    @exclusivity(unchecked) var flat = FlatValue()
    @exclusivity(unchecked) var types = CodableType.Catalog()

    /// Puts a value into a part, where its type can.
    func put<T, P: FlatPart>(_ value: T, as type: P.Type, at place: UInt32) -> Bool {
      guard let value = value as? P else { return false }
      return value.put(into: &flat, at: place)
    }
  }

  private let target: Target
  private let place: UInt32
  /// How long the path is.
  private let depth: Int
  private let parent: FlatEncoder?
  private let step: CodingStep

  var codingPath: [any CodingKey] { CodingStep.path(self, \.parent, \.step) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private init(_ target: Target, at place: UInt32, _ step: CodingStep, in parent: FlatEncoder?) {
    self.target = target
    self.place = place
    self.step = step
    self.parent = parent
    depth = parent.map { $0.depth + 1 } ?? 0
  }

  /// The parts of a value.
  ///
  /// - Throws: ``ArchiveError``; what the type's own code throws is its cause.
  static func parts(of value: some Encodable) throws -> FlatValue {
    let target = Target()
    let root = FlatEncoder(target, at: 0, .root, in: nil)
    do { try root.encode(value) } catch let error as ArchiveError { throw error } catch {
      var path: [ArchiveError.PathComponent] = []
      if case EncodingError.invalidValue(_, let context) = error { path = ArchiveError.path(context.codingPath) }
      throw ArchiveError(.notEncodable, "a Codable type did not encode itself", path: path, underlying: error)
    }
    target.flat.mergeKeys()
    return target.flat
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if target.flat.parts[Int(place)].kind == .empty { target.flat.begin(.object, at: place) }
    return KeyedEncodingContainer(Keyed<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if target.flat.parts[Int(place)].kind == .empty { target.flat.begin(.array, at: place) }
    return Unkeyed(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

  // MARK: Parts

  /// Adds an empty part under a key.
  @inline(__always)
  private func add(_ key: String) -> UInt32 { target.flat.addPart(to: place, key: key) }

  /// Adds an empty part under a key, for a value.
  @inline(__always)
  private func addValue(_ key: String) throws -> UInt32 {
    let place = add(key)
    try checkDepth(depth &+ 1)
    return place
  }

  /// Adds an empty element.
  @inline(__always)
  private func add() -> UInt32 { target.flat.addPart(to: place, .array) }

  /// Adds an empty element, for a value.
  @inline(__always)
  private func addValue() throws -> UInt32 {
    let place = add()
    try checkDepth(depth &+ 1)
    return place
  }

  /// This part, for a value.
  @inline(__always)
  private func ownPart() throws -> UInt32 {
    try checkDepth(depth)
    return place
  }

  @inline(__always)
  private func checkDepth(_ depth: Int) throws {
    if depth > Self.mostDepth { throw ArchiveError.tooDeep(Self.mostDepth) }
  }
  private static let mostDepth = ArchiveLimits().depth

  private func child(_ key: some CodingKey) -> FlatEncoder {
    FlatEncoder(target, at: add(key.stringValue), .key(key), in: self)
  }

  private func child(_ index: Int) -> FlatEncoder { FlatEncoder(target, at: add(), .index(index), in: self) }

  private func encode<T: Encodable>(_ value: T) throws {
    try checkDepth(depth)
    try encode(value, at: place) { self }
  }

  private func encode<T: Encodable>(_ value: T, at place: UInt32, _ encoder: () -> FlatEncoder) throws {
    // An object of a subclass may be what its superclass is not.
    let type = target.types.type(Swift.type(of: value))
    if let type = type.inParts, target.put(value, as: type, at: place) { return }
    if type.archivable != nil, let value = value as? any Archivable {
      return target.flat.set(place, try value.archivedValue())
    }
    guard let hashed = type.hashed else { return try value.encode(to: encoder()) }
    // Whatever was encoded here before is replaced, as by any value: sorting takes all that is here for this value's.
    target.flat.setEmpty(place)
    try value.encode(to: encoder())
    try CanonicalOrder.sort(place, of: &target.flat, pairs: hashed.hasPairs)
  }

  // MARK: Containers

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FlatEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { encoder.target.flat.setNull(encoder.add(key.stringValue)) }

    func encode(_ value: Bool, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }
    func encode(_ value: String, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }
    func encode(_ value: Double, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }
    func encode(_ value: Float, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }
    func encode(_ value: Int, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int8, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int16, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int32, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int64, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }
    func encode(_ value: UInt, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt64, forKey key: Key) throws {
      encoder.target.flat.set(try encoder.addValue(key.stringValue), value)
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      let place = try encoder.addValue(key.stringValue)
      try encoder.encode(value, at: place) { FlatEncoder(encoder.target, at: place, .key(key), in: encoder) }
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      encoder.child(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder.child(key).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { encoder.child(AnyCodingKey("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.child(key) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let encoder: FlatEncoder
    var count = 0
    var codingPath: [any CodingKey] { encoder.codingPath }

    private mutating func next() -> FlatEncoder {
      defer { count += 1 }
      return encoder.child(count)
    }

    private mutating func nextPart() throws -> UInt32 {
      count += 1
      return try encoder.addValue()
    }

    mutating func encodeNil() throws {
      count += 1
      encoder.target.flat.setNull(encoder.add())
    }

    mutating func encode(_ value: Bool) throws { encoder.target.flat.set(try nextPart(), value) }
    mutating func encode(_ value: String) throws { encoder.target.flat.set(try nextPart(), value) }
    mutating func encode(_ value: Double) throws { encoder.target.flat.set(try nextPart(), value) }
    mutating func encode(_ value: Float) throws { encoder.target.flat.set(try nextPart(), value) }
    mutating func encode(_ value: Int) throws { encoder.target.flat.set(try nextPart(), Int64(value)) }
    mutating func encode(_ value: Int8) throws { encoder.target.flat.set(try nextPart(), Int64(value)) }
    mutating func encode(_ value: Int16) throws { encoder.target.flat.set(try nextPart(), Int64(value)) }
    mutating func encode(_ value: Int32) throws { encoder.target.flat.set(try nextPart(), Int64(value)) }
    mutating func encode(_ value: Int64) throws { encoder.target.flat.set(try nextPart(), value) }
    mutating func encode(_ value: UInt) throws { encoder.target.flat.set(try nextPart(), UInt64(value)) }
    mutating func encode(_ value: UInt8) throws { encoder.target.flat.set(try nextPart(), UInt64(value)) }
    mutating func encode(_ value: UInt16) throws { encoder.target.flat.set(try nextPart(), UInt64(value)) }
    mutating func encode(_ value: UInt32) throws { encoder.target.flat.set(try nextPart(), UInt64(value)) }
    mutating func encode(_ value: UInt64) throws { encoder.target.flat.set(try nextPart(), value) }

    mutating func encode<T: Encodable>(_ value: T) throws {
      let index = count
      let place = try nextPart()
      try encoder.encode(value, at: place) { FlatEncoder(encoder.target, at: place, .index(index), in: encoder) }
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { next() }
  }

  private struct Single: SingleValueEncodingContainer {
    let encoder: FlatEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { encoder.target.flat.setNull(encoder.place) }
    func encode(_ value: Bool) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode(_ value: String) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode(_ value: Double) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode(_ value: Float) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode(_ value: Int) throws { encoder.target.flat.set(try encoder.ownPart(), Int64(value)) }
    func encode(_ value: Int8) throws { encoder.target.flat.set(try encoder.ownPart(), Int64(value)) }
    func encode(_ value: Int16) throws { encoder.target.flat.set(try encoder.ownPart(), Int64(value)) }
    func encode(_ value: Int32) throws { encoder.target.flat.set(try encoder.ownPart(), Int64(value)) }
    func encode(_ value: Int64) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode(_ value: UInt) throws { encoder.target.flat.set(try encoder.ownPart(), UInt64(value)) }
    func encode(_ value: UInt8) throws { encoder.target.flat.set(try encoder.ownPart(), UInt64(value)) }
    func encode(_ value: UInt16) throws { encoder.target.flat.set(try encoder.ownPart(), UInt64(value)) }
    func encode(_ value: UInt32) throws { encoder.target.flat.set(try encoder.ownPart(), UInt64(value)) }
    func encode(_ value: UInt64) throws { encoder.target.flat.set(try encoder.ownPart(), value) }
    func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }
  }
}
