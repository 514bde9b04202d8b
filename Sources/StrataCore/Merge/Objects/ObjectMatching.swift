/// Finds the objects of the base, the local side and the server that correspond to each other. Objects of one type correspond if they have
/// the same identity. Objects without an identity correspond if they are at the same path.
///
/// Corresponding objects form an entity. One side may have several objects of an entity, because a document may list an object twice.
struct ObjectMatching {
  enum Side: Int, CaseIterable {
    case base, local, server

    fileprivate var bit: UInt8 { 1 << UInt8(rawValue) }
  }

  struct Entity {
    /// The numbers of the objects on each side, indexed by side.
    fileprivate(set) var members: [[Int]] = [[], [], []]
    fileprivate(set) var hasIdentity = false
    /// Whether the server's object replaces an element of a local list. Absent keys of the object then get their default values.
    fileprivate(set) var takesDefaults = false
    /// Whether the server's object is merged into a local object at some path, instead of replacing it. ``takesDefaults`` is then false.
    fileprivate var isChanged = false
    /// The distinct classes of the entity's objects on all sides, by identifier.
    fileprivate var types: [ObjectIdentifier: any VersionedModel.Type] = [:]
    /// The number of the entity's objects on each side when their fields were last matched. If a number has increased since then, the
    /// fields must be matched again.
    fileprivate var visited = [0, 0, 0]

    subscript(side: Side) -> [Int] { members[side.rawValue] }

    /// The object whose class is used if the merge creates a new object for this entity.
    var typeMember: Int? { self[.server].first { $0 >= 0 } ?? self[.server].first ?? self[.base].first }

    fileprivate var count: Int { members.reduce(0) { $0 + $1.count } }
  }

  /// The base, local and server values at one path; `nil` for a side that has no value at the path.
  struct SideValues {
    var base: ArchiveValue?
    var local: ArchiveValue?
    var server: ArchiveValue?
    /// Whether the server's data contains the owner of these values several times. All copies describe the same object, so the objects in
    /// their fields can also be matched with each other.
    var isRepeated = false
    /// Whether the base and local values have already been matched with each other, so that only the server's value still has to be
    /// matched.
    var isKnownHere = false
    /// Whether the server's value replaces the local one. Absent keys of the value then get their default values.
    var takesDefaults = false
  }

  private struct Identity: Hashable {
    /// The registered name of the topmost superclass that is a model, or of the class itself if there is none. Objects of a class and its
    /// subclasses can therefore have the same identity.
    let family: String
    let value: ArchiveValue
  }

  /// The entity of an object, and the sides on which the object occurs.
  private struct Membership {
    var entity: Int
    /// One bit for each side on which the object occurs (`Side.bit`).
    var sides: UInt8 = 0
  }

  let graph: MergeGraph
  let catalog: SchemaCatalog
  private(set) var entities: [Entity] = []
  private var memberships: [Int: Membership] = [:]
  private var identified: [Identity: [Int]] = [:]
  /// The values that still have to be matched. Each element contains the values of all sides at one path.
  var pending: [SideValues] = []
  /// The schema of the root if the root is a struct or an enum; `nil` if the root is an object or not a model.
  private let rootStructure: ModelSchema?
  /// Returns the keys of a model's fields whose server values must not be matched.
  private var skippedKeys: (ModelSchema) -> Set<String> = { _ in [] }
  /// Whether some objects of the incoming document were read again as a subclass. Their new fields may contain additional objects, so all
  /// entities must be visited again.
  private var hasRefined = false

  init(_ graph: MergeGraph, _ catalog: SchemaCatalog, rootStructure: ModelSchema?) {
    self.graph = graph
    self.catalog = catalog
    self.rootStructure = rootStructure
  }

  /// Returns the number of the entity (the group of matching objects) that an object is part of; `nil` for an object created after the
  /// matching.
  func entity(of number: Int) -> Int? { memberships[number]?.entity }

  /// Returns the number that represents an object in comparisons: its entity's number, or a unique number if the object has no entity.
  func canonical(_ number: Int) -> Int { memberships[number]?.entity ?? Int.min / 2 + number }

  /// Whether two values are equal. References are equal if they refer to objects of one entity.
  func areSame(_ left: ArchiveValue, _ right: ArchiveValue) -> Bool {
    left == right || left.isEqual(to: right, canonical)
  }

  func isMember(_ number: Int, of side: Side) -> Bool { (memberships[number]?.sides ?? 0) & side.bit != 0 }

  /// Returns the identity of an object; `nil` for an object without one.
  private func identity(of number: Int) throws -> Identity? {
    let schema = graph.schema(number)
    guard let identity = try graph.identity(of: graph.record(number), schema) else { return nil }
    return Identity(family: schema.superclasses.last?.name ?? schema.name, value: identity.value)
  }

  // MARK: Matching

  /// Matches the objects of the base, the local side and the server.
  ///
  /// - Parameters:
  ///   - root: the root of each side. The roots correspond to each other even if their identities differ.
  ///   - skippedKeys: returns the keys of fields whose server values are not matched.
  mutating func match(_ root: SideValues, skippedKeys: @escaping (ModelSchema) -> Set<String>) throws {
    self.skippedKeys = skippedKeys
    try addRoot(root)
    for (side, value) in zip(Side.allCases, [root.base, root.local, root.server]) {
      guard let value else { continue }
      try add(value, side)
    }
    pending = [root]
    var isRoot = true
    while let sides = pending.popLast() {
      try match(sides, isRoot: isRoot)
      isRoot = false
    }
    // Objects with an identity match regardless of their paths. Objects without an identity that are nested in matched objects match by
    // path.
    repeat {
      hasRefined = false
      for entity in entities.indices {
        try visit(entity)
        while let sides = pending.popLast() { try match(sides, isRoot: false) }
      }
    } while hasRefined
    // Sorts the server's objects in the order of the document, because they may have been matched in a different order. Objects of a
    // document have negative numbers, which descend in this order.
    for entity in entities.indices where entities[entity][.server].count > 1 {
      guard entities[entity][.server].allSatisfy({ $0 < 0 }) else { continue }
      entities[entity].members[Side.server.rawValue].sort(by: >)
    }
  }

  private mutating func addRoot(_ root: SideValues) throws {
    var hasRoot = false
    for (side, value) in zip(Side.allCases, [root.base, root.local, root.server]) {
      guard case .reference(let number)? = value else { continue }
      if !hasRoot { entities.append(Entity()) }
      hasRoot = true
      insert(number, side, into: 0)
      guard let identity = try identity(of: number) else { continue }
      entities[0].hasIdentity = true
      if !(identified[identity] ?? []).contains(0) { identified[identity, default: []].append(0) }
    }
  }

  /// Adds all objects that are reachable from the root of one side: the base, the local side or the server. An object joins the existing
  /// entity with the same identity, if there is one.
  private mutating func add(_ root: ArchiveValue, _ side: Side, of schema: ModelSchema? = nil) throws {
    let skippedKeys = skippedKeys
    var queue: [Int] = []
    var seen = Set<Int>()
    func visit(_ value: ArchiveValue, _ schema: ModelSchema?) {
      let skipped = side == .server ? schema.map(skippedKeys) ?? [] : []
      guard case .record(let record) = value, !skipped.isEmpty else {
        return value.forEachReference { if seen.insert($0).inserted { queue.append($0) } }
      }
      for (key, value) in zip(record.keys, record.values) where !skipped.contains(key) { visit(value, nil) }
    }
    visit(root, schema ?? rootStructure)
    var next = 0
    while next < queue.count {
      let number = queue[next]
      next += 1
      // If the local side and the server share an object, the object and all objects reachable from it are identical on both sides. Its
      // fields are therefore not visited.
      let isShared = side == .server && isMember(number, of: .local)
      try add(number, side)
      if isShared { continue }
      visit(.record(try graph.record(number)), graph.schema(number))
    }
  }

  private mutating func add(_ number: Int, _ side: Side) throws {
    // If several sides share an object, it was added to an entity for an earlier side and stays in that entity.
    if let known = memberships[number] { return insert(number, side, into: known.entity) }
    let entity = entities.count
    if let identity = try identity(of: number) {
      if let known = identified[identity]?.first(where: { isRelated(number, $0) }) {
        return insert(number, side, into: known)
      }
      identified[identity, default: []].append(entity)
      entities.append(Entity(hasIdentity: true))
    } else {
      entities.append(Entity())
    }
    insert(number, side, into: entity)
  }

  private mutating func insert(_ number: Int, _ side: Side, into entity: Int) {
    guard !isMember(number, of: side) else { return }
    memberships[number, default: Membership(entity: entity)].sides |= side.bit
    let type = graph.type(number)
    entities[entity].types[ObjectIdentifier(type)] = type
    entities[entity].members[side.rawValue].append(number)
  }

  /// Whether an object can be part of an entity. Its class must be the same as the class of each object in the entity, or one of the two
  /// classes must inherit from the other.
  private func isRelated(_ number: Int, _ entity: Int) -> Bool {
    let type = graph.type(number)
    return entities[entity].types.values.allSatisfy { $0 == type || type.isSubtype(of: $0) || $0.isSubtype(of: type) }
  }

  // MARK: Matching by path

  private mutating func match(_ sides: SideValues, isRoot: Bool) throws {
    let (base, local, server) = (sides.base, sides.local, sides.server)
    if let server {
      // A document may omit an object's identity. It then describes the object that the server had at this path before, which is the object
      // in the base. Below the root, the server's value is therefore matched with the base, and with the local value only if the base has
      // no object.
      if isRoot {
        try join(base, local, isRoot: true)
        try join(server, local, isRoot: true)
      } else if case .reference? = base {
        try join(server, base, isRoot: false, isRepeated: sides.isRepeated)
      } else {
        try join(server, local, isRoot: false, isRepeated: sides.isRepeated)
        if case .reference(let number) = server, let entity = entity(of: number), !entities[entity].hasIdentity {
          entities[entity].isChanged = entities[entity].isChanged || !sides.takesDefaults
          entities[entity].takesDefaults = !entities[entity].isChanged
        }
      }
    }
    try join(local, base, isRoot: isRoot)
    try inside(sides, isRoot: isRoot)
  }

  /// Combines the entities of two objects at the same path into one if the two can be the same object.
  private mutating func join(_ one: ArchiveValue?, _ other: ArchiveValue?, isRoot: Bool, isRepeated: Bool = false)
    throws
  {
    guard case .reference(let left)? = one, case .reference(let right)? = other, let first = entity(of: left),
      let second = entity(of: right)
    else { return }
    guard first != second else { return try visit(first) }
    if !isRoot {
      guard !(entities[first].hasIdentity && entities[second].hasIdentity), isRelated(left, second),
        try !differInConstants(left, right)
      else { return }
      for side in Side.allCases where !entities[first][side].isEmpty && !entities[second][side].isEmpty {
        // Two objects of one side are normally different objects, so their entities are not combined. The exception is the server's side,
        // because a document may describe the same object several times.
        guard side == .server, isRepeated || isPart(entities[first]) || isPart(entities[second]) else { return }
      }
    }
    // The smaller entity becomes a part of the larger one, so that fewer objects must be moved. The root's entity is always kept, because
    // its number must stay 0.
    let isFirstKept = first == 0 || second != 0 && entities[first].count >= entities[second].count
    try unite(isFirstKept ? first : second, with: isFirstKept ? second : first)
  }

  private mutating func unite(_ kept: Int, with moved: Int) throws {
    for side in Side.allCases {
      for number in entities[moved][side] { memberships[number]?.entity = kept }
      entities[kept].members[side.rawValue] += entities[moved][side]
    }
    entities[kept].types.merge(entities[moved].types) { known, _ in known }
    entities[kept].hasIdentity = entities[kept].hasIdentity || entities[moved].hasIdentity
    entities[moved] = Entity()
    try visit(kept)
  }

  /// Whether the server's objects in an entity come from the incoming document. Such objects have negative numbers.
  private func isPart(_ entity: Entity) -> Bool { entity[.server].first.map { $0 < 0 } ?? false }

  /// Matches the fields of an entity's objects if objects have been added to the entity since its last visit.
  mutating func visit(_ entity: Int) throws {
    let (members, visited) = (entities[entity].members, entities[entity].visited)
    let counts = members.map(\.count)
    guard counts != visited else { return }
    entities[entity].visited = counts
    guard counts.count(where: { $0 > 0 }) > 1 else { return }
    try refine(entity)
    // Pairs the objects of the sides by their index in `members`. A side with fewer objects is represented by its first object in the
    // remaining pairs. If a side had no objects at the last visit, all pairs are created again, because the first object of this side must
    // be paired with every object of the other sides.
    let isNew = zip(visited, counts).contains { $0 == 0 && $1 > 0 }
    let news = isNew ? [0..<(counts.max() ?? 0)] : zip(visited, counts).map { $0..<$1 }
    for index in news.joined() {
      func field(_ side: Side) throws -> ArchiveValue? {
        let numbers = members[side.rawValue]
        guard let number = numbers.indices.contains(index) ? numbers[index] : numbers.first else { return nil }
        return .record(try graph.record(number))
      }
      let isKnownHere = index > 0 && index >= counts[Side.base.rawValue] && index >= counts[Side.local.rawValue]
      pending.append(
        SideValues(
          base: try field(.base), local: try field(.local), server: try field(.server),
          isRepeated: counts[Side.server.rawValue] > 1, isKnownHere: isKnownHere,
          takesDefaults: entities[entity].takesDefaults))
    }
  }

  /// If the server's objects in an entity were read as a superclass, reads them again as the most specific class of the entity. The
  /// subclass declares additional fields.
  private mutating func refine(_ entity: Int) throws {
    guard entities[entity].types.count > 1,
      let type = entities[entity].types.values.max(by: { $0.schema.superclasses.count < $1.schema.superclasses.count })
    else { return }
    for number in entities[entity][.server] {
      guard let fields = try graph.refine(number, to: type) else { continue }
      hasRefined = true
      try add(.record(fields), .server, of: type.schema)
    }
  }

  /// Whether two objects have different values in a constant property. Constants never change, so such objects cannot be the same.
  private func differInConstants(_ left: Int, _ right: Int) throws -> Bool {
    let schema = graph.schema(left)
    guard schema.fields.contains(where: \.isConstant) else { return false }
    let (own, other) = (try graph.record(left), try graph.record(right))
    for field in schema.fields where field.isConstant {
      guard let one = own[field.key], let two = other[field.key], !one.hasReferences, !two.hasReferences else {
        continue
      }
      if one != two { return true }
    }
    return false
  }
}
