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
    /// Whether the server's object replaces an element of a local list. Absent keys of the object then take their defaults.
    fileprivate(set) var takesDefaults = false
    /// Whether the server's object also occurs in a place where it is merged into the local object instead of replacing it.
    fileprivate var isChanged = false
    /// The distinct types of the members.
    fileprivate var types: [ObjectIdentifier: any VersionedModel.Type] = [:]
    /// The number of members on each side when the entity's fields were last visited.
    fileprivate var visited = [0, 0, 0]

    subscript(side: Side) -> [Int] { members[side.rawValue] }

    /// The object that determines the class of a new object of this entity.
    var typeMember: Int? { self[.server].first { $0 >= 0 } ?? self[.server].first ?? self[.base].first }

    fileprivate var count: Int { members.reduce(0) { $0 + $1.count } }
  }

  /// The values at the same path on each side; `nil` for a side without a value there.
  struct SideValues {
    var base: ArchiveValue?
    var local: ArchiveValue?
    var server: ArchiveValue?
    /// Whether the server has several objects of the entity that contains the value.
    var isRepeated = false
    /// Whether the base and local values are already matched with each other.
    var isKnownHere = false
    /// Whether the server's value replaces the local one. Absent keys of the value then take their defaults.
    var takesDefaults = false
  }

  private struct Identity: Hashable {
    /// The name of the root class of the hierarchy.
    let family: String
    let value: ArchiveValue
  }

  /// The entity of an object, and the sides on which the object occurs.
  private struct Membership {
    var entity: Int
    /// A bit for each side on which the object occurs.
    var sides: UInt8 = 0
  }

  let graph: MergeGraph
  let catalog: SchemaCatalog
  private(set) var entities: [Entity] = []
  private var memberships: [Int: Membership] = [:]
  private var identified: [Identity: [Int]] = [:]
  /// Values at the same path on all sides that are still to be matched.
  var pending: [SideValues] = []
  /// The schema of a root that is not an object.
  private let rootStructure: ModelSchema?
  /// Returns the keys of a model's fields that are skipped when the server's values are matched.
  private var skippedKeys: (ModelSchema) -> Set<String> = { _ in [] }
  /// Whether parts of the document were read again as a subclass, which may have added objects.
  private var hasRefined = false

  init(_ graph: MergeGraph, _ catalog: SchemaCatalog, rootStructure: ModelSchema?) {
    self.graph = graph
    self.catalog = catalog
    self.rootStructure = rootStructure
  }

  /// The entity of an object; `nil` for an object that was created after the matching.
  func entity(of number: Int) -> Int? { memberships[number]?.entity }

  /// Returns the number that represents an object in comparisons: its entity's number, or a unique number if the object has no entity.
  func canonical(_ number: Int) -> Int { memberships[number]?.entity ?? Int.min / 2 + number }

  func isMember(_ number: Int, of side: Side) -> Bool { (memberships[number]?.sides ?? 0) & side.bit != 0 }

  /// Returns the identity of an object; `nil` for an object without one.
  private func identity(of number: Int) throws -> Identity? {
    let schema = graph.schema(number)
    guard let identity = try graph.identity(of: graph.record(number), schema) else { return nil }
    return Identity(family: schema.superclasses.last?.name ?? schema.name, value: identity.value)
  }

  // MARK: Matching

  /// Matches the objects of all sides.
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
    // Restores the document order of the parts, which may have been matched in a different order.
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

  /// Adds all objects that are reachable on one side. An object joins the existing entity with the same identity, if there is one.
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
      // An object that the local side and the server share is identical on both sides. So are all objects reachable from it.
      let isShared = side == .server && isMember(number, of: .local)
      try add(number, side)
      if isShared { continue }
      visit(.record(try graph.record(number)), graph.schema(number))
    }
  }

  private mutating func add(_ number: Int, _ side: Side) throws {
    // One object may be on several sides.
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

  /// Whether an object can belong to an entity. Its class must be the same as the class of each member, or one of the two classes must
  /// inherit from the other.
  private func isRelated(_ number: Int, _ entity: Int) -> Bool {
    let type = graph.type(number)
    return entities[entity].types.values.allSatisfy { $0 == type || type.isSubtype(of: $0) || $0.isSubtype(of: type) }
  }

  // MARK: By path

  private mutating func match(_ sides: SideValues, isRoot: Bool) throws {
    let (base, local, server) = (sides.base, sides.local, sides.server)
    if let server {
      // A document that lacks an object's identity describes the object that the server had at this path.
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

  /// Unites the entities of two objects at the same path, if they can be the same object.
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
        // Several parts of a document may describe one object.
        guard side == .server, isRepeated || isPart(entities[first]) || isPart(entities[second]) else { return }
      }
    }
    // The larger of the two entities is kept, except that the root's entity is always kept.
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

  /// Whether the server's objects in an entity are parts of a document.
  private func isPart(_ entity: Entity) -> Bool { entity[.server].first.map { $0 < 0 } ?? false }

  /// Matches the fields of an entity, if the entity has gained members since the last visit.
  mutating func visit(_ entity: Int) throws {
    let (members, visited) = (entities[entity].members, entities[entity].visited)
    let counts = members.map(\.count)
    guard counts != visited else { return }
    entities[entity].visited = counts
    guard counts.count(where: { $0 > 0 }) > 1 else { return }
    try refine(entity)
    // Pairs the members of the sides by index. If a side has fewer members, its first member is repeated. The first member that a side
    // gains is paired with all members of the other sides.
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

  /// Reads parts again if they were read as a superclass of the entity's class.
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

  /// Whether the objects differ in a constant. Constants never change, so such objects are not the same.
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
