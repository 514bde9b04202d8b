/// Which objects of base, local and server stand for each other: those of one type with one identity; and where there is
/// none, those at one place.
///
/// What belongs together is an entity. One side may have several objects of it: a document that names one twice.
struct ObjectMatching {
  enum Side: Int, CaseIterable { case base, local, server }

  struct Entity {
    /// The objects of each side, by side.
    var members: [[Int]] = [[], [], []]
    var hasIdentity = false

    subscript(side: Side) -> [Int] { members[side.rawValue] }
  }

  /// The same place on each side; `nil` where nothing stands there.
  struct Place {
    var base: Value?
    var local: Value?
    var server: Value?
    /// Whether the server's is one of several objects for one.
    var isRepeated = false
  }

  private struct Identity: Hashable {
    /// The name of the class that all of the hierarchy inherit from.
    let family: String
    let value: Value
  }

  let graph: MergeGraph
  /// The key that tells the elements of an array apart, by the type and the key that hold it and one of the elements.
  private let listKey: (_ typeName: String, _ key: String, _ element: Value) -> String?
  private(set) var entities: [Entity] = []
  private var numbers: [Int: Int] = [:]
  private var identified: [Identity: [Int]] = [:]
  private var identityKeys: [ObjectIdentifier: String?] = [:]
  private var places: [Place] = []
  /// How many members each entity had when its fields were looked at last.
  private var visited: [Int: Int] = [:]
  /// The schema of a root that is no object.
  private let rootStructure: ModelSchema?

  init(
    _ graph: MergeGraph, rootStructure: ModelSchema?,
    listKey: @escaping (_ typeName: String, _ key: String, _ element: Value) -> String?
  ) {
    self.graph = graph
    self.rootStructure = rootStructure
    self.listKey = listKey
  }

  /// The entity that an object belongs to; `nil` for one that came up later.
  func entity(of number: Int) -> Int? { numbers[number] }

  /// What references to an object are compared by: the number of its entity, or one of its own.
  func canonical(_ number: Int) -> Int { numbers[number] ?? Int.min / 2 + number }

  mutating func identityKey(of schema: ModelSchema) -> String? {
    if let known = identityKeys[ObjectIdentifier(schema)] { return known }
    let key = schema.identityKey
    identityKeys[ObjectIdentifier(schema)] = key
    return key
  }

  /// What tells a record from others of its type; `nil` where it has nothing that does.
  mutating func identity(of record: Record, _ schema: ModelSchema) -> Value? {
    guard let key = identityKey(of: schema), let value = record[key], !value.isNull else { return nil }
    return value
  }

  // MARK: Matching

  /// Matches the objects of all sides.
  ///
  /// - Parameters:
  ///   - root: the root of each side. They stand for each other, whatever tells them apart.
  ///   - isMerged: whether a field takes part, by the schema that declares it: what the server has elsewhere is not looked at.
  mutating func match(_ root: Place, isMerged: (ModelSchema, String) -> Bool) throws {
    try addRoot(root)
    for (side, value) in zip(Side.allCases, [root.base, root.local, root.server]) {
      guard let value else { continue }
      try add(value, side, isMerged)
    }
    places = [root]
    var isRoot = true
    while let place = places.popLast() {
      try match(place, isRoot: isRoot)
      isRoot = false
    }
    // What has an identity is matched wherever it stands, and what it holds without one stands at its places.
    for entity in entities.indices {
      try visit(entity)
      while let place = places.popLast() { try match(place, isRoot: false) }
    }
  }

  private mutating func addRoot(_ root: Place) throws {
    var entity = Entity()
    for (side, value) in zip(Side.allCases, [root.base, root.local, root.server]) {
      guard case .reference(let number)? = value else { continue }
      entity.members[side.rawValue] = [number]
      numbers[number] = 0
      let schema = graph.schema(number)
      guard let id = identity(of: try graph.record(number), schema) else { continue }
      entity.hasIdentity = true
      let identity = Identity(family: schema.superclasses.last?.name ?? schema.name, value: id)
      if !(identified[identity] ?? []).contains(0) { identified[identity, default: []].append(0) }
    }
    if !entity.members.allSatisfy(\.isEmpty) { entities.append(entity) }
  }

  /// Adds all objects that one side leads to, those with an identity to the entity that has it.
  private mutating func add(_ root: Value, _ side: Side, _ isMerged: (ModelSchema, String) -> Bool) throws {
    var queue: [Int] = []
    var seen = Set<Int>()
    func visit(_ value: Value, _ schema: ModelSchema?) {
      if case .record(let record) = value, side == .server, let schema {
        for (key, value) in zip(record.keys, record.values) where isMerged(schema, key) {
          value.forEachReference { if seen.insert($0).inserted { queue.append($0) } }
        }
      } else {
        value.forEachReference { if seen.insert($0).inserted { queue.append($0) } }
      }
    }
    visit(root, rootSchema(root))
    var next = 0
    while next < queue.count {
      let number = queue[next]
      next += 1
      // An object that both sides refer to is the same on both, and so is what it leads to.
      let isShared = side == .server && numbers[number].map { entities[$0][.local].contains(number) } ?? false
      try add(number, side)
      if isShared { continue }
      visit(.record(try graph.record(number)), graph.schema(number))
    }
  }

  private func rootSchema(_ root: Value) -> ModelSchema? {
    if case .reference(let number) = root { graph.schema(number) } else { rootStructure }
  }

  private mutating func add(_ number: Int, _ side: Side) throws {
    if let known = numbers[number] {
      // One object may be on several sides.
      if !entities[known][side].contains(number) { entities[known].members[side.rawValue].append(number) }
      return
    }
    let schema = graph.schema(number)
    var entity = Entity()
    if let id = identity(of: try graph.record(number), schema) {
      entity.hasIdentity = true
      let identity = Identity(family: schema.superclasses.last?.name ?? schema.name, value: id)
      for candidate in identified[identity] ?? [] where isRelated(number, candidate) {
        numbers[number] = candidate
        entities[candidate].members[side.rawValue].append(number)
        return
      }
      identified[identity, default: []].append(entities.count)
    }
    numbers[number] = entities.count
    entity.members[side.rawValue] = [number]
    entities.append(entity)
  }

  /// Whether an object can be the same as those of an entity: one of the classes inherits from the other.
  private func isRelated(_ number: Int, _ entity: Int) -> Bool {
    let type = graph.type(number)
    return entities[entity].members.joined().allSatisfy { member in
      let other = graph.type(member)
      return type.isSubtype(of: other) || other.isSubtype(of: type)
    }
  }

  // MARK: By place

  private mutating func match(_ place: Place, isRoot: Bool) throws {
    let (base, local, server) = (place.base, place.local, place.server)
    if let server {
      // What a document says about an object without naming it, it says about the one that the server had there.
      if isRoot {
        try join(base, local, isRoot: true)
        try join(server, local, isRoot: true)
      } else if case .reference? = base {
        try join(server, base, isRoot: false, isRepeated: place.isRepeated)
      } else {
        try join(server, local, isRoot: false, isRepeated: place.isRepeated)
      }
    }
    try join(local, base, isRoot: isRoot)
    try inside(place)
  }

  /// Makes one entity of two objects at one place, where they can be the same.
  private mutating func join(_ one: Value?, _ other: Value?, isRoot: Bool, isRepeated: Bool = false) throws {
    guard case .reference(let left)? = one, case .reference(let right)? = other, let first = numbers[left],
      let second = numbers[right]
    else { return }
    guard first != second else { return try visit(first) }
    if !isRoot {
      guard !(entities[first].hasIdentity && entities[second].hasIdentity), isRelated(left, second),
        try !differInConstants(left, right)
      else { return }
      for side in Side.allCases where !entities[first][side].isEmpty && !entities[second][side].isEmpty {
        // Several parts of a document may be about one object.
        guard side == .server,
          isRepeated || (entities[first][side] + entities[second][side]).contains(where: { $0 < 0 })
        else { return }
      }
    }
    for side in Side.allCases {
      for number in entities[second][side] {
        numbers[number] = first
        if !entities[first][side].contains(number) { entities[first].members[side.rawValue].append(number) }
      }
    }
    entities[first].hasIdentity = entities[first].hasIdentity || entities[second].hasIdentity
    entities[second].members = [[], [], []]
    visited[first] = nil
    try visit(first)
  }

  /// Looks at the fields of an entity once more whenever it has got more members.
  private mutating func visit(_ entity: Int) throws {
    let members = entities[entity].members
    let count = members.reduce(0) { $0 + $1.count }
    guard visited[entity] != count else { return }
    visited[entity] = count
    let sides = members.map(\.count)
    guard sides.count(where: { $0 > 0 }) > 1 else { return }
    for index in 0..<(sides.max() ?? 0) {
      func field(_ side: Side) throws -> Value? {
        let numbers = members[side.rawValue]
        guard let number = numbers.indices.contains(index) ? numbers[index] : numbers.first else { return nil }
        return .record(try graph.record(number))
      }
      places.append(
        Place(
          base: try field(.base), local: try field(.local), server: try field(.server),
          isRepeated: sides[Side.server.rawValue] > 1))
    }
  }

  /// Constants never change, so objects that differ in one are two.
  private func differInConstants(_ left: Int, _ right: Int) throws -> Bool {
    let schema = graph.schema(left)
    guard schema.fields.contains(where: \.isConstant) else { return false }
    let (own, other) = (try graph.record(left), try graph.record(right))
    for field in schema.fields where field.isConstant {
      guard let one = own[field.key], let two = other[field.key], !one.hasReferences, !two.hasReferences else {
        continue
      }
      if !one.isSame(as: two) { return true }
    }
    return false
  }

  /// Matches what stands at the same places inside of values that are no objects themselves.
  private mutating func inside(_ place: Place) throws {
    if case .reference(let number)? = place.server ?? place.local, let entity = numbers[number] {
      return try visit(entity)
    }
    let values = [place.base, place.local, place.server].compactMap(\.self)
    guard values.count > 1, values.contains(where: \.hasReferences) else { return }
    switch values[0] {
    case .record: try fields(place)
    case .object, .map: try entries(place)
    case .array, .set: try elements(place, nil)
    default: return
    }
  }

  private mutating func fields(_ place: Place) throws {
    let records = (place.base?.recordValue, place.local?.recordValue, place.server?.recordValue)
    guard let pattern = records.2 ?? records.1 ?? records.0 else { return }
    // What the server says nothing about stands for what the base had all the same.
    let others = (records.1?.keys ?? []).filter { records.2?[$0] == nil && records.2 != nil }
    for key in pattern.keys + others {
      let inner = Place(
        base: records.0?[key], local: records.1?[key], server: records.2?[key], isRepeated: place.isRepeated)
      if case .array(let elements)? = inner.server ?? inner.local, let first = elements.first {
        try self.elements(inner, listKey(pattern.typeName, key, first))
      } else {
        places.append(inner)
      }
    }
  }

  private mutating func entries(_ place: Place) throws {
    func lookup(_ value: Value?) -> [Value: Value] {
      Dictionary((value?.mapEntries ?? []).map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
    let (base, local, server) = (lookup(place.base), lookup(place.local), lookup(place.server))
    let others = (place.local?.mapEntries ?? []).filter { server[$0.key] == nil && place.server != nil }
    for entry in ((place.server ?? place.local)?.mapEntries ?? []) + others {
      places.append(
        Place(
          base: base[entry.key], local: local[entry.key], server: server[entry.key], isRepeated: place.isRepeated))
    }
  }

  // MARK: Lists

  /// Matches elements: those with one key, those that look the same in their order, and between them those that stand at
  /// one place.
  private mutating func elements(_ place: Place, _ key: String?) throws {
    let base = place.base?.arrayValue, local = place.local?.arrayValue, server = place.server?.arrayValue
    if let key {
      func lookup(_ elements: [Value]?) throws -> [Value: Value] {
        var result: [Value: Value] = [:]
        for element in elements ?? [] {
          if let id = try opened(element)[key], !id.isNull, result[id] == nil { result[id] = element }
        }
        return result
      }
      let (olds, mine, theirs) = (try lookup(base), try lookup(local), try lookup(server))
      for (id, element) in theirs {
        places.append(Place(base: olds[id], local: mine[id], server: element, isRepeated: place.isRepeated))
      }
      for (id, element) in mine where theirs[id] == nil && olds[id] != nil {
        places.append(Place(base: olds[id], local: element, server: nil))
      }
      return
    }
    let fillsGaps = if case .set? = place.local ?? place.server { false } else { true }
    if let base, let server {
      try align(base, server, fillsGaps) { Place(base: $0, server: $1, isRepeated: place.isRepeated) }
    }
    if let base, let local { try align(base, local, fillsGaps) { Place(base: $0, local: $1) } }
    if place.base == nil, let local, let server {
      try align(local, server, fillsGaps) { Place(local: $0, server: $1, isRepeated: place.isRepeated) }
    }
  }

  private mutating func align(
    _ one: [Value], _ other: [Value], _ fillsGaps: Bool, _ place: (Value, Value) -> Place
  ) throws {
    // Of a part nobody knows what it looks like.
    if fillsGaps, try other.contains(where: isPart) {
      for (left, right) in zip(one, other) { places.append(place(left, right)) }
      return
    }
    let left = try one.map(content), right = try other.map(content)
    var start = 0
    while start < min(left.count, right.count), left[start].isSame(as: right[start]) {
      places.append(place(one[start], other[start]))
      start += 1
    }
    var end = 0
    while end < min(left.count, right.count) - start,
      left[left.count - 1 - end].isSame(as: right[right.count - 1 - end])
    {
      places.append(place(one[left.count - 1 - end], other[right.count - 1 - end]))
      end += 1
    }
    let (lefts, rights) = (start..<left.count - end, start..<right.count - end)
    var known: [SameValue: [Int]] = [:]
    for index in rights.reversed() { known[SameValue(right[index]), default: []].append(index) }
    var taken = Set<Int>()
    var rest: [Int] = []
    for index in lefts {
      if lefts.count != rights.count, let match = known[SameValue(left[index])]?.popLast() {
        places.append(place(one[index], other[match]))
        taken.insert(match)
      } else {
        rest.append(index)
      }
    }
    guard fillsGaps else { return }
    for (index, match) in zip(rest, rights.filter { !taken.contains($0) }) {
      places.append(place(one[index], other[match]))
    }
  }

  private func isPart(_ element: Value) throws -> Bool {
    guard case .reference(let number) = element, number < 0 else { return false }
    return try graph.record(number).values.count < graph.schema(number).fields.count
  }

  /// What an element looks like by itself, with what tells the objects apart that it refers to.
  private func content(_ element: Value) throws -> Value {
    try opened(element).mapReferences { number in
      numbers[number].flatMap { entities[$0].hasIdentity ? .reference($0) : nil } ?? .null
    }
  }

  private func opened(_ value: Value) throws -> Value {
    if case .reference(let number) = value { .record(try graph.record(number)) } else { value }
  }
}

extension Value {
  var hasReferences: Bool {
    switch self {
    case .reference: true
    case .array(let elements), .set(let elements): elements.contains(where: \.hasReferences)
    case .object(let object): object.entries.contains { $0.value.hasReferences }
    case .map(let entries): entries.contains { $0.key.hasReferences || $0.value.hasReferences }
    case .record(let record): record.values.contains(where: \.hasReferences)
    default: false
    }
  }

  /// The pairs of a dictionary; `nil` for anything else.
  var mapEntries: [MapEntry]? {
    switch self {
    case .map(let entries): entries
    case .object(let object): object.entries.map { MapEntry(key: .string($0.key), value: $0.value) }
    default: nil
    }
  }
}
