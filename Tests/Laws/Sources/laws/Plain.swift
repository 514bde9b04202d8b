import Foundation

/// A value as the suite sees it: made of Swift's own properties, and never by the library that is tested.
indirect enum Plain: Hashable, Sendable {
  case null
  case scalar(Scalar)
  case list([Plain])
  case set(Set<Plain>)
  case dictionary([Plain: Plain])
  /// A dictionary that has an order.
  case ordered([Pair])
  case model(PlainModel)
  /// An enum with associated values.
  case choice(Choice)
  /// One value to a merge, whatever is inside: of a type that is only `Codable`, or an `ArchiveValue`.
  case opaque(Plain, isCodable: Bool)

  struct Pair: Hashable, Sendable { var key: Plain, value: Plain }
}

/// A model, or the part of one that a document has.
struct PlainModel: Hashable, Sendable {
  let kind: Kind
  /// The fields that are there.
  var fields: [String: Plain]

  /// What all values of a type share.
  final class Kind: Hashable, Sendable {
    let name: String
    /// The keys in the order of the declaration.
    let keys: [String]
    /// The key and value that tell the class of the object in JSON.
    let tag: (key: String, name: String)?
    /// Today's version: 2 where an older one had other keys, else 1.
    var version: Int { oldKeys.isEmpty ? 1 : 2 }
    /// The keys that fields had in version 1, where they were others.
    let oldKeys: [String: String]
    /// Whether the values are objects of a class, which references lead to.
    let isObject: Bool
    /// What a field has that no document mentions; without those that have no default.
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

  /// What tells the model from others of its kind.
  var identity: Plain? { kind.keys.contains("id") ? fields["id"] : nil }
}

/// A case of an enum and its associated values by their labels.
struct Choice: Hashable, Sendable {
  let type: String
  let name: String
  var values: [String: Plain]
}

/// A value without parts, in every bit that must survive.
enum Scalar: Hashable, Sendable {
  case bool(Bool)
  case integer(Int128)
  case double(UInt64)
  case float(UInt32)
  /// By its scalars, since strings that differ in composition are equal.
  case text([Unicode.Scalar])
  case data(Data)
  case date(UInt64)
  case url(String)
  case uuid(UUID)
  case decimal(Decimal)
}

extension Plain {
  /// The value with references in the place of objects that have an identity.
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

  /// The value without what only a round trip must keep: the order of ordered dictionaries.
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
