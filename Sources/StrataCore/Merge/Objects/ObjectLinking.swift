/// Resolves the references in the result of a merge. A reference to an object of the server or of the base becomes a reference to the
/// corresponding local object, or to a new copy if there is no such object. The objects of the server and of the base stay unchanged, and
/// no local object refers to them.
struct ObjectLinking {
  /// A local object with its new fields.
  struct Update {
    let number: Int
    let before: ModelRecord
    var record: ModelRecord
  }

  /// An object that the merge creates, because it does not exist locally or because it replaces a local object.
  struct Addition {
    let entity: Int
    let type: any VersionedModel.Type
    var record: ModelRecord
  }

  private let graph: MergeGraph
  private let matching: ObjectMatching?
  private(set) var root: ArchiveValue
  private(set) var updates: [Update] = []
  /// The new objects in the order in which they are created. An object that a constant refers to precedes the constant's owner.
  private(set) var additions: [Addition] = []
  private var numbers: [Int: Int] = [:]
  /// The number of the first new object.
  private(set) var firstAddition: Int
  /// The new fields of local objects, by object number.
  private let fields: [Int: ModelRecord]
  /// The numbers of the entities (groups of matching objects) whose local objects are replaced with new ones.
  private let replaced: Set<Int>

  /// Resolves the references in a merged root and in the new fields of objects.
  ///
  /// - Parameters:
  ///   - root: the merged root.
  ///   - complete: returns all fields of a new object, given the number of its entity.
  init(
    _ graph: MergeGraph, _ matching: ObjectMatching?, root: ArchiveValue, updates: [Update], replaced: Set<Int> = [],
    complete: (Int) throws -> ModelRecord
  ) throws {
    self.graph = graph
    self.matching = matching
    self.replaced = replaced
    firstAddition = graph.referenced.objects.count
    self.root = root
    self.updates = updates
    fields = Dictionary(updates.map { ($0.number, $0.record) }, uniquingKeysWith: { $1 })
    guard let matching else { return }
    if !replaced.isEmpty { try relinkOthers(matching) }
    try findAdditions(complete)
    // Default values may have added objects to the graph, so the objects are counted only now.
    firstAddition = graph.referenced.objects.count
    try sortAdditions()
    for (place, addition) in additions.enumerated() { numbers[addition.entity] = firstAddition + place }
    self.root = try linked(root)
    for place in self.updates.indices {
      self.updates[place].record.values = try self.updates[place].record.values.map(linked)
    }
    for place in additions.indices { additions[place].record.values = try additions[place].record.values.map(linked) }
  }

  /// Returns the value with its references resolved to local or new objects.
  func linked(_ value: ArchiveValue) throws -> ArchiveValue {
    guard value.hasReferences else { return value }
    return try value.mapReferences { number in
      switch try linkTarget(of: number) {
      case .local(let local): .reference(local)
      case .new(let entity): numbers[entity].map { .reference($0) } ?? .null
      }
    }
  }

  /// Returns the number of the object that the merge creates for an entity; `nil` if it creates none.
  func number(of entity: Int) -> Int? { numbers[entity] }

  /// Whether an object existed locally before the merge.
  func isLocal(_ number: Int) -> Bool { number < firstAddition }

  func entity(of number: Int) -> Int? { matching?.entity(of: number) }

  /// Returns the same number for all objects of one entity, so that matching objects compare as equal.
  func canonical(_ number: Int) -> Int { matching?.canonical(number) ?? number }

  private enum LinkTarget {
    case local(Int)
    case new(Int)
  }

  private func linkTarget(of number: Int) throws -> LinkTarget {
    // An object without an entity was created after the matching, by a model's own code.
    guard let matching, let entity = matching.entity(of: number) else { return .local(number) }
    let locals = matching.entities[entity][.local]
    guard let first = locals.first, !replaced.contains(entity) else { return .new(entity) }
    guard number != first, matching.isMember(number, of: .local) else { return .local(first) }
    // If an entity has two local objects, references to the second resolve to the first only if both have the same fields.
    return .local(try hasSameFields(number, first) ? first : number)
  }

  private func hasSameFields(_ one: Int, _ other: Int) throws -> Bool {
    guard let matching else { return false }
    let left = try fields[one] ?? graph.record(one), right = try fields[other] ?? graph.record(other)
    return ArchiveValue.record(left).isEqual(to: .record(right)) { matching.canonical($0) }
  }

  /// Adds updates for objects in which the only change is a reference to a replaced object.
  private mutating func relinkOthers(_ matching: ObjectMatching) throws {
    let updated = Set(updates.map(\.number))
    func isReplaced(_ number: Int) -> Bool { matching.entity(of: number).map(replaced.contains) ?? false }
    for number in graph.referenced.objects.indices where matching.isMember(number, of: .local) {
      guard !updated.contains(number), !isReplaced(number) else { continue }
      let record = try graph.record(number)
      guard ArchiveValue.record(record).references.contains(where: isReplaced) else { continue }
      updates.append(Update(number: number, before: record, record: record))
    }
  }

  // MARK: New objects

  private mutating func findAdditions(_ complete: (Int) throws -> ModelRecord) throws {
    var found = Set<Int>()
    var waiting: [Int] = []
    func visit(_ value: ArchiveValue) throws {
      try value.forEachReference { number in
        if case .new(let entity) = try linkTarget(of: number), found.insert(entity).inserted { waiting.append(entity) }
      }
    }
    try visit(root)
    for update in updates { for value in update.record.values { try visit(value) } }
    var next = 0
    while next < waiting.count, let matching {
      let entity = waiting[next]
      next += 1
      let record = try complete(entity)
      guard let number = matching.entities[entity].typeMember else { continue }
      additions.append(Addition(entity: entity, type: graph.type(number), record: record))
      for value in record.values { try visit(value) }
    }
  }

  /// Sorts the new objects so that each object follows those that its constants refer to. A constant is set when its object is created, but
  /// other fields can be set later.
  private mutating func sortAdditions() throws {
    guard additions.contains(where: { $0.type.schema.fields.contains(where: \.isConstant) }) else { return }
    let places = Dictionary(additions.enumerated().map { ($1.entity, $0) }, uniquingKeysWith: { first, _ in first })
    func needs(_ place: Int) throws -> [Int] {
      var result: [Int] = []
      for field in additions[place].type.schema.fields where field.isConstant {
        try additions[place].record[field.key]?.forEachReference { number in
          if case .new(let entity) = try linkTarget(of: number), let other = places[entity] { result.append(other) }
        }
      }
      return result
    }
    additions = try Postorder.numbers(from: Array(additions.indices), needs).map { additions[$0] }
  }
}
