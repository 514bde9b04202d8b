/// The objects of a graph that is being read, by number.
package final class ObjectTable {
  package enum Entry {
    case object(any Model)
    /// What no class of this program stands for: it is made where a reference to it is read.
    case value(Value)
  }

  /// A field that refers to an object which did not exist when the field was read.
  private struct Unfinished {
    let object: any Model
    let place: Int
    let value: Value
  }

  private(set) var entries: [Entry] = []
  /// The number of the first object, in a body that holds other graphs before this one.
  let first: Int
  /// How many objects there will be.
  let count: Int
  private let types: [String: any Model.Type]
  /// The fields of the object that is being made which wait for others.
  private var waiting: [(place: Int, value: Value)] = []
  private var unfinished: [Unfinished] = []
  /// How often a value stood in for a reference, and how many do so inside each other.
  private var expansions = 0
  private var depth = 0

  package init(types: [String: any Model.Type], first: Int, count: Int) {
    self.types = types
    self.first = first
    self.count = count
  }

  /// A table of objects that exist, for taking them apart and putting them together.
  package init(_ neighbours: ObjectNeighbours) {
    types = [:]
    first = 0
    entries = neighbours.objects.map { .object($0) }
    count = entries.count
  }

  deinit {
    // From the last to the first: an object lets go of those before it, which are still held here, so that a long list
    // does not take the stack.
    while entries.popLast() != nil {}
  }

  func type(named name: String) -> (any Model.Type)? { types[name] }

  /// Adds an object, and remembers which of its fields wait for others.
  func append(_ object: any Model) {
    entries.append(.object(object))
    for field in waiting { unfinished.append(Unfinished(object: object, place: field.place, value: field.value)) }
    waiting.removeAll(keepingCapacity: true)
  }

  func append(_ value: Value) {
    entries.append(.value(value))
    waiting.removeAll(keepingCapacity: true)
  }

  /// Lets a field of the object that is being made wait.
  func wait(_ place: Int, _ value: Value) { waiting.append((place, value)) }

  /// The object under a number, as a model.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` where it is of another type, and `damaged`
  ///   over ``Pending`` where it does not exist yet.
  package func object<T: Archivable>(_ number: Int, as type: T.Type, in context: DecodingContext) throws -> T {
    guard number >= 0, number < count else {
      throw ArchiveError(.damaged, "a reference names an object that does not exist")
    }
    guard number < entries.count else {
      throw ArchiveError(
        .damaged, "a reference names an object that is not made yet; only objects of classes can wait for it",
        underlying: Pending())
    }
    switch entries[number] {
    case .object(let object):
      if let object = object as? T { return object }
      throw ArchiveError.mismatch(expected: "an object of \(T.self)", found: "an object of another type")
    case .value(let value):
      expansions += 1
      depth += 1
      defer { depth -= 1 }
      // Each value stands for every reference to it, which could multiply without end.
      guard depth <= context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
      guard expansions <= max(1 << 20, 16 * count) else {
        throw ArchiveError(
          .limitExceeded, "shared values are referred to more than \(expansions) times; make their type a class",
          limit: .count)
      }
      return try T.make(from: value, in: context)
    }
  }

  /// A value without references, for what is kept untyped: objects stand in their places.
  ///
  /// An object inside of itself is null there, and so is one that does not exist yet.
  func withoutReferences(_ value: Value, inside open: [Int] = []) -> Value {
    switch value {
    case .reference(let number):
      guard entries.indices.contains(number), !open.contains(number), open.count < 64 else { return .null }
      expansions += 1
      guard expansions <= max(1 << 20, 16 * count) else { return .null }
      switch entries[number] {
      case .value(let value): return withoutReferences(value, inside: open + [number])
      case .object(let object): return (try? object.record(includingExcluded: false)).map { .record($0) } ?? .null
      }
    case .array(let elements): return .array(elements.map { withoutReferences($0, inside: open) })
    case .set(let elements): return .array(elements.map { withoutReferences($0, inside: open) })
    case .object(let object):
      return .object(
        Object(
          uniqueEntries: object.entries.map { .init(key: $0.key, value: withoutReferences($0.value, inside: open)) }))
    case .map(let entries):
      return .map(
        entries.map { .init(key: $0.key, value: withoutReferences($0.value, inside: open)) })
    case .record(let record):
      return .record(
        Record(shape: record.shape, values: record.values.map { withoutReferences($0, inside: open) }))
    default: return value
    }
  }

  /// The object under a number is made after this one.
  struct Pending: Error {}

  /// Sets the fields that waited.
  func setWaiting(in context: DecodingContext) throws {
    for field in unfinished { try Self.set(field.place, of: field.object, to: field.value, in: context) }
    unfinished.removeAll()
  }

  /// Finishes the objects, each behind those that it refers to.
  ///
  /// - Parameter path: the way to an object, for the error.
  func finish(in context: DecodingContext, path: (any Model) -> [ArchiveError.PathComponent]) throws {
    for case .object(let object) in entries {
      do { try Self.finish(object, in: context) } catch {
        throw path(object).reversed().reduce(ArchiveError.wrap(error)) { ArchiveError.at($1, $0) }
      }
    }
  }

  private static func finish<M: Model>(_ object: M, in context: DecodingContext) throws {
    guard Swift.type(of: object).schema.finishesModels else { return }
    var object = object
    try M.finish(&object, in: context)
  }

  private static func set(
    _ place: Int, of object: some Model, to value: Value, in context: DecodingContext
  ) throws {
    var object = object
    var slots = [Value?](repeating: nil, count: place + 1)
    slots[place] = value
    var reader = ArchiveReader(slots: slots, unknownFields: UnknownFields(), context: context)
    let schema = Swift.type(of: object).schema
    do { try object.readField(place, from: &reader) } catch {
      throw ArchiveError.at(.key(schema.fields[place].key), error).inType(schema.name)
    }
  }
}
