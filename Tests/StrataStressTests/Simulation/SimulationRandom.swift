import StrataCore
import StrataTestSupport

/// Random values and edits of the simulation's document.
extension SeededRandom {
  /// Keys that have a special meaning in other formats.
  private static let keys = ["a", "b", "a.b", "[0]", "u\u{308}", "", "*", "~1/"]

  /// Returns a value for a key of a model, a payload or a dictionary.
  mutating func leaf(_ key: String, allowsNaN: Bool) -> Tree {
    func number(_ random: inout SeededRandom) -> Tree {
      allowsNaN && random.isOnce(in: 3) ? .double(.nan) : .double(Double(random.below(3)) / 2)
    }
    switch key {
    case "best", "zip": return isOnce(in: 4) ? .null : .integer(below(4))
    case "id": return isOnce(in: 8) ? .null : .integer(1 + below(5))
    case "count", "weight", "member": return .integer(below(4))
    case "lat", "lon": return number(&self)
    case "doubles": return .array((0..<below(3)).map { _ in number(&self) })
    case "tags": return .array((0..<below(3)).map { _ in .string(oneOf(["x", "y"])) })
    case "note", "color": return isOnce(in: 3) ? .null : .string(oneOf(["a", "b", "c", "ä"]))
    default: return .string(oneOf(["", "a", "b", "c"]))
    }
  }

  mutating func tree(_ shape: Shape, _ key: String, allowsNaN: Bool, isJSON: Bool) -> Tree {
    switch shape {
    case .leaf: return leaf(key, allowsNaN: allowsNaN)
    case .model(let model):
      if key != "element", isOnce(in: 3) { return .null }
      let fields = model.fields.filter { $0.isInJSON || !isJSON }
      var object = ArchiveObject()
      for field in fields { object[field.key] = tree(field.shape, field.key, allowsNaN: allowsNaN, isJSON: isJSON) }
      // An element without identity is identified by its content, so JSON has to contain all of it.
      if object["id"]?.isNull ?? false, object["draft"] != nil { object["draft"] = "" }
      return .object(object)
    case .list(let model):
      return .array(
        (0..<below(4)).map { _ in tree(.model(model), "element", allowsNaN: allowsNaN, isJSON: isJSON) }.uniqued(
          unless: isOnce(in: 8)))
    case .dictionary(let inside):
      var object = ArchiveObject()
      for _ in 0..<below(4) {
        object[oneOf(Self.keys)] = tree(inside, inside.memberKey, allowsNaN: allowsNaN, isJSON: isJSON)
      }
      return .object(object)
    case .choice(_, let cases):
      let name = oneOf(cases.keys.sorted())
      let payload = (cases[name] ?? []).map { ArchiveObject.Entry(key: $0, value: leaf($0, allowsNaN: allowsNaN)) }
      return .object(ArchiveObject([.init(key: name, value: .object(ArchiveObject(payload)))]))
    }
  }

  /// Returns the value with one random change inside.
  mutating func edited(_ value: Tree, _ shape: Shape, _ key: String, allowsNaN: Bool, isJSON: Bool) -> Tree {
    func fresh(_ random: inout SeededRandom) -> Tree {
      random.tree(shape, key, allowsNaN: allowsNaN, isJSON: isJSON)
    }
    switch (shape, value) {
    case (.model(let model), .object(var object)):
      if !key.isEmpty, key != "element", isOnce(in: 5) { return fresh(&self) }
      // Identities are kept, unless the whole object is replaced.
      let fields = model.fields.filter { ($0.isInJSON || !isJSON) && $0.key != model.identity }
      let field = oneOf(fields)
      if field.key == "draft", object["id"]?.isNull ?? false { return value }
      object[field.key] = edited(
        object[field.key] ?? field.initial, field.shape, field.key, allowsNaN: allowsNaN, isJSON: isJSON)
      return .object(object)
    case (.list(let model), .array(var elements)):
      switch below(5) {
      case 0:
        let element = tree(.model(model), "element", allowsNaN: allowsNaN, isJSON: isJSON)
        elements.insert(element, at: below(elements.count + 1))
        return .array(elements.uniqued(unless: isOnce(in: 8)))
      case 1 where !elements.isEmpty: elements.remove(at: below(elements.count))
      case 2 where !elements.isEmpty:
        let element = elements.remove(at: below(elements.count))
        elements.insert(element, at: below(elements.count + 1))
      default:
        guard !elements.isEmpty else { return fresh(&self) }
        let place = below(elements.count)
        elements[place] = edited(elements[place], .model(model), "element", allowsNaN: allowsNaN, isJSON: isJSON)
      }
      return .array(elements)
    case (.dictionary(let inside), .object(var object)):
      let key = object.isEmpty || isOnce(in: 3) ? oneOf(Self.keys) : oneOf(object.keys)
      if let old = object[key] {
        object[key] =
          isOnce(in: 3) ? nil : edited(old, inside, inside.memberKey, allowsNaN: allowsNaN, isJSON: isJSON)
      } else {
        object[key] = tree(inside, inside.memberKey, allowsNaN: allowsNaN, isJSON: isJSON)
      }
      return .object(object)
    case (.choice, .object(let object)):
      guard let entry = object.entries.first, var payload = entry.value.objectValue, !payload.isEmpty, !isOnce(in: 3)
      else { return fresh(&self) }
      let label = oneOf(payload.keys)
      payload[label] = leaf(label, allowsNaN: allowsNaN)
      return .object(ArchiveObject([.init(key: entry.key, value: .object(payload))]))
    default: return fresh(&self)
    }
  }

  /// Returns a part of a value, as a server sends it: any keys of models, but complete lists and dictionaries.
  ///
  /// - Parameter completes: whether an enum at a path needs its whole payload.
  mutating func partial(
    _ value: Tree, _ shape: Shape, _ path: FlatPath = [], completes: (FlatPath, String) -> Bool
  ) -> Tree {
    switch (shape, value) {
    case (.model(let model), .object(let object)):
      let share = 1 + below(3)
      return .object(
        ArchiveObject(
          model.fields.compactMap { field in
            guard let old = object[field.key] else { return nil }
            let isIdentity = field.key == model.identity
            guard isIdentity ? !isOnce(in: 6) : below(4) < share else { return nil }
            let value = partial(old, field.shape, path + [field.key], completes: completes)
            return .init(key: field.key, value: value)
          }))
    case (.list(let model), .array(let elements)):
      return .array(
        elements.map { element in
          guard let id = element["id"], !id.isNull else { return element }
          var part = partial(element, .model(model), path + ["[]"], completes: completes).objectValue ?? ArchiveObject()
          part["id"] = id
          return .object(part)
        })
    case (.dictionary(let inside), .object(let object)):
      return .object(
        ArchiveObject(
          object.entries.map {
            .init(key: $0.key, value: partial($0.value, inside, path + [$0.key], completes: completes))
          }))
    case (.choice, .object(let object)):
      guard let entry = object.entries.first, let payload = entry.value.objectValue, payload.count > 1,
        !completes(path, entry.key),
        isOnce(in: 2)
      else { return value }
      let kept = payload.entries.filter { _ in below(2) == 0 }
      return .object(ArchiveObject([.init(key: entry.key, value: .object(ArchiveObject(kept)))]))
    default: return value
    }
  }
}

extension Shape {
  /// The key that is passed to generate random members of a dictionary.
  fileprivate var memberKey: String { if case .model = self { "element" } else { "member" } }
}

extension [Tree] {
  /// Removes elements with a duplicate identity, unless duplicates are allowed.
  fileprivate func uniqued(unless mayRepeat: Bool) -> [Tree] {
    guard !mayRepeat else { return self }
    var seen = Set<String>()
    return filter { element in
      let id = element["id"] ?? .null
      return seen.insert(id.isNull ? element.canonicalText : id.canonicalText).inserted
    }
  }
}
