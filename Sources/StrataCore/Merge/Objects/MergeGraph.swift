/// All objects that take part in a merge, by number. Existing objects are numbered 0, 1, 2 and so on. Objects that only the incoming
/// document or the base in a ``MergeState`` describes are called parts, and are numbered -1, -2 and so on.
///
/// The fields of each object are read once, before the merge changes anything.
final class MergeGraph {
  /// An object that the incoming document, or the base in a ``MergeState``, describes. Its record may lack any key.
  struct Part {
    var record: ModelRecord
    var type: any VersionedModel.Type
    /// Reads the JSON of the object again as a subclass; `nil` for an object that was not read from JSON.
    var refine: Refinement?
  }

  /// Reads the fields of an object again as an instance of `subclass`, after it was first read as an instance of a superclass.
  typealias Refinement = (_ subclass: any VersionedModel.Type, _ known: ModelRecord) throws -> ModelRecord

  /// The error for JSON that was matched with an object but cannot be read as an instance of the object's class.
  struct Unreadable: Error {
    let reason: ArchiveError
  }

  let referenced = ReferencedObjects()
  /// The incoming lists in which models lacked their identity, and the same lists after identities were assigned, by location. The next
  /// remembered base gets the same identities.
  var identifiedLists: [ValueMerger.Place: (incoming: ArchiveValue, identified: ArchiveValue)] = [:]
  private(set) var parts: [Part] = []
  private var records: [ModelRecord?] = []
  private var knownTable: ObjectTable?
  /// The settings for reading the document; `nil` if the source is not JSON.
  private(set) var reading: JSONReading?
  /// Returns the value that the JSON mapping supplies for an absent field, or `nil` if it supplies none.
  private(set) var missingValue: ((ModelSchema, Int) throws -> ArchiveValue?)?
  private var readIdentities: [ObjectIdentifier: IdentityKey?] = [:]

  var isEmpty: Bool { referenced.objects.isEmpty && parts.isEmpty }

  /// Marks the source as a JSON document and stores the settings for reading it.
  func setReading(_ reading: JSONReading, missingValue: @escaping (ModelSchema, Int) throws -> ArchiveValue?) {
    self.reading = reading
    self.missingValue = missingValue
  }

  /// Returns the identity key of a model; `nil` if the model has none, or if the JSON mapping does not read it.
  func identityKey(of schema: ModelSchema) -> IdentityKey? {
    guard let reading, let key = schema.identityKey else { return schema.identityKey }
    if let known = readIdentities[ObjectIdentifier(schema)] { return known }
    let plan = reading.plan(of: schema)
    let isRead = schema.mergeTraits.identityPlaces.allSatisfy { plan.entries[$0].json.isRead }
    readIdentities[ObjectIdentifier(schema)] = .some(isRead ? key : nil)
    return isRead ? key : nil
  }

  /// Returns the key that identifies models of a type, and the record's value for this key; `nil` for a model without an identity.
  func identity(of record: ModelRecord, _ schema: ModelSchema) -> (key: IdentityKey, value: ArchiveValue)? {
    guard let key = identityKey(of: schema), let value = record[key], !value.isNull else { return nil }
    return (key, value)
  }

  /// Returns the fields of the object with the given number. The fields of an existing object are read on first use.
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

  /// Returns the schema of a model, or of the object that a reference refers to; `nil` for any other value.
  func schema(of value: ArchiveValue, in catalog: SchemaCatalog) -> ModelSchema? {
    switch value {
    case .reference(let number): schema(number)
    case .record(let record): catalog[record.typeName]
    default: nil
    }
  }

  /// Returns the key that identifies the elements of a field's array: the key of the field's policy, or else the identity key of the
  /// element's type.
  func listKey(_ typeName: String, _ key: String, _ element: ArchiveValue, in catalog: SchemaCatalog) -> IdentityKey? {
    let field = catalog[typeName]?.mergeTraits.fields[ExactKey(key)]
    if case .byID(let key, _)? = field?.merge.leading.rule { return key }
    return schema(of: element, in: catalog).flatMap(identityKey)
  }

  /// Encodes a model or a list as a value. Objects become references, and all other models become records.
  func value(of model: some Archivable) throws -> ArchiveValue {
    try model.archivedValue(includingExcluded: true, role: .referenced(referenced))
  }

  /// Returns the fields of a model, or of the object that a reference refers to; `nil` for any other value.
  func fields(of value: ArchiveValue) throws -> ModelRecord? { try opened(value).recordValue }

  /// Returns the fields of the object that a reference refers to. Any other value is returned unchanged.
  func opened(_ value: ArchiveValue) throws -> ArchiveValue { try value.opened(record) }

  /// Returns a value as a report shows it. Each reference is replaced by the record of its object. References inside that record are
  /// replaced by records that have only the identity keys.
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

  /// Adds an object that the incoming document describes and returns its number.
  ///
  /// - Parameter refine: reads the document again if the object turns out to be an instance of a subclass.
  func add(_ record: ModelRecord, of type: any VersionedModel.Type, refine: Refinement? = nil) -> Int {
    parts.append(Part(record: record, type: type, refine: refine))
    return -parts.count
  }

  /// Sets the identity of an object that the document describes without an identity.
  func setIdentity(_ id: ArchiveValue, _ key: IdentityKey, of number: Int) {
    parts[-1 - number].record = key.setting(id, in: parts[-1 - number].record)
  }

  /// Reads an object's document again if the object turns out to be an instance of a subclass.
  ///
  /// - Returns: the fields that only the subclass has; `nil` if nothing was read.
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

  func setPart(_ record: ModelRecord, of number: Int) { parts[-1 - number].record = record }

  /// Creates objects whose fields may refer to each other. The new numbers follow those of the existing objects.
  ///
  /// If a field refers to an object that is created later, as in a cycle, the field is set once that object exists.
  func makeObjects(
    _ objects: [(type: any VersionedModel.Type, record: ModelRecord)],
    failure: (any Error, ModelSchema) -> any Error = { error, _ in error }
  ) throws {
    let table = ObjectTable(referenced, adding: objects.count)
    let context = DecodingContext.unfinishedMerge
    context.objects = table
    var made: [any VersionedModel] = []
    for (type, record) in objects {
      do { made.append(try decode(type, from: record, in: context, table, isObjectFrame: true)) } catch {
        throw failure(error, type.schema)
      }
      table.append(made[made.count - 1])
    }
    try table.setWaiting(in: context)
    for object in made { _ = referenced.number(of: object) }
  }

  /// The existing objects, for creating models that refer to them.
  var table: ObjectTable {
    let table = knownTable ?? ObjectTable(referenced)
    for object in referenced.objects[table.entries.count...] { table.adopt(object) }
    knownTable = table
    return table
  }

  /// Creates a model whose fields refer to existing objects.
  ///
  /// - Parameters:
  ///   - objects: the objects that references resolve to; by default those of this graph.
  ///   - isObjectFrame: whether fields may refer to objects that are created later.
  func decode<M: VersionedModel>(
    _ type: M.Type, from record: ModelRecord, in context: DecodingContext, _ objects: ObjectTable? = nil,
    isObjectFrame: Bool = false
  ) throws -> M {
    context.objects = objects ?? table
    if M.schema.isEnumeration { return try M.decode(from: record, in: context) }
    let slots = M.schema.allKeys.map { record[$0] }
    let unknown = M.schema.keepsUnknownFields ? M.schema.unknownFields(of: record) : UnknownFields()
    return try M.decode(fields: .slots(slots), unknownFields: unknown, in: context, isObjectFrame: isObjectFrame)
  }

  /// Replaces the fields of an existing object.
  func set(_ record: ModelRecord, of number: Int, in context: DecodingContext) throws {
    func set<M: VersionedModel>(_ object: M) throws {
      var object = object
      try object.adoptFields(of: decode(M.self, from: record, in: context))
    }
    try set(referenced.objects[number].dynamicModel)
  }
}

extension ArchiveValue {
  /// Returns the fields of the object that a reference refers to. Any other value is returned unchanged.
  ///
  /// - Parameter record: returns the fields of an object.
  func opened(_ record: (Int) throws -> ModelRecord) rethrows -> ArchiveValue {
    if case .reference(let number) = self { .record(try record(number)) } else { self }
  }

  /// Returns the value with each outermost record replaced by the result of `replacement`. Map keys are not changed, because a whole key
  /// identifies its entry.
  func mapRecords(_ replacement: (ModelRecord) throws -> ArchiveValue) rethrows -> ArchiveValue {
    switch self {
    case .record(let record): try replacement(record)
    case .array, .set, .object: try mapInside { try $0.mapRecords(replacement) }
    case .map(let entries): .map(try entries.map { .init(key: $0.key, value: try $0.value.mapRecords(replacement)) })
    default: self
    }
  }

  typealias Member = (step: ValuePath.Component, value: ArchiveValue)

  /// Returns the members of a dictionary; `nil` for any other value.
  ///
  /// - Parameter arePairs: whether an array of pairs is treated as a dictionary. Ordered dictionaries are encoded in this form.
  func members(arePairs: Bool = false) -> [Member]? {
    switch self {
    case .object(let object): return object.entries.map { (.key($0.key), $0.value) }
    case .map(let entries): return entries.map { (.value($0.key), $0.value) }
    case .array(let elements) where arePairs:
      let pairs = elements.compactMap(\.arrayValue).filter { $0.count == 2 }
      return pairs.count == elements.count ? pairs.map { (.value($0[0]), $0[1]) } : nil
    default: return nil
    }
  }

  /// Whether a key can be looked up in this array, treated as an ordered dictionary. If the key is itself an array, the dictionary must
  /// contain it, because a list of two-element arrays looks like a dictionary, too.
  func isPairs(with key: ArchiveValue) -> Bool {
    guard let members = members(arePairs: true), !members.isEmpty else { return false }
    return key.arrayValue == nil || members.contains { $0.step == .value(key) }
  }

  /// Returns a dictionary with the given members, encoded as an object, a map or an array of pairs, like this value. An object becomes a
  /// map if a key is not a string.
  func with(_ members: [Member]) -> ArchiveValue {
    let entries = members.compactMap { step, value -> MapEntry? in
      switch step {
      case .key(let key): MapEntry(key: .string(key), value: value)
      case .value(let key): MapEntry(key: key, value: value)
      case .index, .anyKey, .anyElement, .element: nil
      }
    }
    switch self {
    case .map: return .map(entries)
    case .array: return .array(entries.map { .array([$0.key, $0.value]) })
    default:
      guard members.allSatisfy(\.step.isKey) else { return .map(entries) }
      return .object(
        ArchiveObject(uniqueEntries: entries.map { .init(key: $0.key.stringValue ?? "", value: $0.value) }))
    }
  }

  /// Returns the value with the entries of a map sorted by key.
  func inCanonicalOrder() throws -> ArchiveValue {
    guard case .map(let entries) = self else { return self }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }

  /// Creates a lookup table of members. If a key occurs more than once, its first value wins.
  static func lookup(_ members: [Member]?) -> [ValuePath.Component: ArchiveValue] {
    Dictionary((members ?? []).map { ($0.step, $0.value) }, uniquingKeysWith: { first, _ in first })
  }
}

extension VersionedModel {
  /// Whether this type is `other` or one of its subclasses.
  package static func isSubtype(of other: any VersionedModel.Type) -> Bool {
    func isKind<M: VersionedModel>(_ other: M.Type) -> Bool { Self.self is M.Type }
    return isKind(other)
  }
}
