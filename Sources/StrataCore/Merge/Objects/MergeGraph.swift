/// The objects of all sides of a merge, each under a number: those that exist from 0 up, those that came in as parts
/// of a document from -1 down.
///
/// Fields are taken once, before anything changes.
final class MergeGraph {
  /// An object of which a document says something: it may lack any key.
  struct Part {
    var record: ModelRecord
    var type: any VersionedModel.Type
    /// Reads what the document says about the fields of a subclass as well; `nil` for an object that came in as a model.
    var refine: Refinement?
  }

  /// The fields of an object in one of the subclasses of the class that it was read for.
  typealias Refinement = (_ subclass: any VersionedModel.Type, _ known: ModelRecord) throws -> ModelRecord

  /// What a document says about an object cannot be read for the class that the object has.
  struct Unreadable: Error {
    let reason: ArchiveError
  }

  let referenced = ReferencedObjects()
  private(set) var parts: [Part] = []
  private var records: [ModelRecord?] = []
  private var knownTable: ObjectTable?
  private var unknownCases: [ObjectIdentifier: (shape: RecordShape, keys: [String])] = [:]
  /// How the document was read; `nil` for a source that is no JSON.
  private(set) var reading: JSONReading?
  /// The value that the JSON mapping gives an absent field; `nil` if it gives none.
  private(set) var missingValue: ((ModelSchema, Int) throws -> ArchiveValue?)?
  private var readIdentities: [ObjectIdentifier: IdentityKey?] = [:]

  /// Whether there are any objects.
  var isEmpty: Bool { referenced.objects.isEmpty && parts.isEmpty }

  /// Notes that the source is a JSON document.
  func setReading(_ reading: JSONReading, missingValue: @escaping (ModelSchema, Int) throws -> ArchiveValue?) {
    self.reading = reading
    self.missingValue = missingValue
  }

  /// The key by which models of a type are identified; `nil` where there is none, and where it is not in the document.
  func identityKey(of schema: ModelSchema) -> IdentityKey? {
    guard let reading, let key = schema.identityKey else { return schema.identityKey }
    if let known = readIdentities[ObjectIdentifier(schema)] { return known }
    let plan = reading.plan(of: schema)
    let isRead = schema.mergeTraits.identityPlaces.allSatisfy { plan.entries[$0].json.isRead }
    readIdentities[ObjectIdentifier(schema)] = .some(isRead ? key : nil)
    return isRead ? key : nil
  }

  /// What tells a model from others of its type, and its key; `nil` where it has nothing that does.
  func identity(of record: ModelRecord, _ schema: ModelSchema) -> (key: IdentityKey, value: ArchiveValue)? {
    guard let key = identityKey(of: schema), let value = record[key], !value.isNull else { return nil }
    return (key, value)
  }

  /// Keeps which keys records of a shape lack since this program does not know the cases that came in.
  func noteUnknownCases(of shape: RecordShape, _ keys: [String]) {
    if !keys.isEmpty { unknownCases[ObjectIdentifier(shape)] = (shape, keys) }
  }

  /// The keys that a record lacks since this program does not know the cases that came in.
  func unknownCases(of record: ModelRecord) -> [String] {
    unknownCases.isEmpty ? [] : unknownCases[ObjectIdentifier(record.shape)]?.keys ?? []
  }

  /// The fields of an object.
  func record(_ number: Int) throws -> ModelRecord {
    guard number >= 0 else { return parts[-1 - number].record }
    if records.count <= number {
      records.append(contentsOf: repeatElement(nil, count: referenced.objects.count - records.count))
    }
    if let known = records[number] { return known }
    let record = try referenced.objects[number].shallowRecord(referenced)
    records[number] = record
    return record
  }

  func type(_ number: Int) -> any VersionedModel.Type {
    number >= 0 ? Swift.type(of: referenced.objects[number]) : parts[-1 - number].type
  }

  func schema(_ number: Int) -> ModelSchema { type(number).schema }

  /// The schema of a model or of the object that a reference names; `nil` for anything else.
  func schema(of value: ArchiveValue, in catalog: SchemaCatalog) -> ModelSchema? {
    switch value {
    case .reference(let number): schema(number)
    case .record(let record): catalog[record.typeName]
    default: nil
    }
  }

  /// The key that tells the elements of a field's array apart: what its policy names, else what the type of one of them
  /// is identified by.
  func listKey(_ typeName: String, _ key: String, _ element: ArchiveValue, in catalog: SchemaCatalog) -> IdentityKey? {
    let field = catalog[typeName]?.mergeTraits.fields[ExactKey(key)]
    if case .byID(let key, _)? = field?.merge.leading.rule { return key }
    return schema(of: element, in: catalog).flatMap(identityKey)
  }

  /// The value of a model or a list: references to objects, and records of values.
  func value(of model: some Archivable) throws -> ArchiveValue {
    try model.archivedValue(includingExcluded: true, role: .referenced(referenced))
  }

  /// The fields of a model or of the object that a reference names; `nil` for anything else.
  func fields(of value: ArchiveValue) throws -> ModelRecord? { try opened(value).recordValue }

  /// The fields of what a reference names; any other value as it is.
  func opened(_ value: ArchiveValue) throws -> ArchiveValue { try value.opened(record) }

  /// A value as a report holds it: objects stand in it as records, one level deep, and further ones as records of no
  /// more than what tells them apart.
  func shown(_ value: ArchiveValue, _ record: (Int) throws -> ModelRecord) throws -> ArchiveValue {
    try value.mapReferences { number in
      try ArchiveValue.record(record(number)).mapReferences { inner in
        let schema = schema(inner)
        let fields = try record(inner)
        let keys = identity(of: fields, schema)?.key.keys ?? []
        return .record(
          ModelRecord(
            typeName: schema.name, modelVersion: schema.modelVersion, fields: keys.map { ($0, fields[$0] ?? .null) }))
      }
    }
  }

  /// Adds an object of which a document says something.
  ///
  /// - Parameter refine: reads more of it where the object turns out to be of a subclass.
  func add(_ record: ModelRecord, of type: any VersionedModel.Type, refine: Refinement? = nil) -> Int {
    parts.append(Part(record: record, type: type, refine: refine))
    return -parts.count
  }

  /// Reads what a document says about an object once more, where it is of a subclass of what the document was read for.
  ///
  /// - Returns: the fields that only the subclass has; `nil` where nothing was read.
  func refine(_ number: Int, to type: any VersionedModel.Type) throws -> ModelRecord? {
    guard number < 0, let refine = parts[-1 - number].refine else { return nil }
    let known = parts[-1 - number]
    guard known.type != type, type.isSubtype(of: known.type) else { return nil }
    let record: ModelRecord
    do { record = try refine(type, known.record) } catch { throw Unreadable(reason: ArchiveError.wrap(error)) }
    parts[-1 - number] = Part(record: record, type: type, refine: refine)
    let inherited = Set(known.type.schema.allKeys)
    let own = zip(record.keys, record.values).filter { !inherited.contains($0.0) }
    return ModelRecord(typeName: record.typeName, modelVersion: record.shape.modelVersion, fields: own.map { ($0, $1) })
  }

  /// Sets what a document says about an object that was added before.
  func setPart(_ record: ModelRecord, of number: Int) { parts[-1 - number].record = record }

  /// Makes objects of fields that may refer to each other, with numbers that follow those of the objects which exist.
  ///
  /// Fields that lead to an object which is made later, as those of a cycle do, wait for it.
  func makeObjects(
    _ objects: [(type: any VersionedModel.Type, record: ModelRecord)],
    failure: (any Error, ModelSchema) -> any Error = { error, _ in error }
  ) throws {
    let table = ObjectTable(referenced, adding: objects.count)
    let context = DecodingContext.unfinishedMerge
    context.objects = table
    var made: [any VersionedModel] = []
    for (type, record) in objects {
      do { made.append(try make(type, record, in: context, table, isObjectFrame: true)) } catch {
        throw failure(error, type.schema)
      }
      table.append(made[made.count - 1])
    }
    try table.setWaiting(in: context)
    for object in made { _ = referenced.number(of: object) }
  }

  /// The objects that exist, for making models whose fields refer to them.
  var table: ObjectTable {
    let table = knownTable ?? ObjectTable(referenced)
    for object in referenced.objects[table.entries.count...] { table.adopt(object) }
    knownTable = table
    return table
  }

  /// Makes a model of fields that refer to objects which exist.
  ///
  /// - Parameters:
  ///   - objects: the objects that references name, unless they are those of this graph.
  ///   - isObjectFrame: whether fields may refer to objects that are made later.
  func make<M: VersionedModel>(
    _ type: M.Type, _ record: ModelRecord, in context: DecodingContext, _ objects: ObjectTable? = nil,
    isObjectFrame: Bool = false
  ) throws -> M {
    context.objects = objects ?? table
    if M.schema.isEnumeration { return try M.make(from: record, in: context) }
    let slots = M.schema.allKeys.map { record[$0] }
    let unknown = M.schema.keepsUnknownFields ? M.schema.unknownFields(of: record) : UnknownFields()
    return try M.make(.slots(slots), unknownFields: unknown, in: context, isObjectFrame: isObjectFrame)
  }

  /// Gives an object that exists other fields.
  func set(_ record: ModelRecord, of number: Int, in context: DecodingContext) throws {
    func set<M: VersionedModel>(_ object: M) throws {
      var object = object
      try object.adoptFields(of: make(M.self, record, in: context))
    }
    try set(referenced.objects[number].dynamicModel)
  }
}

extension ArchiveValue {
  /// The fields of what a reference names; any other value as it is.
  ///
  /// - Parameter record: the fields of an object.
  func opened(_ record: (Int) throws -> ModelRecord) rethrows -> ArchiveValue {
    if case .reference(let number) = self { .record(try record(number)) } else { self }
  }

  /// The value with another one in place of each outermost record. Keys of maps, which are identified by all that they
  /// have, stay.
  func mapRecords(_ replacement: (ModelRecord) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .record(let record): try replacement(record)
    case .array, .set, .object: try mapInside { try $0.mapRecords(replacement) }
    case .map(let entries): .map(try entries.map { .init(key: $0.key, value: try $0.value.mapRecords(replacement)) })
    default: self
    }
  }

  /// What is under the keys of a dictionary; nothing for anything else.
  var mapLookup: [SameValue: ArchiveValue] {
    Dictionary((mapEntries ?? []).map { (SameValue($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The pairs of an array of pairs, which a dictionary with an order is; `nil` for anything else.
  var pairs: [MapEntry]? {
    guard case .array(let elements) = self else { return nil }
    let pairs = elements.compactMap { pair -> MapEntry? in
      guard case .array(let values) = pair, values.count == 2 else { return nil }
      return MapEntry(key: values[0], value: values[1])
    }
    return pairs.count == elements.count ? pairs : nil
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

extension VersionedModel {
  /// Whether objects of this type are of another one, too.
  package static func isSubtype(of other: any VersionedModel.Type) -> Bool {
    func isKind<M: VersionedModel>(_ other: M.Type) -> Bool { Self.self is M.Type }
    return isKind(other)
  }
}
