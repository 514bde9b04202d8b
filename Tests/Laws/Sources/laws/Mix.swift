/// Derives the values of one side from those of another, so that both contain the same objects.
struct Mixer {
  var random: SeededRandom

  /// Returns the value after replacing some parts with parts of another value. Models keep their identities, and containers keep
  /// their models.
  mutating func mix(_ value: Plain, with other: Plain) -> Plain {
    switch (value, other) {
    case (.model(let value), .model(let other)):
      guard value.kind == other.kind else { return .model(value) }
      var fields = value.fields
      for (key, field) in value.fields where key != "id" {
        fields[key] = other.fields[key].map { mix(field, with: $0) }
      }
      return .model(PlainModel(kind: value.kind, fields: fields))
    case (.choice(let value), .choice(let other)):
      guard value.name == other.name, random.below(4) > 0 else { return either(.choice(value), .choice(other)) }
      var values = value.values
      for (label, field) in value.values { values[label] = other.values[label].map { mix(field, with: $0) } }
      return .choice(Choice(type: value.type, name: value.name, values: values))
    case (.list(let elements), .list(let others)):
      guard value.holdsIdentities || other.holdsIdentities else { return either(value, other) }
      let mixed = elements.map { others.isEmpty ? $0 : mix($0, with: random.oneOf(others)) }
      // The list may represent an ordered set, whose elements must stay unique.
      return Set(elements).count == elements.count && Set(mixed).count < mixed.count ? value : .list(mixed)
    case (.set(let elements), .set(let others)):
      guard value.holdsIdentities || other.holdsIdentities else { return either(value, other) }
      return others.isEmpty ? value : .set(Set(elements.map { mix($0, with: random.oneOf(Array(others))) }))
    case (.dictionary(let pairs), .dictionary(let others)):
      guard !others.isEmpty else { return value }
      return .dictionary(pairs.mapValues { mix($0, with: random.oneOf(Array(others.values))) })
    case (.ordered(let pairs), .ordered(let others)):
      guard !others.isEmpty else { return value }
      return .ordered(pairs.map { Plain.Pair(key: $0.key, value: mix($0.value, with: random.oneOf(others).value)) })
    default: return either(value, other)
    }
  }

  private mutating func either(_ value: Plain, _ other: Plain) -> Plain { random.below(2) == 0 ? value : other }

  /// Returns the value without some of the elements that have an identity, and without some of the dictionary entries.
  mutating func drop(_ value: Plain) -> Plain {
    switch value {
    case .null, .scalar, .opaque: return value
    case .model(var model):
      model.fields = model.fields.mapValues { drop($0) }
      return .model(model)
    case .choice(var choice):
      choice.values = choice.values.mapValues { drop($0) }
      return .choice(choice)
    case .list(let elements):
      let fewer = elements.filter { !isDropped($0) }.map { drop($0) }
      // The list may represent an ordered set, whose elements must stay unique.
      return Set(elements).count == elements.count && Set(fewer).count < fewer.count ? value : .list(fewer)
    case .set(let elements): return .set(Set(elements.filter { !isDropped($0) }))
    case .dictionary(let pairs): return .dictionary(pairs.filter { _ in random.below(3) > 0 }.mapValues { drop($0) })
    case .ordered(let pairs):
      return .ordered(pairs.filter { _ in random.below(3) > 0 }.map { Plain.Pair(key: $0.key, value: drop($0.value)) })
    }
  }

  private mutating func isDropped(_ element: Plain) -> Bool {
    if case .model(let model) = element, model.identity != nil { random.below(3) == 0 } else { false }
  }

  /// Returns the value with its lists reordered and new elements added.
  mutating func move(_ value: Plain, adding other: Plain) -> Plain {
    switch (value, other) {
    case (.model(var model), .model(let other)) where model.kind == other.kind:
      for (key, field) in model.fields { model.fields[key] = other.fields[key].map { move(field, adding: $0) } }
      return .model(model)
    case (.list(let elements), .list(let others)):
      guard value.holdsIdentities else { return value }
      let known = Set(value.identities)
      let new = others.filter { known.isDisjoint(with: $0.identities) && $0 != .null && !elements.contains($0) }
      return .list((elements + new.prefix(2)).shuffled(using: &random))
    default: return value
    }
  }

  /// Returns the value without some keys of its models and some associated values of its enum cases.
  mutating func thin(_ value: Plain) -> Plain {
    switch value {
    case .null, .scalar, .opaque: return value
    case .model(var model):
      model.fields = model.fields.filter {
        $0.key == "id" || !model.kind.defaultKeys.contains($0.key) || random.below(3) > 0
      }
      model.fields = model.fields.mapValues { thin($0) }
      return .model(model)
    case .choice(var choice):
      choice.values = choice.values.filter { _ in random.below(3) > 0 }.mapValues { thin($0) }
      return .choice(choice)
    case .list(let elements): return .list(elements.map { thin($0) })
    case .set(let elements):
      // Thinning may make elements equal, and a set would lose one of them.
      let thinned = elements.map { thin($0) }
      return Set(thinned).count == elements.count ? .set(Set(thinned)) : value
    case .dictionary(let pairs): return .dictionary(pairs.mapValues { thin($0) })
    case .ordered(let pairs): return .ordered(pairs.map { Plain.Pair(key: $0.key, value: thin($0.value)) })
    }
  }
}

extension PlainModel.Kind {
  var defaultKeys: Set<String> { Set(defaults().keys) }
}

extension Plain {
  /// The identities of the models in a field's value, in containers of any depth, but not inside models.
  var identities: [Plain] {
    switch self {
    case .null, .scalar, .opaque: []
    case .model(let model): model.identity.map { [$0] } ?? []
    case .choice(let choice): choice.values.values.flatMap(\.identities)
    case .list(let elements): elements.flatMap(\.identities)
    case .set(let elements): elements.flatMap(\.identities)
    case .dictionary(let pairs): pairs.values.flatMap(\.identities)
    case .ordered(let pairs): pairs.flatMap(\.value.identities)
    }
  }

  var holdsIdentities: Bool { !identities.isEmpty }

  /// Whether a field's value contains a duplicate identity.
  var repeatsIdentity: Bool {
    let identities = identities
    return Set(identities).count < identities.count
      || models.contains { $0.fields.values.contains(where: \.repeatsIdentity) }
  }

  /// The models in a field's value, in containers of any depth.
  var models: [PlainModel] {
    switch self {
    case .null, .scalar: []
    case .model(let model): [model]
    case .choice(let choice): choice.values.values.flatMap(\.models)
    case .list(let elements): elements.flatMap(\.models)
    case .set(let elements): elements.flatMap(\.models)
    case .dictionary(let pairs): pairs.values.flatMap(\.models)
    case .ordered(let pairs): pairs.flatMap(\.value.models)
    case .opaque(let value, _): value.models
    }
  }

  /// The objects with an identity at any depth.
  var objects: [PlainModel] {
    switch self {
    case .null, .scalar, .opaque: []
    case .model(let model):
      (model.kind.isObject && model.identity != nil ? [model] : []) + model.fields.values.flatMap(\.objects)
    case .choice(let choice): choice.values.values.flatMap(\.objects)
    case .list(let elements): elements.flatMap(\.objects)
    case .set(let elements): elements.flatMap(\.objects)
    case .dictionary(let pairs): pairs.values.flatMap(\.objects)
    case .ordered(let pairs): pairs.flatMap(\.value.objects)
    }
  }

  /// Whether a list or a set contains null at any depth.
  var listsNull: Bool {
    switch self {
    case .null, .scalar, .opaque: false
    case .model(let model): model.fields.values.contains(where: \.listsNull)
    case .choice(let choice): choice.values.values.contains(where: \.listsNull)
    case .list(let elements): elements.contains { $0 == .null || $0.listsNull }
    case .set(let elements): elements.contains { $0 == .null || $0.listsNull }
    case .dictionary(let pairs): pairs.values.contains(where: \.listsNull)
    case .ordered(let pairs): pairs.contains(where: \.value.listsNull)
    }
  }

  /// Whether a list or a set at any depth contains an enum case. Enum cases have no identity.
  var listsChoices: Bool {
    switch self {
    case .null, .scalar, .opaque: false
    case .model(let model): model.fields.values.contains(where: \.listsChoices)
    case .choice(let choice): choice.values.values.contains(where: \.listsChoices)
    case .list(let elements): elements.contains(where: \.holdsChoices)
    case .set(let elements): elements.contains(where: \.holdsChoices)
    case .dictionary(let pairs): pairs.values.contains(where: \.listsChoices)
    case .ordered(let pairs): pairs.contains(where: \.value.listsChoices)
    }
  }

  /// Whether the value contains an enum case.
  var holdsChoices: Bool {
    switch self {
    case .null, .scalar, .opaque: false
    case .choice: true
    case .model(let model): model.fields.values.contains(where: \.holdsChoices)
    case .list(let elements): elements.contains(where: \.holdsChoices)
    case .set(let elements): elements.contains(where: \.holdsChoices)
    case .dictionary(let pairs): pairs.values.contains(where: \.holdsChoices)
    case .ordered(let pairs): pairs.contains(where: \.value.holdsChoices)
    }
  }

  /// Whether the value contains a part that merges treat as a whole.
  var holdsOpaque: Bool {
    switch self {
    case .null, .scalar: false
    case .opaque: true
    case .choice(let choice): choice.values.values.contains(where: \.holdsOpaque)
    case .model(let model): model.fields.values.contains(where: \.holdsOpaque)
    case .list(let elements): elements.contains(where: \.holdsOpaque)
    case .set(let elements): elements.contains(where: \.holdsOpaque)
    case .dictionary(let pairs): pairs.values.contains(where: \.holdsOpaque)
    case .ordered(let pairs): pairs.contains(where: \.value.holdsOpaque)
    }
  }

  /// Whether a list or a set contains a model without an identity. A merge replaces such a list as a whole.
  var listsAnonymousModels: Bool {
    switch self {
    case .null, .scalar, .opaque: false
    case .model(let model): model.fields.values.contains(where: \.listsAnonymousModels)
    case .choice(let choice): choice.values.values.contains(where: \.listsAnonymousModels)
    case .list(let elements):
      elements.contains { $0.models.contains { $0.identity == nil } || $0.listsAnonymousModels }
    case .set(let elements):
      elements.contains { $0.models.contains { $0.identity == nil } || $0.listsAnonymousModels }
    case .dictionary(let pairs): pairs.values.contains(where: \.listsAnonymousModels)
    case .ordered(let pairs): pairs.contains(where: \.value.listsAnonymousModels)
    }
  }
}

extension Plain {
  /// The value with all objects of the superclass changed to the subclass.
  var withSubclasses: Plain {
    switch self {
    case .null, .scalar, .opaque: return self
    case .model(let model):
      let fields = model.fields.mapValues(\.withSubclasses)
      guard model.kind == Being.plainKind else { return .model(PlainModel(kind: model.kind, fields: fields)) }
      return .model(PlainModel(kind: Being.puppyKind, fields: fields.merging(["age": 5.plain]) { $1 }))
    case .choice(let choice):
      return .choice(Choice(type: choice.type, name: choice.name, values: choice.values.mapValues(\.withSubclasses)))
    case .list(let elements): return .list(elements.map(\.withSubclasses))
    case .set(let elements): return .set(Set(elements.map(\.withSubclasses)))
    case .dictionary(let pairs): return .dictionary(pairs.mapValues(\.withSubclasses))
    case .ordered(let pairs): return .ordered(pairs.map { Pair(key: $0.key, value: $0.value.withSubclasses) })
    }
  }

  /// The value with sets instead of lists, for merges that don't define where kept elements are placed.
  var unplaced: Plain {
    switch unordered {
    case .list(let elements): .set(Set(elements.map(\.unplaced)))
    case .set(let elements): .set(Set(elements.map(\.unplaced)))
    case .model(let model): .model(PlainModel(kind: model.kind, fields: model.fields.mapValues(\.unplaced)))
    case .choice(let choice):
      .choice(Choice(type: choice.type, name: choice.name, values: choice.values.mapValues(\.unplaced)))
    case .dictionary(let pairs): .dictionary(pairs.mapValues(\.unplaced))
    case let other: other
    }
  }

  /// Whether a list or set contains other containers of models with an identity.
  var listsListsOfIdentities: Bool {
    func isNested(_ elements: some Sequence<Plain>) -> Bool {
      elements.contains { element in
        if case .model(let model) = element { return model.fields.values.contains(where: \.listsListsOfIdentities) }
        return element.holdsIdentities
      }
    }
    switch self {
    case .null, .scalar, .opaque: return false
    case .model(let model): return model.fields.values.contains(where: \.listsListsOfIdentities)
    case .choice(let choice): return choice.values.values.contains(where: \.listsListsOfIdentities)
    case .list(let elements): return isNested(elements)
    case .set(let elements): return isNested(elements)
    case .dictionary(let pairs): return pairs.values.contains(where: \.listsListsOfIdentities)
    case .ordered(let pairs): return pairs.contains(where: \.value.listsListsOfIdentities)
    }
  }
}
