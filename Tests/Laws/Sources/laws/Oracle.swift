/// The error of a document that is rejected because a value is missing.
struct Refused: Error {}

/// Implements the merge rules of Docs/Merging.md on plain trees, without objects, records and text.
struct Oracle {
  /// Whether a merge keeps elements with an identity and dictionary entries that are missing in the incoming value.
  var keepsUnlisted = true
  /// Whether the server's value is used in a conflict.
  var takesServer = false

  /// The local objects, keyed by identity. If a document changes an object, the change applies wherever the object occurs.
  private var objects: [Plain: PlainModel] = [:]
  /// A placeholder for the base of a value that neither side had originally.
  private static let absent = Plain.opaque(.text("absent"), isCodable: false)

  init(keepsUnlisted: Bool = true, takesServer: Bool = false) {
    (self.keepsUnlisted, self.takesServer) = (keepsUnlisted, takesServer)
  }

  /// Merges the incoming value into the local value, with or without a base.
  ///
  /// - Throws: ``Refused`` if a new value lacks a key without a default.
  func merged(_ local: Plain, _ incoming: Plain, base: Plain? = nil) throws -> Plain {
    var oracle = self
    oracle.objects = Dictionary(
      local.objects.compactMap { object in object.identity.map { ($0, object) } },
      uniquingKeysWith: { first, _ in first })
    return try oracle.value(local, incoming, base: base)
  }

  private func value(_ local: Plain, _ incoming: Plain, base: Plain?) throws -> Plain {
    switch (local, incoming) {
    case (.model(let here), .model(let there)):
      if let model = try merged(here, there, base: base) { return .model(model) }
    case (.choice(let here), .choice(let there)) where here.name == there.name && here.type == there.type:
      return .choice(try merged(here, there, base: base))
    case (.dictionary(let here), .dictionary(let there)):
      return .dictionary(try merged(here, there, base: base?.pairs))
    case (.ordered(let here), .ordered(let there)):
      let values = try merged(Self.pairs(here), Self.pairs(there), base: base?.pairs)
      return .ordered(values.map { Plain.Pair(key: $0.key, value: $0.value) })
    case (.list, .list), (.set, .set):
      guard local.holdsIdentities || incoming.holdsIdentities else { break }
      return try rebuilt(incoming, from: local, base: base)
    default: break
    }
    return try one(local, incoming, base: base)
  }

  /// Merges a value as a whole. If there is a base and only one side changed the value, that side wins. In a conflict, the local value is
  /// kept, unless `takesServer` is set.
  private func one(_ local: Plain, _ incoming: Plain, base: Plain?) throws -> Plain {
    guard let base else { return try completed(incoming) }
    if local.withReferences.unordered == base.withReferences.unordered { return try completed(incoming) }
    guard takesServer else { return local }
    if base == Self.absent { return try completed(incoming) }
    // If the server changed nothing, there is no conflict. Keys that it omits are unchanged.
    let server = try Oracle().merged(base, incoming)
    return server.withReferences.unordered == base.withReferences.unordered ? local : server
  }

  private func merged(_ here: PlainModel, _ there: PlainModel, base: Plain?) throws -> PlainModel? {
    guard here.identity == there.identity else { return nil }
    var before: PlainModel?
    if case .model(let model)? = base, model.identity == here.identity { before = model }
    if base == Self.absent || base == .null {
      before = PlainModel(
        kind: here.kind, fields: Dictionary(uniqueKeysWithValues: here.kind.keys.map { ($0, Self.absent) }))
    }
    var model = here
    if here.kind != there.kind {
      // The object changes its class and keeps the fields that both classes have.
      let kept = here.fields.filter { there.kind.keys.contains($0.key) }
      model = PlainModel(kind: there.kind, fields: there.kind.defaults().merging(kept) { _, kept in kept })
    }
    for (key, value) in there.fields {
      model.fields[key] =
        try model.fields[key].map { try self.value($0, value, base: before?.fields[key]) } ?? completed(value)
    }
    return model
  }

  private func merged(_ here: Choice, _ there: Choice, base: Plain?) throws -> Choice {
    var before: Choice?
    if case .choice(let choice)? = base, choice.name == here.name { before = choice }
    var choice = here
    for (label, value) in there.values {
      choice.values[label] =
        try choice.values[label].map { try self.value($0, value, base: before?.values[label]) } ?? completed(value)
    }
    return choice
  }

  private func merged(_ here: [Plain: Plain], _ there: [Plain: Plain], base: [Plain: Plain]?) throws -> [Plain:
    Plain]
  {
    var result = keepsUnlisted ? here : [:]
    for (key, value) in there {
      result[key] = try here[key].map { try self.value($0, value, base: base?[key]) } ?? completed(value)
    }
    return result
  }

  private static func pairs(_ pairs: [Plain.Pair]) -> [Plain: Plain] {
    Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
  }

  /// Returns the incoming value after its models have been merged into the local models with the same identities.
  private func rebuilt(_ incoming: Plain, from local: Plain, base: Plain?) throws -> Plain {
    let here = Self.pool(local)
    let before = base.map { Self.pool($0) }
    func rebuild(_ value: Plain) throws -> Plain {
      switch value {
      case .null, .scalar, .opaque: return value
      case .choice(var choice):
        choice.values = try choice.values.mapValues(rebuild)
        return try completed(.choice(choice))
      case .model(let model):
        guard let identity = model.identity, let local = here[identity],
          let merged = try merged(local, model, base: before.map { $0[identity].map { .model($0) } ?? Self.absent })
        else { return try completed(value) }
        return .model(merged)
      case .list(let elements): return .list(try elements.map(rebuild))
      case .set(let elements): return .set(Set(try elements.map(rebuild)))
      case .dictionary(let pairs): return .dictionary(try pairs.mapValues(rebuild))
      case .ordered(let pairs): return .ordered(try pairs.map { Plain.Pair(key: $0.key, value: try rebuild($0.value)) })
      }
    }
    let rebuilt = try rebuild(incoming)
    guard keepsUnlisted else { return rebuilt }
    let listed = Set(incoming.identities)
    func isKept(_ element: Plain) -> Bool {
      if case .model(let model) = element, let identity = model.identity { !listed.contains(identity) } else { false }
    }
    // For nested lists, the merge rules don't define which of the lists keeps an element.
    switch (local, rebuilt) {
    case (.list(let here), .list(let elements)): return .list(elements + here.filter(isKept))
    case (.set(let here), .set(let elements)): return .set(elements.union(here.filter(isKept)))
    default: return rebuilt
    }
  }

  private static func pool(_ value: Plain) -> [Plain: PlainModel] {
    Dictionary(
      value.models.compactMap { model in model.identity.map { ($0, model) } }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns a new value in which missing keys have their defaults.
  func completed(_ value: Plain) throws -> Plain {
    switch value {
    case .null, .scalar, .opaque: return value
    case .list(let elements): return .list(try elements.map(completed))
    case .set(let elements): return .set(Set(try elements.map(completed)))
    case .dictionary(let pairs): return .dictionary(try pairs.mapValues(completed))
    case .ordered(let pairs): return .ordered(try pairs.map { Plain.Pair(key: $0.key, value: try completed($0.value)) })
    case .model(let model):
      if model.kind.isObject, let known = model.identity.flatMap({ objects[$0] }),
        let merged = try merged(known, model, base: nil)
      {
        return .model(merged)
      }
      let fields = try model.fields.mapValues(completed)
      return .model(PlainModel(kind: model.kind, fields: model.kind.defaults().merging(fields) { _, given in given }))
    case .choice(var choice):
      // Associated values have no defaults. Optional ones become nil.
      choice.values = try choice.values.mapValues(completed)
      for label in Figure.labels[choice.name] ?? [] where choice.values[label] == nil {
        guard Figure.optionalLabels.contains(label) else { throw Refused() }
        choice.values[label] = .null
      }
      return .choice(choice)
    }
  }
}

extension Plain {
  /// The entries of a dictionary.
  fileprivate var pairs: [Plain: Plain]? {
    switch self {
    case .dictionary(let pairs): pairs
    case .ordered(let pairs): Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
    default: nil
    }
  }
}
