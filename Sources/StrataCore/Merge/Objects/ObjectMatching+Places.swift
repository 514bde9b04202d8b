extension ObjectMatching {
  /// Matches objects that are at the same path in the base, the local and the server's value.
  mutating func inside(_ sides: SideValues, isRoot: Bool) throws {
    if case .reference(let number)? = sides.server ?? sides.local, let entity = entity(of: number) {
      return try visit(entity)
    }
    let values = [sides.base, sides.local, sides.server].compactMap(\.self)
    guard values.count > 1, values.contains(where: \.hasReferences) else { return }
    switch values[0] {
    case .record: try fields(sides)
    case .object, .map: try entries(sides)
    case .array where isRoot:
      try elements(
        sides,
        (sides.server ?? sides.local)?.arrayValue?.first.flatMap {
          graph.schema(of: $0, in: catalog).flatMap(graph.identityKey)
        })
    case .array, .set: try elements(sides, nil)
    default: return
    }
  }

  private mutating func fields(_ sides: SideValues) throws {
    let records = (sides.base?.recordValue, sides.local?.recordValue, sides.server?.recordValue)
    guard let pattern = records.2 ?? records.1 ?? records.0 else { return }
    // If the server's record lacks a field, the objects in the base value and the local value of the field are still matched with each
    // other.
    let others = sides.isKnownHere ? [] : (records.1?.keys ?? []).filter { records.2?[$0] == nil && records.2 != nil }
    for key in pattern.keys + others {
      let inner = SideValues(
        base: records.0?[key], local: records.1?[key], server: records.2?[key], isRepeated: sides.isRepeated,
        isKnownHere: sides.isKnownHere, takesDefaults: sides.takesDefaults)
      if case .array(let elements)? = inner.server ?? inner.local, let first = elements.first {
        try self.elements(inner, graph.listKey(pattern.typeName, key, first, in: catalog))
      } else {
        pending.append(inner)
      }
    }
  }

  private mutating func entries(_ sides: SideValues) throws {
    func lookup(_ value: ArchiveValue?) -> [ValuePath.Component: ArchiveValue] { ArchiveValue.lookup(value?.members()) }
    let (base, local, server) = (lookup(sides.base), lookup(sides.local), lookup(sides.server))
    let others =
      sides.isKnownHere || sides.server == nil
      ? [] : (sides.local?.members() ?? []).filter { server[$0.step] == nil }
    for (step, _) in ((sides.server ?? sides.local)?.members() ?? []) + others {
      pending.append(
        SideValues(
          base: base[step], local: local[step], server: server[step], isRepeated: sides.isRepeated,
          isKnownHere: sides.isKnownHere, takesDefaults: sides.takesDefaults))
    }
  }

  // MARK: Lists

  /// Matches list elements in three passes: by key, then equal elements in order, and finally the rest by index.
  private mutating func elements(_ sides: SideValues, _ key: IdentityKey?) throws {
    let base = sides.base?.arrayValue, local = sides.local?.arrayValue, server = sides.server?.arrayValue
    if let key {
      try addIdentities(sides, key)
      // Objects with an identity are already matched, regardless of their index.
      let isIdentity =
        if case .reference(let number)? = (server ?? local)?.first {
          graph.identityKey(of: graph.schema(number)) == key
        } else {
          false
        }
      if !isIdentity { try elements(sides, key, base ?? [], local ?? [], server ?? []) }
      // Elements that have no value under the key are matched as if the list had no key.
      func unnamed(_ list: [ArchiveValue]?) throws -> ArchiveValue? {
        try list.map { .array(try $0.filter { try graph.opened($0)[key]?.isNull ?? true }) }
      }
      var rest = sides
      (rest.base, rest.local, rest.server) = (try unnamed(base), try unnamed(local), try unnamed(server))
      return try elements(rest, nil)
    }
    let fillsGaps = if case .set? = sides.local ?? sides.server { false } else { true }
    if let base, let server {
      try align(base, server, fillsGaps) { SideValues(base: $0, server: $1, isRepeated: sides.isRepeated) }
    }
    if !sides.isKnownHere, let base, let local { try align(base, local, fillsGaps) { SideValues(base: $0, local: $1) } }
    if sides.base == nil, let local, let server {
      try align(local, server, fillsGaps) {
        SideValues(local: $0, server: $1, isRepeated: sides.isRepeated, takesDefaults: true)
      }
    }
  }

  private mutating func elements(
    _ sides: SideValues, _ key: IdentityKey, _ base: [ArchiveValue], _ local: [ArchiveValue], _ server: [ArchiveValue]
  ) throws {
    func keys(of elements: [ArchiveValue]) throws -> [ElementKey?] {
      try ElementKeys.keys(of: elements, by: key, graph.opened)
    }
    func lookup(_ elements: [ArchiveValue]) throws -> [ElementKey: ArchiveValue] {
      let pairs = zip(try keys(of: elements), elements).compactMap { key, element in key.map { ($0, element) } }
      return Dictionary(pairs) { first, _ in first }
    }
    let (olds, mine, theirs) = (try lookup(base), try lookup(local), try lookup(server))
    for case (let id?, let element) in zip(try keys(of: server), server) {
      pending.append(
        SideValues(
          base: olds[id], local: mine[id], server: element, isRepeated: sides.isRepeated, isKnownHere: sides.isKnownHere
        ))
    }
    guard !sides.isKnownHere else { return }
    for case (let id?, let element) in zip(try keys(of: local), local) where theirs[id] == nil && olds[id] != nil {
      pending.append(SideValues(base: olds[id], local: element))
    }
  }

  /// Assigns identities to the objects of a list that a document describes without one. Each object gets the identity of the known object
  /// with the same values. An incoming object that matches no known object gets a new identity. ``ValueMerger/withIdentities(_:_:_:)`` does
  /// the same for models that are not objects.
  private mutating func addIdentities(_ sides: SideValues, _ key: IdentityKey) throws {
    func numbers(_ list: ArchiveValue?) -> [Int] {
      (list?.arrayValue ?? []).compactMap { if case .reference(let number) = $0 { number } else { nil } }
    }
    let matching = self
    func add(to list: [Int], from known: [Int], _ match: (Int, Int) -> SideValues) throws {
      let unnamed = try list.filter { try $0 < 0 && graph.schema($0).isIdentityMissing(key, in: graph.record($0)) }
      guard !unnamed.isEmpty else { return }
      var used = Set(try list.compactMap { try graph.record($0)[key] })
      var numbers: [ArchiveValue: Int] = [:]
      var models: [(record: ModelRecord, key: ElementKey)] = []
      for number in known {
        let record = try graph.record(number)
        guard let id = record[key], !id.isNull, used.insert(id).inserted else { continue }
        numbers[id] = number
        models.append((record, ElementKey(id: id, occurrence: 0)))
      }
      var rest = KnownModels(models, catalog, graph, content: { try matching.content($0) })
      for number in unnamed {
        guard let id = try rest.takeIdentity(of: graph.record(number), without: key), let known = numbers[id] else {
          continue
        }
        graph.setIdentity(id, key, of: number)
        pending.append(match(known, number))
      }
    }
    let (base, local, server) = (numbers(sides.base), numbers(sides.local), numbers(sides.server))
    try add(to: base, from: local) { SideValues(base: .reference($1), local: .reference($0)) }
    try add(to: server, from: base) {
      SideValues(base: .reference($0), server: .reference($1), isRepeated: sides.isRepeated)
    }
    try add(to: server, from: local) {
      SideValues(local: .reference($0), server: .reference($1), isRepeated: sides.isRepeated)
    }
    // Incoming objects that still lack an identity are new. They get identities now, so that the next remembered base contains the same
    // identities.
    for number in server where number < 0 {
      let schema = graph.schema(number)
      guard try schema.isIdentityMissing(key, in: graph.record(number)), let id = try schema.newIdentity(key) else {
        continue
      }
      graph.setIdentity(id, key, of: number)
    }
  }

  private mutating func align(
    _ one: [ArchiveValue], _ other: [ArchiveValue], _ fillsGaps: Bool,
    _ sides: (ArchiveValue, ArchiveValue) -> SideValues
  ) throws {
    // An object of the incoming document may lack fields, so its contents cannot be compared. The elements are matched by index instead.
    if fillsGaps, try other.contains(where: isPart) {
      for (left, right) in zip(one, other) { pending.append(sides(left, right)) }
      return
    }
    let left = try one.map(content), right = try other.map(content)
    let ends = CommonEnds(left, right, ==)
    for index in 0..<ends.start { pending.append(sides(one[index], other[index])) }
    for index in 1..<ends.end + 1 { pending.append(sides(one[one.count - index], other[other.count - index])) }
    let (lefts, rights) = (ends.old, ends.new)
    var known: [ArchiveValue: [Int]] = [:]
    for index in rights.reversed() { known[right[index], default: []].append(index) }
    var taken = Set<Int>()
    var rest: [Int] = []
    for index in lefts {
      if lefts.count != rights.count, let match = known[left[index]]?.popLast() {
        pending.append(sides(one[index], other[match]))
        taken.insert(match)
      } else {
        rest.append(index)
      }
    }
    guard fillsGaps else { return }
    for (index, match) in zip(rest, rights.filter { !taken.contains($0) }) {
      pending.append(sides(one[index], other[match]))
    }
  }

  private func isPart(_ element: ArchiveValue) throws -> Bool {
    guard case .reference(let number) = element, number < 0 else { return false }
    return try graph.record(number).values.count < graph.schema(number).fields.count
  }

  /// Returns the fields of an element for a comparison. A reference to an object with an identity becomes the number of the object's
  /// entity, and any other reference becomes null.
  private func content(_ element: ArchiveValue) throws -> ArchiveValue {
    try graph.opened(element).mapReferences { number in
      entity(of: number).flatMap { entities[$0].hasIdentity ? .reference($0) : nil } ?? .null
    }
  }
}
