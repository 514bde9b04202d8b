/// The objects of all sides of a merge, each under a number: those that exist from 0 up, those that came in as parts of a
/// document from -1 down.
///
/// Fields are taken once, before anything changes.
final class MergeGraph {
  /// An object of which a document says something: it may lack any key.
  struct Part {
    var record: Record
    let type: any Model.Type
  }

  let neighbours = ObjectNeighbours()
  private(set) var parts: [Part] = []
  private var records: [Record?] = []
  private var knownTable: ObjectTable?

  /// Whether there are any objects.
  var isEmpty: Bool { neighbours.objects.isEmpty && parts.isEmpty }

  /// The fields of an object.
  func record(_ number: Int) throws -> Record {
    guard number >= 0 else { return parts[-1 - number].record }
    if records.count <= number {
      records.append(contentsOf: repeatElement(nil, count: neighbours.objects.count - records.count))
    }
    if let known = records[number] { return known }
    let record = try neighbours.objects[number].shallowRecord(neighbours)
    records[number] = record
    return record
  }

  func type(_ number: Int) -> any Model.Type {
    number >= 0 ? Swift.type(of: neighbours.objects[number]) : parts[-1 - number].type
  }

  func schema(_ number: Int) -> ModelSchema { type(number).schema }

  /// Adds an object of which a document says something.
  func add(_ record: Record, of type: any Model.Type) -> Int {
    parts.append(Part(record: record, type: type))
    return -parts.count
  }

  /// Sets what a document says about an object that was added before.
  func set(_ record: Record, of number: Int) { parts[-1 - number].record = record }

  /// The objects that exist, for making models whose fields refer to them.
  var table: ObjectTable {
    let table = knownTable ?? ObjectTable(neighbours, adding: 0)
    for object in neighbours.objects[table.entries.count...] { table.adopt(object) }
    knownTable = table
    return table
  }

  /// Makes a model of fields that refer to objects which exist.
  func make<M: Model>(_ type: M.Type, _ record: Record, in context: DecodingContext) throws -> M {
    context.objects = table
    if M.schema.isEnumeration { return try M.make(from: record, in: context) }
    let slots = M.schema.allKeys.map { record[$0] }
    let unknown = M.schema.keepsUnknownFields ? M.schema.unknownFields(of: record) : UnknownFields()
    return try M.make(slots: slots, unknownFields: unknown, in: context)
  }
}

extension Value {
  /// The numbers of the objects that a value refers to, in its order, each as often as it does.
  func forEachReference(_ body: (Int) -> Void) {
    switch self {
    case .reference(let number): body(number)
    case .array(let elements), .set(let elements): for element in elements { element.forEachReference(body) }
    case .object(let object): for entry in object.entries { entry.value.forEachReference(body) }
    case .map(let entries):
      for entry in entries {
        entry.key.forEachReference(body)
        entry.value.forEachReference(body)
      }
    case .record(let record): for value in record.values { value.forEachReference(body) }
    default: break
    }
  }

  /// The value with another one in place of each reference; sets stay sets.
  func mapReferences(_ replacement: (Int) throws -> Value) rethrows -> Value {
    switch self {
    case .reference(let number): return try replacement(number)
    case .array(let elements): return .array(try elements.map { try $0.mapReferences(replacement) })
    case .set(let elements): return .set(try elements.map { try $0.mapReferences(replacement) })
    case .object(let object):
      return .object(
        Object(
          uniqueEntries: try object.entries.map {
            .init(key: $0.key, value: try $0.value.mapReferences(replacement))
          }))
    case .map(let entries):
      return .map(
        try entries.map {
          .init(key: try $0.key.mapReferences(replacement), value: try $0.value.mapReferences(replacement))
        })
    case .record(let record):
      return .record(
        Record(shape: record.shape, values: try record.values.map { try $0.mapReferences(replacement) }))
    default: return self
    }
  }
}
