/// The objects of a graph that is being read, by number.
package final class ObjectTable {
  package enum Entry {
    case object(any VersionedModel)
    /// The value of an object that is not decoded as a class. It is decoded again at each reference.
    ///
    /// If `isPlaced`, references to it are replaced by the value before models are decoded.
    case value(ArchiveValue, isPlaced: Bool)
  }

  /// A field that refers to an object which did not exist when the field was read.
  private struct Unfinished {
    let object: any VersionedModel
    let place: Int
    let value: ArchiveValue
  }

  // One decoding uses a table, and checking exclusivity at each reference would cost more than following it.
  @exclusivity(unchecked) private(set) var entries: [Entry] = []
  /// The number of the first object, in a body that contains other graphs before this one.
  let first: Int
  /// The final number of objects.
  private(set) var count: Int
  /// The numbers of the objects in the body.
  var numbers: Range<Int> { first..<first + count }
  private let types: [String: any VersionedModel.Type]
  @exclusivity(unchecked) private var lastShape: RecordShape?
  @exclusivity(unchecked) private var lastType: (any VersionedModel.Type)?
  /// Fields of the current object that refer to objects not yet decoded.
  @exclusivity(unchecked) private var waiting: [(place: Int, value: ArchiveValue)] = []
  @exclusivity(unchecked) private var unfinished: [Unfinished] = []
  /// The number of values in each entry that is not an object, and in all of them.
  @exclusivity(unchecked) private var sizes: [Int] = []
  @exclusivity(unchecked) private var totalSize = 0
  /// Extra substitute values for references. Set only if the code that fills the table knows the number of references.
  @exclusivity(unchecked) package var extraSubstitutes = 0
  /// The budget for substituted values, if values replace the references to them before models are decoded, so that steps
  /// and hooks find records where an archive of this library has them.
  @exclusivity(unchecked) package var placing: WorkBudget?
  /// The number of values that were substituted for references.
  @exclusivity(unchecked) private var expansions = 0
  /// The nesting of values that are decoded at references.
  @exclusivity(unchecked) private var depth = 0
  /// The nesting of the records that are being decoded, if ``placing`` is set. A value that replaces a reference counts when it
  /// is decoded.
  @exclusivity(unchecked) private var openRecords = 0

  package init(types: [String: any VersionedModel.Type], first: Int, count: Int) {
    self.types = types
    self.first = first
    self.count = count
  }

  /// Creates a table of existing objects, for decomposing and composing them.
  ///
  /// - Parameter adding: the number of objects created later that fields may refer to before.
  package init(_ referenced: ReferencedObjects, adding: Int = 0) {
    types = [:]
    first = 0
    entries = referenced.objects.map { .object($0) }
    count = entries.count + adding
    sizes = [Int](repeating: 0, count: entries.count)
  }

  /// Adds an existing object.
  func adopt(_ object: any VersionedModel) {
    entries.append(.object(object))
    sizes.append(0)
    count = max(count, entries.count)
  }

  deinit {
    // Removes entries from the last to the first. An object releases earlier objects, which are still retained here, so
    // that releasing a long list does not recurse.
    while entries.popLast() != nil {}
  }

  /// The class for records of a shape; `nil` if there is none.
  package func type(of shape: RecordShape) -> (any VersionedModel.Type)? {
    // Objects of one class often follow each other.
    if lastShape !== shape { (lastShape, lastType) = (shape, types[shape.typeName]) }
    return lastType
  }

  /// Adds an object, and records which of its fields wait for other objects.
  package func append(_ object: any VersionedModel) {
    entries.append(.object(object))
    sizes.append(0)
    for field in waiting { unfinished.append(Unfinished(object: object, place: field.place, value: field.value)) }
    waiting.removeAll(keepingCapacity: true)
  }

  /// - Parameter isPlaced: returns whether the value replaces references to it, given its size.
  package func append(_ value: ArchiveValue, isPlaced: (Int) -> Bool = { _ in false }) {
    let size = value.size
    sizes.append(size)
    totalSize += size
    entries.append(.value(value, isPlaced: isPlaced(size)))
    waiting.removeAll(keepingCapacity: true)
  }

  /// Defers a field of the current object.
  func wait(_ place: Int, _ value: ArchiveValue) { waiting.append((place, value)) }

  /// The object under a number, as a model.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the object has another type, and `damaged` with
  ///   ``Pending`` as its cause if it does not exist yet.
  package func object<T: Archivable>(_ number: Int, as type: T.Type, in context: DecodingContext) throws -> T {
    guard number >= 0, number < count else {
      throw ArchiveError(.damaged, "a reference names an object that does not exist")
    }
    guard number < entries.count else {
      throw ArchiveError(
        .damaged, "a reference names an object that is not decoded yet; only objects of classes may do so",
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

  /// Counts a record that is about to be decoded. Each call that does not throw needs its ``leaveRecord()``.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if values replace references and records nest too deeply.
  ///   Values in place come from many objects, so the reader of the file did not count their nesting.
  func enterRecord(in context: DecodingContext) throws {
    guard placing != nil else { return }
    guard openRecords < context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
    openRecords += 1
  }

  func leaveRecord() { if placing != nil { openRecords -= 1 } }

  /// Calls `body` with a value in which placed entries replace the references to them.
  ///
  /// - Parameter bound: the number of the value. A reference to this or a later number is part of a cycle, and stays.
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

  /// - Parameter room: the maximum number of levels of values. References further inside stay.
  private func placed(in value: ArchiveValue, below bound: Int, room: Int) throws -> ArchiveValue {
    func element(_ value: ArchiveValue) throws -> ArchiveValue {
      guard case .reference(let number) = value else {
        return value.holdsValues ? try placed(in: value, below: bound, room: room - 1) : value
      }
      guard number < bound, entries.indices.contains(number), case .value(let found, true) = entries[number] else {
        return value
      }
      try expand(sizes[number])
      // Checked once for each entry and not at each level, which would take time in proportion to the depth.
      return found.hasReferences ? try placed(in: found, below: number, room: room - 1) : found
    }
    guard room > 0 else { return value }
    switch value {
    // Members of a set and keys of a map stay references, because two models may be equal.
    case .set, .graph: return value
    case .map(let entries): return .map(try entries.map { .init(key: $0.key, value: try element($0.value)) })
    default: return try value.mapInside(element)
    }
  }

  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the object has another type.
  static func cast<M: VersionedModel, T>(_ object: M, to type: T.Type) throws -> T {
    // Most objects have exactly this type. A cast tries everything else first, and needs the metadata of the optional.
    if M.self == T.self { return unsafeBitCast(object, to: T.self) }
    guard let object = object as? T else {
      throw ArchiveError.mismatch(
        expected: "an object of \(TypeShape.archivable(T.self)?._archiveTypeName ?? "\(T.self)")",
        found: "an object of \(Swift.type(of: object).schema.name)")
    }
    return object
  }

  /// Counts values that are substituted for a reference.
  ///
  /// - Throws: ``ArchiveError`` with the code `limitExceeded` if shared values expand to many times the size of the
  ///   input. Each is substituted for every reference to it, which could grow exponentially.
  private func expand(_ size: Int) throws {
    if let placing { return try placing.spend(values: size) }
    expansions += size
    let limit = max(1 << 20, 16 * (totalSize + extraSubstitutes))
    guard expansions <= limit else {
      throw ArchiveError(
        .limitExceeded, "shared values expand to more than \(limit) values; make their type a class", limit: .count)
    }
  }

  /// Returns a value with references replaced by their objects, for untyped properties.
  ///
  /// A reference back to a containing object becomes null, and so does a reference to an object that does not exist yet.
  ///
  /// - Throws: the same errors as for a shared value that becomes a model.
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
  /// The maximum nesting of values in place, whatever the limits are, because each level needs a part of the stack.
  private static let deepestInPlace = 512

  /// The record of an object, with references replaced by the records of their objects.
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

  /// The error for a reference to an object that is created after the current one.
  struct Pending: Error {}

  /// Sets the deferred fields.
  package func setWaiting(in context: DecodingContext) throws {
    for field in unfinished { try Self.set(field.place, of: field.object, to: field.value, in: context) }
    unfinished.removeAll()
  }

  /// Finishes the objects, each after the objects that it refers to.
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
  /// Returns the value with references replaced. A set with references becomes an array, because the replacements may be equal.
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
