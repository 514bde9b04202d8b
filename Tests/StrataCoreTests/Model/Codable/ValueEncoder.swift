@testable import StrataCore

/// Encodes a Codable type as a value. This is a simpler version of the library's encoder, for comparison. Each position in the value has
/// a node.
struct ValueEncoder: Encoder {
  let node: Node
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// A position in the value. All containers that are requested for the same position share its node.
  final class Node {
    enum Content {
      case empty
      case value(ArchiveValue)
      case keyed([(key: String, node: Node)])
      case unkeyed([Node])
    }
    var content = Content.empty

    func value() -> ArchiveValue {
      switch content {
      case .empty: .object(ArchiveObject())
      case .value(let value): value
      case .keyed(let entries):
        .object(ArchiveObject(entries.map { ArchiveObject.Entry(key: $0.key, value: $0.node.value()) }))
      case .unkeyed(let nodes): .array(nodes.map { $0.value() })
      }
    }

    func child(_ key: String) -> Node {
      let child = Node()
      if case .keyed(var entries) = content {
        content = .empty
        entries.append((key, child))
        content = .keyed(entries)
      } else {
        content = .keyed([(key, child)])
      }
      return child
    }

    func append() -> Node {
      let child = Node()
      if case .unkeyed(var nodes) = content {
        content = .empty
        nodes.append(child)
        content = .unkeyed(nodes)
      } else {
        content = .unkeyed([child])
      }
      return child
    }
  }

  static func value(of value: any Encodable) throws -> ArchiveValue {
    let root = Node()
    do { try encode(value, into: root, []) } catch let error as ArchiveError { throw error } catch {
      var path: [ArchiveError.PathComponent] = []
      if case EncodingError.invalidValue(_, let context) = error { path = ArchiveError.path(context.codingPath) }
      throw ArchiveError(
        .notEncodable, "a Codable type failed to encode its value", path: path, underlying: error)
    }
    return root.value()
  }

  static func encode<T: Encodable>(_ value: T, into node: Node, _ path: [any CodingKey]) throws {
    guard path.count <= ArchiveLimits().depth else { throw ArchiveError.tooDeep(ArchiveLimits().depth) }
    if let value = value as? any Archivable {
      node.content = .value(try value.archivedValue())
      return
    }
    if value is any HashOrdered { node.content = .empty }
    try value.encode(to: ValueEncoder(node: node, codingPath: path))
    if let value = value as? any HashOrdered {
      node.content = .value(try CanonicalOrder.sorted(hashed: node.value(), pairs: type(of: value).hasPairs))
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .empty = node.content { node.content = .keyed([]) }
    return KeyedEncodingContainer(Keyed<Key>(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .empty = node.content { node.content = .unkeyed([]) }
    return Unkeyed(node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }

  struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) throws { node.child(key.stringValue).content = .value(.null) }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
      try ValueEncoder.encode(value, into: node.child(key.stringValue), codingPath + [key])
    }

    private func encoder(_ key: some CodingKey) -> ValueEncoder {
      ValueEncoder(node: node.child(key.stringValue), codingPath: codingPath + [key])
    }

    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      encoder(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { encoder(AnyCodingKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
  }

  struct Unkeyed: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var count = 0

    private mutating func next() -> ValueEncoder {
      defer { count += 1 }
      return ValueEncoder(node: node.append(), codingPath: codingPath + [AnyCodingKey(intValue: count)])
    }

    mutating func encodeNil() throws { next().node.content = .value(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
      let encoder = next()
      try ValueEncoder.encode(value, into: encoder.node, encoder.codingPath)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

    mutating func superEncoder() -> any Encoder { next() }
  }

  struct Single: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    mutating func encodeNil() throws { node.content = .value(.null) }

    mutating func encode<T: Encodable>(_ value: T) throws {
      try ValueEncoder.encode(value, into: node, codingPath)
    }
  }
}

/// A type that encodes its elements in hash order, which differs between runs.
private protocol HashOrdered { static var hasPairs: Bool { get } }
extension Set: HashOrdered { static var hasPairs: Bool { false } }
extension Dictionary: HashOrdered { static var hasPairs: Bool { true } }

extension CanonicalOrder {
  /// The encoded set or dictionary, sorted by the encoded bytes of keys and elements. A dictionary whose keys aren't strings is encoded
  /// as an array of alternating keys and values.
  fileprivate static func sorted(hashed value: ArchiveValue, pairs: Bool) throws -> ArchiveValue {
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
