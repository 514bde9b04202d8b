extension ValueMerger {
  // MARK: Merging objects

  /// Queues the objects that the server's value refers to. Each object is queued only once, even if it is referenced several times.
  mutating func enqueue(_ value: ArchiveValue) {
    guard let matching else { return }
    value.forEachReference { number in
      if let entity = matching.entity(of: number), queued.insert(entity).inserted { pending.append(entity) }
    }
  }

  /// Merges the queued objects, including objects that are added to the queue during the merge.
  mutating func mergeObjects() throws {
    var next = 0
    while next < pending.count, let matching {
      let entity = pending[next]
      next += 1
      let members = matching.entities[entity]
      guard let server = try serverRecord(of: entity) else { continue }
      guard !members[.local].isEmpty else {
        for value in server.values { enqueue(value) }
        continue
      }
      do { try merge(entity, server) } catch { throw located(error, entity) }
    }
  }

  private mutating func merge(_ entity: Int, _ stated: ModelRecord) throws {
    guard let matching else { return }
    var server = stated
    if matching.entities[entity].takesDefaults, let number = matching.entities[entity].typeMember {
      server = try completed(stated, graph.schema(number))
    }
    let bases = try BaseValues(matching.entities[entity][.base], graph, matching), base = bases.first
    let locals = matching.entities[entity][.local].filter { !matching.isMember($0, of: .server) }
    let outer = (object, selectors)
    (object, selectors, path) = (entity, selectorsByObject[entity] ?? [], [])
    defer { (object, selectors) = outer }
    if let type = try subclass(of: entity) { return try replace(entity, by: type, base, server) }
    // An entity may have several local objects, which represent the same object. If the base has this object, too, the local edits of all
    // of them are combined, so that each of them gets all edits.
    let isRepeated = base != nil && (bases.differ || locals.count > 1)
    let pairs = isRepeated ? try combined(locals, bases, &server) : nil
    var first: (local: ModelRecord, base: ModelRecord?, merged: ModelRecord, notes: Range<Int>)?
    for (place, number) in locals.enumerated() {
      let local = try graph.record(number), own = pairs?[place].own ?? local, base = pairs?[place].base ?? base
      let merged: ModelRecord
      if let first, first.local.shape === own.shape, areSame(.record(first.local), .record(own)),
        areSame(first.base.map { .record($0) }, base.map { .record($0) })
      {
        merged = first.merged
      } else {
        let start = notes.count
        merged = try mergeFields(
          base, isBaseKnown: isBaseKnown && (base != nil || isBaseWhole), own, server, schema: graph.schema(number),
          inherited: .automatic)
        if let first {
          dropNotes(from: start, like: first.notes)
        } else {
          try noteRepeated(entity, own, merged, matching)
          first = (own, base, merged, start..<notes.count)
        }
      }
      guard !merged.isEqual(to: local) else { continue }
      let before = updates.updateValue(merged, forKey: number)
      if try isReplacedForItsConstants(number, entity, matching) {
        replaced.insert(entity)
      } else if before == nil {
        updated.append(number)
      }
    }
  }

  /// If the incoming document describes the same object several times, adds a note to the report for each field with different values.
  private mutating func noteRepeated(
    _ entity: Int, _ local: ModelRecord, _ merged: ModelRecord, _ matching: ObjectMatching
  ) throws {
    let parts = try matching.entities[entity][.server].filter { $0 < 0 }.map { try graph.record($0) }
    guard parts.count > 1 else { return }
    for key in Set(parts.flatMap(\.keys)).sorted() {
      // Fields with references are skipped, because the objects that they refer to get their own notes.
      let values = parts.compactMap { $0[key].flatMap { $0.hasReferences ? nil : $0 } }
      guard let first = values.first, let other = values.first(where: { !areSame($0, first) }) else { continue }
      path = [.key(key)]
      note(
        sides(nil, local[key], areSame(merged[key], first) ? other : first),
        areSame(merged[key], local[key]) ? .local : .server,
        "the document contains the object several times, with different values", merged[key])
      path = []
    }
  }

  /// Completes the server's fields of an object that replaces an element of a list. Fields that are never part of JSON are omitted, so that
  /// the local object keeps its values.
  private mutating func completed(_ server: ModelRecord, _ schema: ModelSchema) throws -> ModelRecord {
    var result = try overlaid(server, schema, over: [], fillsIn: true)
    for field in schema.fields where field.json.isNowhere && server[field.key] == nil { result[field.key] = nil }
    return result
  }

  // MARK: Replacing objects

  /// Returns the class of the server's object, if it is a subclass of the local object's class and a new object can replace the local one;
  /// otherwise `nil`.
  private mutating func subclass(of entity: Int) throws -> (any VersionedModel.Type)? {
    guard let matching, let local = matching.entities[entity][.local].first,
      let number = matching.entities[entity].typeMember
    else { return nil }
    let (own, other) = (graph.type(local), graph.type(number))
    guard other != own, other.isSubtype(of: own), !roots.contains(.reference(local)) else { return nil }
    if try canBeReplaced(entity, matching) { return other }
    note(
      sides(nil, .reference(local), .reference(number), isBaseKnown: false), .local,
      "the server's object has the class \(other.schema.name), but a constant refers to the local object",
      .reference(local))
    return nil
  }

  /// Whether a new object can replace the local object of an entity. The local object must not be the root, and no constant may refer to
  /// it.
  private mutating func canBeReplaced(_ entity: Int, _ matching: ObjectMatching) throws -> Bool {
    let held = try constantEntities ?? entities(matching) { $0.isConstant }
    constantEntities = held
    return !held.contains(entity) && !matching.entities[entity][.local].contains { roots.contains(.reference($0)) }
  }

  /// Whether a changed object whose properties are all constants is replaced with a new object of the same class. The replacement must not
  /// lose any data: the object must be the only local object of its entity, each of its stored properties must be a field, and the
  /// reference to it must not be weak.
  private mutating func isReplacedForItsConstants(
    _ number: Int, _ entity: Int, _ matching: ObjectMatching
  ) throws -> Bool {
    let schema = graph.schema(number), members = matching.entities[entity]
    guard schema.mergeTraits.hasConstantsOnly, members[.local].count == 1,
      members.typeMember.map({ graph.type($0) == graph.type(number) }) ?? false,
      Self.storedPropertyCount(of: graph.referenced.objects[number]) == schema.fields.count
    else { return false }
    let weak = try conditionalEntities ?? entities(matching) { $0.archive == .conditional }
    conditionalEntities = weak
    return try !weak.contains(entity) && canBeReplaced(entity, matching)
  }

  private static func storedPropertyCount(of object: any VersionedModel) -> Int {
    let mirrors = sequence(first: Mirror(reflecting: object.dynamicModel), next: \.superclassMirror)
    return mirrors.reduce(0) { $0 + $1.children.count }
  }

  /// Returns the numbers of the entities (groups of matching objects) that local objects refer to in fields accepted by `isHolder`.
  private func entities(
    _ matching: ObjectMatching, referredToBy isHolder: (FieldInfo) -> Bool
  ) throws -> Set<Int> {
    var result = Set<Int>()
    func visit(_ record: ModelRecord, _ schema: ModelSchema?) {
      for field in schema?.fields ?? [] where isHolder(field) {
        record[field.key]?.forEachReference { if let entity = matching.entity(of: $0) { result.insert(entity) } }
      }
    }
    if case .record(let root)? = roots.first { visit(root, catalog[root.typeName]) }
    for number in graph.referenced.objects.indices where matching.isMember(number, of: .local) {
      visit(try graph.record(number), graph.schema(number))
    }
    return result
  }

  /// Replaces a local object with an instance of a subclass and merges the fields that both classes declare.
  private mutating func replace(
    _ entity: Int, by type: any VersionedModel.Type, _ base: ModelRecord?, _ server: ModelRecord
  ) throws {
    guard let locals = matching?.entities[entity][.local], let first = locals.first else { return }
    let (local, schema) = (try graph.record(first), type.schema)
    // Fields that only the subclass declares start with the server's values, or else with their defaults, because the local object does not
    // have them.
    let known = try overlaid(
      ModelRecord(typeName: schema.name, modelVersion: schema.modelVersion, fields: []), schema, over: [local, server],
      fillsIn: true)
    let merged = try mergeFields(
      base, isBaseKnown: isBaseKnown && (base != nil || isBaseWhole), known, server, schema: schema,
      inherited: .automatic)
    replaced.insert(entity)
    for number in locals { updates[number] = merged }
    path = []
    note(
      sides(nil, .reference(first), .reference(first), isBaseKnown: false), .server,
      "replaced by an object of the class \(schema.name)", .reference(first))
  }

  /// Removes notes about an object that only repeat the notes about another object of the same entity, so that the report lists each
  /// decision once.
  private mutating func dropNotes(from start: Int, like known: Range<Int>) {
    let known = Dictionary(grouping: notes[known], by: \.path)
    let news = notes[start...].filter { note in
      !(known[note.path] ?? []).contains {
        areSame($0.sides.local, note.sides.local) && areSame($0.result, note.result)
      }
    }
    notes.replaceSubrange(start..., with: news)
  }

  /// Combines the edits of all local objects of an entity. Returns the fields of each object with all edits applied, and the base of these
  /// fields; `nil` if the objects are of different classes. An edit is a value that no object of the base has. If two objects have
  /// different edits of the same field, the first object's edit wins. Unedited values can differ, too, because a document can describe an
  /// object several times, once in full and once abbreviated. Each object keeps its unedited values and has them as its base.
  ///
  /// - Parameter server: the server's fields. A field that neither side has changed is removed: it is unedited, and the base has the
  ///   server's value. The objects that the removed value refers to are queued.
  private mutating func combined(
    _ numbers: [Int], _ bases: BaseValues, _ server: inout ModelRecord
  ) throws -> [(own: ModelRecord, base: ModelRecord)]? {
    let records = try numbers.map { try graph.record($0) }
    guard let first = records.first, let firstBase = bases.first,
      records.allSatisfy({ $0.typeName == first.typeName })
    else { return nil }
    let schema = graph.schema(numbers[0])
    var edits = ModelRecord(typeName: first.typeName, modelVersion: first.modelVersion, fields: [])
    for record in records {
      for (key, value) in zip(record.keys, record.values) where !bases.explains(value, key, schema) {
        guard let known = edits[key] else {
          edits[key] = value
          continue
        }
        guard !areSame(known, value) else { continue }
        path = [.key(key)]
        note(
          sides(firstBase[key], value, nil), .merged, "another local object with the same identity was also edited",
          known)
        path = []
      }
    }
    let unchanged = zip(server.keys, server.values).filter { key, value in bases.contains(value, key) }
    for (key, value) in unchanged where edits[key] == nil {
      server[key] = nil
      enqueue(value)
    }
    return records.map { record in
      var (own, base) = (record, firstBase)
      for (key, value) in zip(record.keys, record.values) {
        if let edit = edits[key] { own[key] = edit } else { base[key] = value }
      }
      for (key, value) in unchanged where edits[key] != nil { base[key] = value }
      return (own, base)
    }
  }

  /// Returns the server's fields of an entity; `nil` if the server does not have the entity. If the document describes the object several
  /// times with different values for a field, the server's value is the first one that differs from all values in the base. Without a base,
  /// it is the first one that differs from the local value.
  mutating func serverRecord(of entity: Int) throws -> ModelRecord? {
    guard let matching, let first = matching.entities[entity][.server].first else { return nil }
    let members = matching.entities[entity][.server]
    var result = try graph.record(first)
    guard members.count > 1 else { return result }
    let bases = matching.entities[entity][.base]
    let locals = matching.entities[entity][.local].prefix(1)
    let old = try BaseValues(bases.isEmpty ? Array(locals) : bases, graph, matching)
    for number in members.dropFirst() {
      let other = try graph.record(number)
      for (key, value) in zip(other.keys, other.values) {
        guard let known = result[key] else {
          result[key] = value
          continue
        }
        if old.contains(known, key), !old.contains(value, key) { result[key] = value }
      }
      if !other.shape.gaps.isEmpty || !result.shape.gaps.isEmpty {
        // If one description contains the value, an unknown enum case in another description is no gap.
        let gaps = result.shape.gaps.merging(other.shape.gaps) { max($0, $1) }
          .filter { $1 != .unknownCase || result[$0.text] == nil }
        result = ModelRecord(shape: result.shape.with(gaps, limitedTo: result.keys), values: result.values)
      }
    }
    return result
  }

  /// Returns the fields that an object has after the merge, or the current fields if the object has not been merged yet.
  func mergedRecord(_ number: Int) throws -> ModelRecord {
    var own = number
    if let matching, !matching.isMember(number, of: .local), let entity = matching.entity(of: number) {
      own = matching.entities[entity][.local].first ?? number
    }
    return try updates[own] ?? graph.record(own)
  }

  // MARK: Changes

  /// Whether one side has edited a list element since the base. If the element is a reference, its object is compared.
  mutating func isEditedElement(_ sides: MergePolicy.Sides, _ side: ObjectMatching.Side) throws -> Bool {
    let value = side == .local ? sides.local : sides.server
    guard let matching, case .reference(let number)? = value, areSame(sides.base, value),
      let entity = matching.entity(of: number)
    else { return try side == .local ? isEdited(value, since: sides.base) : hasServerChange(value, since: sides.base) }
    return try edits(side).contains(entity)
  }

  /// Returns the numbers of the entities (groups of matching objects) that one side has changed since the base. If an object without an
  /// identity has changed, the entities that refer to it count as changed, too, because the object is considered a part of them.
  mutating func edits(_ side: ObjectMatching.Side) throws -> Set<Int> {
    guard let matching else { return [] }
    if let known = knownEdits[side] { return known }
    var result = try ownEdits(side)
    var owners: [Int: [Int]] = [:]
    for (entity, members) in matching.entities.enumerated() {
      guard let number = members[side].first else { continue }
      for value in try graph.record(number).values {
        value.forEachReference { inner in
          guard let held = matching.entity(of: inner), !matching.entities[held].hasIdentity else { return }
          owners[held, default: []].append(entity)
        }
      }
    }
    var rest = Array(result)
    while let entity = rest.popLast() {
      for owner in owners[entity] ?? [] where result.insert(owner).inserted { rest.append(owner) }
    }
    knownEdits[side] = result
    return result
  }

  /// Returns the numbers of the entities (groups of matching objects) in which a field has a different value on one side than in the base.
  /// Only an entity's own fields are compared, not the objects that they refer to. Fields that the side or the base lacks are skipped.
  func ownEdits(_ side: ObjectMatching.Side) throws -> Set<Int> {
    guard let matching else { return [] }
    var result = Set<Int>()
    for (entity, members) in matching.entities.enumerated() {
      guard !members[.base].isEmpty else { continue }
      let bases = try BaseValues(members[.base], graph, matching)
      let differs = try members[side].contains { number in
        let record = try graph.record(number)
        return zip(record.keys, record.values).contains { key, value in
          bases.hasKey(key) && !bases.contains(value, key)
        }
      }
      if differs { result.insert(entity) }
    }
    return result
  }

  /// Returns the fields of an object that does not exist locally. The fields come from the server. Fields that the server omits come from
  /// the base, or else get their defaults. For an object that replaces a local one, returns the merged fields.
  mutating func newRecord(of entity: Int) throws -> ModelRecord {
    if replaced.contains(entity), let local = matching?.entities[entity][.local].first, let record = updates[local] {
      return record
    }
    let base = try (matching?.entities[entity][.base].first).map { try graph.record($0) }
    guard let server = try serverRecord(of: entity), let number = matching?.entities[entity][.server].first else {
      guard let base else { throw ArchiveError(.mergeFailed, "a reference names an object that does not exist") }
      return base
    }
    guard number < 0 else { return server }
    do {
      return try overlaid(server, graph.schema(number), over: base.map { [$0] } ?? [], fillsIn: true)
    } catch { throw located(error, entity) }
  }

  // MARK: Policies for paths

  /// Follows the paths that have policies in the merge call. For each object on such a path, records the rest of the path. If an object can
  /// be reached on several paths, all of them are followed.
  mutating func selectObjects(from roots: [ArchiveValue]) throws {
    guard let matching else { return }
    var found: [Int: [Selection]] = [:]
    var seen: [Int: Set<[Int]>] = [:]
    for selection in selectors {
      var waiting = roots.map { ($0, selection.path.components[...]) }
      while let (value, components) = waiting.popLast() {
        guard let first = components.first else { continue }
        var inner = value
        if case .reference(let number) = value {
          if let entity = matching.entity(of: number) {
            // In a cycle, a path can reach the same object again. Fewer components of the path remain each time, so the loop ends. The
            // same object with the same remaining components is visited only once.
            if seen[entity, default: []].insert([selection.order, components.count]).inserted {
              found[entity, default: []].append(
                Selection(path: ValuePath(Array(components)), policy: selection.policy, order: selection.order))
            } else if entity != 0 {
              continue
            }
          }
          inner = .record(try graph.record(number))
        }
        let rest = components.dropFirst()
        switch inner {
        case .record(let record):
          waiting += zip(record.keys, record.values).filter { first.matches(.key($0.0)) }.map { ($1, rest) }
        case .array(let elements), .set(let elements):
          for element in elements {
            let isNamed =
              if case .element(let key, let id) = first { try graph.opened(element)[key] == id } else {
                first == .anyElement
              }
            if isNamed { waiting.append((element, rest)) }
          }
        default: waiting += (inner.members() ?? []).filter { first.matches($0.step) }.map { ($0.value, rest) }
        }
      }
    }
    selectorsByObject = found
  }

  // MARK: Paths

  /// Returns the shortest path to each object that is reachable from a value. Two kinds of references are followed last: references that
  /// are new in this merge, and references back to an owner (conditional or transitory fields). Paths therefore prefer references that
  /// existed before the merge.
  ///
  /// - Parameters:
  ///   - known: the references before the merge. If it is `nil`, all references are treated as existing before the merge.
  ///   - byPlace: whether paths identify elements by their indices.
  ///   - found: called for each reference, even if the object has already been found.
  ///   - record: returns the fields of an object.
  func ways(
    from root: ArchiveValue, known: Set<PathTable.Way>? = nil, byPlace: Bool = false,
    found: (PathTable.Way) -> Void = { _ in },
    _ record: (Int) throws -> ModelRecord
  ) throws -> [PathTable.Way] {
    guard let matching else { return [] }
    var ways: [PathTable.Way] = []
    var seen = Set<Int>()
    var queue: [(number: Int, way: PathTable.Way)] = []
    var later = queue
    func add(_ value: ArchiveValue, _ owner: Int?, _ steps: [ValuePath.Component], _ key: IdentityKey?, isBack: Bool)
      throws
    {
      switch value {
      case .reference(let number):
        let way = PathTable.Way(object: matching.entity(of: number) ?? number, owner: owner, steps: steps)
        found(way)
        if isBack || !(known?.contains(way) ?? true) {
          later.append((number, way))
        } else {
          queue.append((number, way))
        }
      case .record(let record):
        guard record.values.contains(where: \.hasReferences) else { return }
        let schema = catalog[record.typeName]
        for (place, (name, value)) in zip(record.keys, record.values).enumerated() where value.hasReferences {
          let field = schema.flatMap { $0.fields.indices.contains(place) ? $0.fields[place] : nil }
          let isLast =
            field.map { $0.key == name && ($0.archive == .conditional || $0.storage == .transitory) } ?? false
          let element = if case .array(let elements) = value, let first = elements.first { first } else { value }
          try add(
            value, owner, steps + [.key(name)], graph.listKey(record.typeName, name, element, in: catalog),
            isBack: isBack || isLast)
        }
      case .array(let elements), .set(let elements):
        for (index, element) in elements.enumerated() {
          let inner = try element.opened(record)
          var step = ValuePath.Component.index(index)
          if !byPlace, let key, let id = inner[key], !id.isNull { step = .element(key: key, id: id) }
          try add(element, owner, steps + [step], nil, isBack: isBack)
        }
      default:
        for (step, value) in value.members() ?? [] { try add(value, owner, steps + [step], nil, isBack: isBack) }
      }
    }
    try add(root, nil, [], identityKey(ofElements: root), isBack: false)
    var next = 0
    while true {
      if next == queue.count {
        guard !later.isEmpty else { break }
        queue += later
        later.removeAll()
      }
      let (number, way) = queue[next]
      next += 1
      guard seen.insert(way.object).inserted else { continue }
      ways.append(way)
      try add(.record(try record(number)), way.object, [], nil, isBack: false)
    }
    return ways
  }

  /// Returns the error with the path to an entity's object prepended to its own path, which begins at the object.
  private func located(_ error: any Error, _ entity: Int) -> any Error {
    // If no path to the object is found, the path of the error begins at the object.
    let known = roots.flatMap { (try? ways(from: $0, byPlace: true) { try graph.record($0) }) ?? [] }
    return PathTable(known).components(to: entity).reversed().reduce(error) { error, component in
      ArchiveError.at(component.errorStep, error)
    }
  }
}
