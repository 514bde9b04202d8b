import Foundation

/// A value in the oracle's form, made from Swift properties without the library under test.
indirect enum Plain: Hashable, Sendable {
  case null
  case scalar(Scalar)
  case list([Plain])
  case set(Set<Plain>)
  case dictionary([Plain: Plain])
  /// An ordered dictionary.
  case ordered([Pair])
  case model(PlainModel)
  /// An enum with associated values.
  case choice(Choice)
  /// A value that is always merged as a whole: its type is only `Codable`, or it is an `ArchiveValue`.
  case opaque(Plain, isCodable: Bool)

  struct Pair: Hashable, Sendable { var key: Plain, value: Plain }
}

/// A model, or the part of a model that a document contains.
struct PlainModel: Hashable, Sendable {
  let kind: Kind
  /// The fields that are present.
  var fields: [String: Plain]

  /// The properties that all values of a type share.
  final class Kind: Hashable, Sendable {
    let name: String
    /// The keys in the order of the declaration.
    let keys: [String]
    /// The key and value of the class's tag in JSON.
    let tag: (key: String, name: String)?
    /// The current version: 2 if an older version had different keys, otherwise 1.
    var version: Int { oldKeys.isEmpty ? 1 : 2 }
    /// The keys of version 1 that differ from the current ones.
    let oldKeys: [String: String]
    /// Whether the values are class instances, which can be shared.
    let isObject: Bool
    /// The default values for fields that are missing in a document. Fields without a default are not included.
    let defaults: @Sendable () -> [String: Plain]

    init(
      _ name: String, _ keys: [String], tag: (key: String, name: String)? = nil, isObject: Bool = false,
      oldKeys: [String: String] = [:],
      defaults: @escaping @Sendable () -> [String: Plain]
    ) {
      (self.name, self.keys, self.tag, self.isObject, self.oldKeys) = (name, keys, tag, isObject, oldKeys)
      self.defaults = defaults
    }

    static func == (left: Kind, right: Kind) -> Bool { left.name == right.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }

  /// The identity that distinguishes the model from others of its type.
  var identity: Plain? { kind.keys.contains("id") ? fields["id"] : nil }
}

/// A case of an enum and its associated values, keyed by their labels.
struct Choice: Hashable, Sendable {
  let type: String
  let name: String
  var values: [String: Plain]
}

/// A value without parts. The representation includes every bit that must survive a round trip.
enum Scalar: Hashable, Sendable {
  case bool(Bool)
  case integer(Int128)
  case double(UInt64)
  case float(UInt32)
  /// The Unicode scalars of a text. Strings would be equal even if their characters were composed differently.
  case text([Unicode.Scalar])
  case data(Data)
  case date(UInt64)
  case url(String)
  case uuid(UUID)
  case decimal(Decimal)
}

extension Plain {
  /// A copy of the value in which objects with an identity are replaced with references.
  var withReferences: Plain {
    switch self {
    case .null, .scalar, .opaque: return self
    case .list(let elements): return .list(elements.map(\.withReferences))
    case .set(let elements): return .set(Set(elements.map(\.withReferences)))
    case .dictionary(let pairs): return .dictionary(pairs.mapValues(\.withReferences))
    case .ordered(let pairs): return .ordered(pairs.map { Pair(key: $0.key, value: $0.value.withReferences) })
    case .model(let model):
      if model.kind.isObject, let identity = model.identity { return .list([.text(model.kind.name), identity]) }
      return .model(PlainModel(kind: model.kind, fields: model.fields.mapValues(\.withReferences)))
    case .choice(let choice):
      return .choice(Choice(type: choice.type, name: choice.name, values: choice.values.mapValues(\.withReferences)))
    }
  }

  static func text(_ text: String) -> Plain { .scalar(.text(Array(text.unicodeScalars))) }
  static func integer(_ value: some BinaryInteger) -> Plain { .scalar(.integer(Int128(value))) }

  /// A copy of the value in which ordered dictionaries become unordered. Only round trips must keep their order.
  var unordered: Plain {
    switch self {
    case .null, .scalar: self
    case .list(let elements): .list(elements.map(\.unordered))
    case .set(let elements): .set(Set(elements.map(\.unordered)))
    case .dictionary(let pairs): .dictionary(pairs.mapValues(\.unordered))
    case .ordered(let pairs): .dictionary(Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value.unordered) }))
    case .model(let model): .model(PlainModel(kind: model.kind, fields: model.fields.mapValues(\.unordered)))
    case .choice(let choice):
      .choice(Choice(type: choice.type, name: choice.name, values: choice.values.mapValues(\.unordered)))
    case .opaque: self
    }
  }
}
