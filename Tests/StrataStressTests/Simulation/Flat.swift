import StrataCore

/// A path to a value: keys, and identities of list elements in brackets.
typealias FlatPath = [String]

/// The content at a path. Containers have markers of their own, so that an empty container, null and absence are distinct.
enum FlatLeaf: Equatable {
  case null, model
  case list([String])
  case dictionary([String])
  case choice(String, [String])
  /// A value that is not a container.
  case value(Tree)

  static func == (left: FlatLeaf, right: FlatLeaf) -> Bool {
    switch (left, right) {
    case (.null, .null), (.model, .model): true
    case (.list(let one), .list(let other)): one == other
    case (.dictionary(let one), .dictionary(let other)): Set(one) == Set(other)
    case (.choice(let one, _), .choice(let other, _)): one == other
    case (.value(let one), .value(let other)): one.canonicalText == other.canonicalText
    default: false
    }
  }
}

/// A value, flattened to a map from paths to leaves.
struct Flat {
  private(set) var leaves: [FlatPath: FlatLeaf] = [:]

  init() {}

  init(_ tree: Tree, _ shape: Shape) { put(tree, [], shape) }

  subscript(path: FlatPath) -> FlatLeaf? { leaves[path] }

  /// Replaces the value at a path, or removes it if `tree` is `nil`.
  mutating func put(_ tree: Tree?, _ path: FlatPath, _ shape: Shape) {
    remove(path, shape)
    guard let tree else { return }
    if tree.isNull {
      leaves[path] = .null
      return
    }
    switch (shape, tree) {
    case (.model(let model), .object(let object)):
      leaves[path] = .model
      for field in model.fields {
        if let value = object[field.key] { put(value, path + [field.key], field.shape) }
      }
    case (.list(let model), .array(let elements)):
      let names = Self.names(of: elements, model)
      leaves[path] = .list(names)
      for (name, element) in zip(names, elements) { put(element, path + [name], .model(model)) }
    case (.dictionary(let shape), .object(let object)):
      leaves[path] = .dictionary(object.keys.sorted())
      for entry in object.entries { put(entry.value, path + [entry.key], shape) }
    case (.choice, .object(let object)):
      let payload = object.entries.first?.value.objectValue ?? ArchiveObject()
      let name = object.keys.first ?? ""
      leaves[path] = .choice(name, payload.keys.sorted())
      for entry in payload.entries { put(entry.value, path + [name, entry.key], .leaf(.automatic)) }
    default: leaves[path] = .value(tree)
    }
  }

  /// The child paths of a path, each with its shape.
  func children(_ path: FlatPath, _ shape: Shape) -> [(path: FlatPath, shape: Shape)] {
    switch (leaves[path], shape) {
    case (.model?, .model(let model)):
      model.fields.map { (path + [$0.key], $0.shape) }.filter { leaves[$0.0] != nil }
    case (.list(let names)?, .list(let model)): names.map { (path + [$0], .model(model)) }
    case (.dictionary(let names)?, .dictionary(let shape)): names.map { (path + [$0], shape) }
    case (.choice(let name, let labels)?, _): labels.map { (path + [name, $0], .leaf(.automatic)) }
    default: []
    }
  }

  private mutating func remove(_ path: FlatPath, _ shape: Shape) {
    for child in children(path, shape) { remove(child.path, child.shape) }
    leaves[path] = nil
  }

  /// Sets the marker of a list or a dictionary. The caller must first remove the former members.
  mutating func mark(_ path: FlatPath, _ leaf: FlatLeaf) { leaves[path] = leaf }

  /// The value at a path, or `nil` if there is none.
  func tree(_ path: FlatPath, _ shape: Shape) -> Tree? {
    guard let leaf = leaves[path] else { return nil }
    let children = children(path, shape)
    func object() -> Tree {
      .object(
        ArchiveObject(
          children.compactMap { child in
            tree(child.path, child.shape).map { .init(key: child.path.last ?? "", value: $0) }
          }))
    }
    switch leaf {
    case .null: return .null
    case .value(let value): return value
    case .model, .dictionary: return object()
    case .list: return .array(children.compactMap { tree($0.path, $0.shape) })
    case .choice(let name, _): return .object(ArchiveObject([.init(key: name, value: object())]))
    }
  }

  func text(_ path: FlatPath, _ shape: Shape) -> String? { tree(path, shape)?.canonicalText }

  /// Returns a name for each element of a list: its identity or, if it has none, its whole content. If several elements would have the same
  /// name, each one after the first gets a suffix: the number of earlier elements with that name.
  static func names(of elements: [Tree], _ model: ModelShape) -> [String] {
    var counts: [String: Int] = [:]
    return elements.map { element in
      var name = "[=\(element.completed(.model(model)).canonicalText)]"
      if let key = model.identity, let id = element[key], !id.isNull { name = "[\(key)=\(id.canonicalText)]" }
      let count = counts[name, default: 0]
      counts[name] = count + 1
      return count == 0 ? name : "\(name)#\(count)"
    }
  }

  /// The names that several elements of a list share, without the number that distinguishes them.
  var duplicates: [FlatPath] {
    leaves.flatMap { path, leaf -> [FlatPath] in
      guard case .list(let names) = leaf else { return [] }
      return names.filter { $0.hasSuffix("]#1") }.map { path + [String($0.dropLast(2))] }
    }
  }

  /// All paths at which two maps differ, sorted.
  static func differences(_ one: Flat, _ other: Flat) -> [FlatPath] {
    Set(one.leaves.keys).union(other.leaves.keys).filter { one.leaves[$0] != other.leaves[$0] }.sorted {
      $0.lexicographicallyPrecedes($1)
    }
  }
}

extension ModelShape {
  /// The shape at a path, or `nil` if the shape has no such path.
  static func shape(at path: ArraySlice<String>, in shape: Shape = .model(.document)) -> Shape? {
    guard let first = path.first else { return shape }
    switch shape {
    case .model(let model): return model.field(first).flatMap { Self.shape(at: path.dropFirst(), in: $0.shape) }
    case .list(let model): return Self.shape(at: path.dropFirst(), in: .model(model))
    case .dictionary(let shape): return Self.shape(at: path.dropFirst(), in: shape)
    case .choice: return path.count == 2 ? .leaf(.automatic) : nil
    case .leaf: return nil
    }
  }
}
