import StrataCore

/// The expected result of a merge, computed in a different way than in the library. Each side is a map from paths to values. The result at
/// a path depends only on the sides' values at this path and on the field's rule.
///
/// The order of a list that both sides may have changed is undefined. See ``openLists``.
struct OracleMerge {
  /// A conflict that no rule decides. A side without a value is `nil`.
  struct Conflict {
    var base: Tree?
    var local: Tree?
    var server: Tree?
  }

  /// The state of the base at a path.
  private enum Origin {
    /// The base's value is unknown.
    case unknown
    /// The base had no value.
    case absent
    case known(FlatLeaf)
  }

  let shape: Shape
  /// The server's state from which the local edits started, or `nil` if it is unknown. It may be only partly known.
  let base: Flat?
  let local: Flat
  /// The incoming value, in which keys of models may be absent.
  let incoming: Flat
  /// Whether members that the incoming list lacks are kept if the base is unknown.
  let keepsUnlisted: Bool
  private(set) var result: Flat
  private(set) var conflicts: [FlatPath: Conflict] = [:]
  /// The lists whose order both sides may have changed.
  private(set) var openLists: [FlatPath] = []
  /// The paths at which the base had a different object than the two sides.
  private var foreign: [FlatPath] = []

  init(base: Flat?, local: Flat, incoming: Flat, keepsUnlisted: Bool, shape: Shape = .model(.document)) {
    (self.base, self.local, self.incoming, self.shape) = (base, local, incoming, shape)
    self.keepsUnlisted = keepsUnlisted
    result = local
    visit([], shape)
  }

  private func origin(_ path: FlatPath) -> Origin {
    guard let base else { return .unknown }
    if foreign.contains(where: { $0.count < path.count && path.starts(with: $0) }) { return .absent }
    if let leaf = base[path] { return .known(leaf) }
    guard !path.isEmpty else { return .unknown }
    // The base may have only a part of an enum case's payload.
    if path.count > 1, case .choice(path[path.count - 2], _)? = base[Array(path.dropLast(2))] { return .unknown }
    let parent = Array(path.dropLast())
    switch origin(parent) {
    case .unknown: return .unknown
    case .known(.model): return .unknown
    case .known(.choice), .known(.list), .known(.dictionary), .known(.null), .known(.value), .absent: return .absent
    }
  }

  /// The identity of an object, or `nil` if it has none or its key is absent.
  private func identity(_ flat: Flat?, _ path: FlatPath, _ model: ModelShape) -> String? {
    guard let key = model.identity, let flat, case .value(let id)? = flat[path + [key]] else { return nil }
    return id.canonicalText
  }

  private func areDifferent(_ one: Flat?, _ other: Flat?, _ path: FlatPath, _ model: ModelShape) -> Bool {
    guard let one = identity(one, path, model), let other = identity(other, path, model) else { return false }
    return one != other
  }

  // MARK: Deciding

  private mutating func visit(_ path: FlatPath, _ shape: Shape) {
    guard let server = incoming[path] else { return }
    switch (shape, local[path], server) {
    case (.leaf(let rule), _, _): decide(path, rule)
    case (.model(let model), .model?, .model):
      if areDifferent(local, incoming, path, model) { return whole(path, shape) }
      if areDifferent(base, local, path, model) || areDifferent(base, incoming, path, model) { foreign.append(path) }
      for child in incoming.children(path, shape) { visit(child.path, child.shape) }
    case (.list(let model), .list(let own)?, .list(let other)):
      members(path, own, other, .model(model), isList: true)
    case (.dictionary(let inside), .dictionary(let own)?, .dictionary(let other)):
      members(path, own, other, inside, isList: false)
    case (.choice, .choice(let own, _)?, .choice(let other, _)) where own == other:
      for child in incoming.children(path, shape) { visit(child.path, child.shape) }
    default: whole(path, shape)
    }
  }

  private mutating func members(_ path: FlatPath, _ own: [String], _ other: [String], _ inside: Shape, isList: Bool) {
    var gone = Set<String>()
    for name in own + other.filter({ !own.contains($0) }) {
      let place = path + [name]
      switch (local[place], incoming[place]) {
      case (_?, _?): visit(place, inside)
      case (_?, nil):
        switch origin(place) {
        case .unknown: if !keepsUnlisted { gone.insert(name) }
        case .absent: break
        case .known:
          if !isEdited(place, inside) {
            gone.insert(name)
          } else if !isList {
            conflict(place, inside, server: nil)
          }
        }
      case (nil, _?):
        if case .known = origin(place) {
          gone.insert(name)
          if isNews(place, inside) { conflict(place, inside, server: arriving(place, inside)) }
        } else {
          result.put(arriving(place, inside), place, inside)
        }
      case (nil, nil): break
      }
    }
    for name in gone { result.put(nil, path + [name], inside) }
    let added = other.filter { !own.contains($0) && !gone.contains($0) }
    let survivors = own.filter { !gone.contains($0) } + added
    guard isList else { return result.mark(path, .dictionary(survivors.sorted())) }
    if case .known(.list) = origin(path) {
      openLists.append(path)
      result.mark(path, .list(survivors))
    } else {
      result.mark(
        path, .list(Self.following(other.filter { survivors.contains($0) }, own.filter { !gone.contains($0) })))
    }
  }

  /// Inserts the elements of `other` that `list` lacks, each after its predecessor in `other`.
  private static func following(_ list: [String], _ other: [String]) -> [String] {
    var result = list
    var place = 0
    for name in other {
      if let found = result.firstIndex(of: name) {
        place = found + 1
      } else {
        result.insert(name, at: place)
        place += 1
      }
    }
    return result
  }

  /// Merges a value as a whole instead of key by key.
  private mutating func whole(_ path: FlatPath, _ shape: Shape) {
    let server = arriving(path, shape)
    guard local.text(path, shape) != server?.canonicalText else { return }
    switch origin(path) {
    case .unknown: result.put(server, path, shape)
    case .absent, .known:
      if !isNews(path, shape) { return }
      if isEdited(path, shape) { return conflict(path, shape, server: server) }
      result.put(server, path, shape)
    }
  }

  private mutating func decide(_ path: FlatPath, _ rule: Shape.Rule) {
    let shape = Shape.leaf(rule)
    guard let server = incoming.tree(path, shape) else { return }
    let own = local.tree(path, shape)
    func isSame(_ one: Tree?, _ other: Tree?) -> Bool { one?.canonicalText == other?.canonicalText }
    var before: Tree?
    switch origin(path) {
    case .unknown:
      switch rule {
      case .automatic, .serverWins, .sumOfDeltas: result.put(server, path, shape)
      case .localWins: break
      case .max: result.put(greater(own, server), path, shape)
      case .conflict: if !isSame(own, server) { conflict(path, shape, server: server) }
      }
      return
    case .absent: break
    case .known: before = base?.tree(path, shape)
    }
    if rule == .sumOfDeltas, !isSame(before, own), !isSame(before, server) {
      let sum = (own?.intValue ?? 0) + (server.intValue ?? 0) - (before?.intValue ?? 0)
      return result.put(.integer(sum), path, shape)
    }
    if isSame(own, server) || isSame(before, server) { return }
    if isSame(before, own) { return result.put(server, path, shape) }
    switch rule {
    case .serverWins: result.put(server, path, shape)
    case .localWins: break
    case .max: result.put(greater(own, server), path, shape)
    case .automatic, .conflict, .sumOfDeltas: conflict(path, shape, server: server)
    }
  }

  private func greater(_ own: Tree?, _ server: Tree) -> Tree {
    guard let number = own?.intValue else { return server }
    return .integer(max(number, server.intValue ?? number))
  }

  private mutating func conflict(_ path: FlatPath, _ shape: Shape, server: Tree?) {
    var before: Tree?
    if case .known = origin(path) { before = base?.tree(path, shape) }
    conflicts[path] = Conflict(base: before, local: local.tree(path, shape), server: server)
  }

  // MARK: Changes of a side

  /// Whether the local value differs from the base, as far as the base is known.
  private func isEdited(_ path: FlatPath, _ shape: Shape) -> Bool {
    guard case .known(let leaf) = origin(path) else { return local[path] != nil }
    guard leaf == local[path] else { return true }
    return base?.children(path, shape).contains { isEdited($0.path, $0.shape) } ?? false
      || isLarger(local, path, shape)
  }

  /// Whether a container has members that the base lacks. Model keys that the base lacks are ignored, because their base value is unknown.
  private func isLarger(_ flat: Flat, _ path: FlatPath, _ shape: Shape) -> Bool {
    var isKnownInPart = false
    switch flat[path] {
    case .model?, .choice?: isKnownInPart = true
    default: break
    }
    guard isKnownInPart else {
      return flat.children(path, shape).contains { base?[$0.path] == nil || isLarger(flat, $0.path, $0.shape) }
    }
    return flat.children(path, shape).contains { base?[$0.path] != nil && isLarger(flat, $0.path, $0.shape) }
  }

  /// Whether the incoming value differs from the base in any key that the incoming value has.
  private func isNews(_ path: FlatPath, _ shape: Shape) -> Bool {
    guard let base, case .known = origin(path) else { return true }
    return OracleBase.overlaid(base, by: incoming, path, shape)?.canonicalText != base.text(path, shape)
  }

  /// The incoming value as a whole: laid over the base's value of the same object, and completed with defaults.
  private func arriving(_ path: FlatPath, _ shape: Shape) -> Tree? {
    var value = incoming.tree(path, shape)
    if let base, case .known = origin(path) { value = OracleBase.overlaid(base, by: incoming, path, shape) }
    return value?.completed(shape)
  }
}

/// The server's state as a replica remembers it.
enum OracleBase {
  /// The base after a merge: the old base, if known, with the incoming value laid over it.
  static func next(_ base: Flat?, _ incoming: Flat, _ shape: Shape = .model(.document)) -> Flat {
    guard let base, let tree = overlaid(base, by: incoming, [], shape) else { return incoming }
    return Flat(tree, shape)
  }

  /// The base's value at a path with the incoming value laid over it. Absent keys are left unchanged.
  static func overlaid(_ base: Flat, by incoming: Flat, _ path: FlatPath, _ shape: Shape) -> Tree? {
    guard let leaf = incoming[path] else { return base.tree(path, shape) }
    let whole = incoming.tree(path, shape)
    switch (shape, base[path], leaf) {
    case (.model(let model), .model?, .model):
      if let key = model.identity, case .value(let one)? = base[path + [key]],
        case .value(let other)? = incoming[path + [key]], one.canonicalText != other.canonicalText
      {
        return whole
      }
      return .object(
        ArchiveObject(
          model.fields.compactMap { field in
            overlaid(base, by: incoming, path + [field.key], field.shape).map { .init(key: field.key, value: $0) }
          }))
    case (.list(let model), .list?, .list(let names)):
      return .array(names.compactMap { overlaid(base, by: incoming, path + [$0], .model(model)) })
    case (.dictionary(let inside), .dictionary?, .dictionary(let names)):
      return .object(
        ArchiveObject(
          names.compactMap { name in
            overlaid(base, by: incoming, path + [name], inside).map { .init(key: name, value: $0) }
          }))
    case (.choice, .choice(let own, let labels)?, .choice(let other, let others)) where own == other:
      let all = Set(labels).union(others).sorted()
      let payload = all.compactMap { label in
        (incoming.tree(path + [other, label], .leaf(.automatic)) ?? base.tree(path + [other, label], .leaf(.automatic)))
          .map { ArchiveObject.Entry(key: label, value: $0) }
      }
      return .object(ArchiveObject([.init(key: other, value: .object(ArchiveObject(payload)))]))
    default: return whole
    }
  }
}
