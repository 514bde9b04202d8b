/// The objects of the graph being read. The index of an object in the table is its number in the graph.
package final class ObjectTable {
  package enum Entry {
    case object(any VersionedModel)
    /// A graph entry that is not a class instance, such as a struct. The untyped value is decoded again for each reference to the entry.
    ///
    /// If `isPlaced` is true, references to the entry are replaced with copies of the value before models are decoded.
    case value(ArchiveValue, isPlaced: Bool)
  }

  /// A deferred field of an existing object. The field refers to an object that is not decoded yet. It is set once all objects exist.
  private struct Unfinished {
    let object: any VersionedModel
    let place: Int
    let value: ArchiveValue
  }

  // Swift's exclusive access check is disabled for the table's variables, because only one decoding uses a table, and the check would cost
  // more than following a reference.
  @exclusivity(unchecked) private(set) var entries: [Entry] = []
  /// The object number of this graph's first object. It is greater than 0 if the body contains earlier graphs, because objects are numbered
  /// across all graphs of a body.
  let first: Int
  /// The number of objects that the table will contain once the whole graph has been read.
  private(set) var count: Int
  /// The numbers of this graph's objects, counted from the start of the body.
  var numbers: Range<Int> { first..<first + count }
  private let types: [String: any VersionedModel.Type]
  @exclusivity(unchecked) private var lastShape: RecordShape?
  @exclusivity(unchecked) private var lastType: (any VersionedModel.Type)?
  /// The deferred fields of the object being decoded, which refer to objects not yet decoded. Each field has its index in the schema and
  /// its untyped value.
  @exclusivity(unchecked) private var waiting: [(place: Int, value: ArchiveValue)] = []
  @exclusivity(unchecked) private var unfinished: [Unfinished] = []
  /// The number of values that each entry contains; 0 for a class instance. `totalSize` is the sum.
  @exclusivity(unchecked) private var sizes: [Int] = []
  @exclusivity(unchecked) private var totalSize = 0
  /// A number that raises the limit on substituted values: the limit is computed from the sum of this number and `totalSize`. Set only by
  /// code that knows the number of references in advance.
  @exclusivity(unchecked) package var extraSubstitutes = 0
  /// The budget for values that replace references. If it is set, references are replaced before models are decoded, so that migration
  /// steps and hooks find nested records where a Strata archive has them. If it is `nil`, no references are replaced in advance.
  @exclusivity(unchecked) package var placing: WorkBudget?
  /// The number of values that have been substituted for references so far. It is limited, because it can grow exponentially with the size
  /// of the input.
  @exclusivity(unchecked) private var expansions = 0
  /// The current nesting depth of references that are being resolved. Its limit is the depth limit of archives.
  @exclusivity(unchecked) private var depth = 0
  /// The current nesting depth of records that are being decoded. Counted only if ``placing`` is set.
  @exclusivity(unchecked) private var openRecords = 0

  package init(types: [String: any VersionedModel.Type], first: Int, count: Int) {
    self.types = types
    self.first = first
    self.count = count
  }

  /// Creates a table of existing objects. A record that was decomposed from an object refers to them by number.
  ///
  /// - Parameter adding: the number of objects that are created later. Fields may already refer to these objects.
  package init(_ referenced: ReferencedObjects, adding: Int = 0) {
    types = [:]
    first = 0
    entries = referenced.objects.map { .object($0) }
    count = entries.count + adding
    sizes = [Int](repeating: 0, count: entries.count)
  }

  func adopt(_ object: any VersionedModel) {
    entries.append(.object(object))
    sizes.append(0)
    count = max(count, entries.count)
  }

  deinit {
    // The entries are removed from last to first. An object can then release only earlier objects, which the table still retains, so
    // releasing a long list does not recurse.
    while entries.popLast() != nil {}
  }

  /// Returns the class for the type name in a record shape; `nil` if no class that the graph may contain has this name.
  package func type(of shape: RecordShape) -> (any VersionedModel.Type)? {
    // The most recent result is cached, because consecutive objects often have the same class.
    if lastShape !== shape { (lastShape, lastType) = (shape, types[shape.typeName]) }
    return lastType
  }

  /// Adds an object. If some of its fields refer to objects not yet decoded, these fields are set later, in ``setWaiting(in:)``.
  package func append(_ object: any VersionedModel) {
    entries.append(.object(object))
    sizes.append(0)
    for field in waiting { unfinished.append(Unfinished(object: object, place: field.place, value: field.value)) }
    waiting.removeAll(keepingCapacity: true)
  }

  /// Adds an entry that is not a class instance, as an untyped value.
  ///
  /// - Parameter isPlaced: called with the number of values in `value`. Returns whether references to the entry are replaced with copies of
  ///   the value before models are decoded.
  package func append(_ value: ArchiveValue, isPlaced: (Int) -> Bool = { _ in false }) {
    let size = value.size
    sizes.append(size)
    totalSize += size
    entries.append(.value(value, isPlaced: isPlaced(size)))
    waiting.removeAll(keepingCapacity: true)
  }

  /// Defers setting a field of the current object until all objects are decoded.
  func wait(_ place: Int, _ value: ArchiveValue) { waiting.append((place, value)) }

  /// Returns the object with the given number as a value of the given type.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the object has a different type. If the object does not exist yet, the code
  ///   is `damaged` and the underlying error is ``Pending``.
  package func object<T: Archivable>(_ number: Int, as type: T.Type, in context: DecodingContext) throws -> T {
    guard number >= 0, number < count else {
      throw ArchiveError(.damaged, "a reference names an object that does not exist")
    }
    guard number < entries.count else {
      throw ArchiveError(
        .damaged,
        "a reference names an object that is not decoded yet; only instances of classes may refer to later objects",
        underlying: Pending())
    }
    switch entries[number] {
    case .object(let object):
      return try Self.cast(object, to: T.self)
    case .value(let value, _):
      try expand(sizes[number])
      return try place(value, below: number, in: context) { try T.decode(from: $0, in: context) }
    }
  }

  /// Counts a record that is about to be decoded. Each call that does not throw must be balanced by a call to
  /// ``leaveRecord()``.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if values replace references and the records are nested
  ///   too deeply. The reader of the file did not check this depth, because the nested values come from separate
  ///   objects.
  func enterRecord(in context: DecodingContext) throws {
    guard placing != nil else { return }
    guard openRecords < context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
    openRecords += 1
  }

  func leaveRecord() { if placing != nil { openRecords -= 1 } }

  /// Calls `body` with a copy of `value` in which references are replaced, and returns the result of `body`. A reference is replaced with
  /// the value of its entry if the entry's `isPlaced` is true.
  ///
  /// - Parameter bound: the object number of `value`. References to this or a higher number are not replaced, because they may be part of a
  ///   cycle.
  package func place<R>(
    _ value: ArchiveValue, below bound: Int = .max, in context: DecodingContext, _ body: (ArchiveValue) throws -> R
  ) throws -> R {
    depth += 1
    defer { depth -= 1 }
    guard depth <= context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
    guard placing != nil, value.hasReferences else { return try body(value) }
    let deepest = min(context.limits.depth, Self.deepestInPlace)
    return try body(placed(in: value, below: bound, room: deepest - openRecords - 1))
  }

  /// - Parameter room: the number of nested levels in which references are replaced. References at a greater depth are kept.
  private func placed(in value: ArchiveValue, below bound: Int, room: Int) throws -> ArchiveValue {
    func element(_ value: ArchiveValue) throws -> ArchiveValue {
      guard case .reference(let number) = value else {
        return value.holdsValues ? try placed(in: value, below: bound, room: room - 1) : value
      }
      guard number < bound, entries.indices.contains(number), case .value(let found, true) = entries[number] else {
        return value
      }
      try expand(sizes[number])
      // `hasReferences` searches a whole value, so it is called once for each entry. If it were called at each nesting level, it would
      // search the inner levels repeatedly.
      return found.hasReferences ? try placed(in: found, below: number, room: room - 1) : found
    }
    guard room > 0 else { return value }
    switch value {
    // References in sets and in map keys are not replaced. Different references can have equal replacements, but the elements of a set and
    // the keys of a map must be unique.
    case .set, .graph: return value
    case .map(let entries): return .map(try entries.map { .init(key: $0.key, value: try element($0.value)) })
    default: return try value.mapInside(element)
    }
  }

  /// Casts an object to the given type.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the object has a different type.
  static func cast<M: VersionedModel, T>(_ object: M, to type: T.Type) throws -> T {
    // Fast path: most objects have exactly the given type. A dynamic cast would be slower, because it needs the generic metadata of the
    // optional `T?`.
    if M.self == T.self { return unsafeBitCast(object, to: T.self) }
    guard let object = object as? T else {
      throw ArchiveError.mismatch(
        expected: "an object of \(TypeShape.archivable(T.self)?._archiveTypeName ?? "\(T.self)")",
        found: "an object of \(Swift.type(of: object).schema.name)")
    }
    return object
  }

  /// Counts the values that are about to be substituted for a reference.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if shared values expand to many times the size of the
  ///   input. The size could grow exponentially, because each value is substituted for every reference to it.
  private func expand(_ size: Int) throws {
    if let placing { return try placing.spend(values: size) }
    expansions += size
    let limit = max(1 << 20, 16 * (totalSize + extraSubstitutes))
    guard expansions <= limit else {
      throw ArchiveError(
        .limitExceeded,
        "shared values expand to more than \(limit) values; make the type of the shared values a class", limit: .count)
    }
  }

  /// Returns a copy of an untyped property's value in which each reference is replaced with the contents of its object.
  ///
  /// A reference becomes null if it refers to an enclosing object or to an object that does not exist yet, or if references are nested more
  /// than 64 levels deep.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if shared values expand too much, and any error that
  ///   encoding an object throws.
  func withoutReferences(_ value: ArchiveValue) throws -> ArchiveValue { try withoutReferences(value, inside: []) }

  private func withoutReferences(_ value: ArchiveValue, inside open: [Int]) throws -> ArchiveValue {
    try value.replacingReferences { number in
      guard entries.indices.contains(number), !open.contains(number), open.count < Self.deepest else { return .null }
      switch entries[number] {
      case .value(let value, _):
        try expand(sizes[number])
        return try withoutReferences(value, inside: open + [number])
      case .object(let object): return try record(of: object, inside: [], open.count)
      }
    }
  }

  private static let deepest = 64
  /// The maximum nesting depth of values that replace references, even if the configured depth limit is higher. Each level uses stack
  /// space, so the depth must be bounded.
  private static let deepestInPlace = 512

  /// Returns the record of an object. Each reference in it is replaced with the record of the referenced object.
  private func record(of object: any VersionedModel, inside open: [ObjectIdentifier], _ depth: Int) throws
    -> ArchiveValue
  {
    guard !open.contains(object.identity), depth < Self.deepest else { return .null }
    let referenced = ReferencedObjects()
    let value = ArchiveValue.record(try object.record(includingExcluded: false, role: .referenced(referenced)))
    try expand(value.size)
    return try value.replacingReferences {
      try self.record(of: referenced.objects[$0], inside: open + [object.identity], depth + 1)
    }
  }

  /// The underlying error of an `ArchiveError` that is thrown for a reference to an object that has not been created yet. The reader defers
  /// the field.
  struct Pending: Error {}

  /// Sets the fields that were deferred until all objects existed.
  package func setWaiting(in context: DecodingContext) throws {
    for field in unfinished { try Self.set(field.place, of: field.object, to: field.value, in: context) }
    unfinished.removeAll()
  }

  /// Runs the hooks and the validation rules of all objects. Except in cycles, each object comes after the objects it refers to.
  ///
  /// - Parameter path: returns the path to an object, for errors.
  package func finish(in context: DecodingContext, path: (any VersionedModel) -> [ArchiveError.PathComponent]) throws {
    for case .object(let object) in entries {
      do { try Self.finish(object, in: context) } catch {
        throw path(object).reversed().reduce(ArchiveError.wrap(error)) { ArchiveError.at($1, $0) }
      }
    }
  }

  private static func finish<M: VersionedModel>(_ object: M, in context: DecodingContext) throws {
    guard Swift.type(of: object).schema.finishesModels else { return }
    var object = object
    try M.finish(&object, in: context)
  }

  private static func set(
    _ place: Int, of object: some VersionedModel, to value: ArchiveValue, in context: DecodingContext
  ) throws {
    var object = object
    var slots = [ArchiveValue?](repeating: nil, count: place + 1)
    slots[place] = value
    var reader = ArchiveReader(.slots(slots), unknownFields: UnknownFields(), context: context)
    let schema = Swift.type(of: object).schema
    do { try object.readField(place, from: &reader) } catch {
      throw ArchiveError.at(.key(schema.fields[place].key), error).inType(schema.name)
    }
  }
}

extension ArchiveValue {
  /// Returns a copy in which each reference is replaced with the result of `replace`. A set that contains references becomes an array,
  /// because two references may get equal replacements, and a set must not contain duplicates.
  fileprivate func replacingReferences(_ replace: (Int) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .reference(let number): try replace(number)
    case .set(let elements) where elements.contains(where: \.hasReferences):
      .array(try elements.map { try $0.replacingReferences(replace) })
    case .graph: self
    default: try mapInside { try $0.replacingReferences(replace) }
    }
  }
}
