/// Reads what comes in by the types of the fields that it is for, and leaves absent what is absent, at every depth.
///
/// Records of the result may lack keys; what they have is what a model of the type would archive. Objects of classes become
/// parts of the graph, so that each can be matched with the one that stands for it.
final class PartReader {
  private let graph: MergeGraph
  private let context: DecodingContext
  /// Objects of an archive's graph, or of what a model remembers, and the parts that were made of them.
  private var objects: [Value] = []
  private var parts: [Int: Int] = [:]
  private var types: [String: any Model.Type] = [:]
  /// Objects of other models, and the parts that were made of them for a type.
  private var converted: [Conversion: Int] = [:]
  /// Parts whose fields are read later, so that a long list of objects takes no stack.
  private var waiting: [() throws -> Void] = []
  private var depth = 0
  /// How many lists the value stands in: all that is there of an element is kept, since nobody knows yet which of it tells
  /// it from the others.
  private var listDepth = 0
  /// Whether an object that a patch adds says null of what it lacks: a merge patch cannot say it in another way (RFC 7396,
  /// section 1).
  private let addsNulls: Bool
  private var shapes: [ObjectIdentifier: [[Bool]: RecordShape]] = [:]

  private struct Conversion: Hashable {
    let number: Int
    let type: ObjectIdentifier
  }

  /// - Parameters:
  ///   - context: says where the values come from: JSON, an archive, or a merge for the fields of another model.
  ///   - addsNulls: whether what comes in was made by a merge patch.
  init(_ graph: MergeGraph, _ context: DecodingContext, addsNulls: Bool = false) {
    self.graph = graph
    self.context = context
    self.addsNulls = addsNulls
  }

  /// Reads the root.
  ///
  /// - Parameter before: for what a patch made of a document, the document before: what is the same in both is absent,
  ///   and what is gone is null.
  func read(_ type: any Model.Type, _ value: Value, since before: Value? = nil) throws -> Value {
    var root = value
    if case .graph(let found) = value {
      try take(found.objects, for: type)
      root = found.root
    }
    let result = try part(type, root, before)
    try readWaiting()
    return result
  }

  /// Names the objects that references in values lead to.
  func take(_ objects: [Value], for type: any Model.Type) throws {
    func types<M: Model>(_ type: M.Type) throws -> [String: any Model.Type] { try context.objectTypes(of: M.self) }
    self.objects = objects
    self.types = try types(type)
  }

  private func readWaiting() throws {
    while !waiting.isEmpty {
      let bodies = waiting
      waiting.removeAll()
      for body in bodies { try body() }
    }
  }

  // MARK: Values

  private func part(_ type: Any.Type, _ value: Value, _ before: Value?) throws -> Value {
    if let type = type as? any OptionalType.Type {
      return value.isNull ? .null : try part(type.wrappedType, value, before.flatMap { $0.isNull ? nil : $0 })
    }
    guard (type as? any Archivable.Type)?.rootSchema != nil else { return try whole(type, value) }
    guard depth < context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
    depth += 1
    defer { depth -= 1 }
    if let type = type as? any Model.Type { return try model(type, value, before) }
    if let type = type as? any PartialList.Type, case .array(let elements) = value {
      return try list(type.partType, elements, before)
    }
    if let type = type as? any PartialDictionary.Type, let part = try dictionary(type, value, before) { return part }
    return try whole(type, value)
  }

  /// A value that is all there, in the type of its field.
  private func whole(_ type: Any.Type, _ value: Value) throws -> Value {
    if let type = type as? any Archivable.Type {
      if context.source == .merge { context.objects = graph.table }
      return try type.make(from: value, in: context).archivedValue(
        includingExcluded: true, role: .neighbours(graph.neighbours))
    }
    if let type = type as? any Decodable.Type {
      return try ValueCoding.value(of: ValueCoding.make(type, from: value, in: context))
    }
    return value
  }

  private func list(_ type: any Archivable.Type, _ elements: [Value], _ before: Value?) throws -> Value {
    var olds = before?.arrayValue.map { PatchedElements($0, type, context) }
    listDepth += 1
    defer { listDepth -= 1 }
    return .array(
      try elements.enumerated().map { place, element in
        do { return try part(type, element, olds?.counterpart(of: element, at: place, of: elements.count)) } catch {
          throw ArchiveError.at(.index(place), error)
        }
      })
  }

  private func dictionary(_ type: any PartialDictionary.Type, _ value: Value, _ before: Value?) throws -> Value? {
    var pairs: [(key: Value, value: Value)]
    switch value {
    case .object(let object): pairs = object.entries.map { (.string($0.key), $0.value) }
    case .map(let entries): pairs = entries.map { ($0.key, $0.value) }
    case .array(let elements) where context.source == .json:
      pairs = []
      for element in elements {
        // The dictionary itself says what is wrong with a pair.
        guard case .array(let pair) = element, pair.count == 2 else { return nil }
        pairs.append((pair[0], pair[1]))
      }
    default: return nil
    }
    let olds = before?.objectValue.map { Dictionary($0.entries.map { ($0.key, $0.value) }) { first, _ in first } }
    var seen = Set<Value>(minimumCapacity: pairs.count)
    for (place, pair) in pairs.enumerated() {
      do {
        let key = try type.partKey(pair.key, in: context)
        guard seen.insert(key).inserted else {
          throw ArchiveError(
            context.source == .json ? .invalidJSON : .damaged, "a key stands twice; each may stand once")
        }
        pairs[place] = (key, try part(type.partType, pair.value, pair.key.stringValue.flatMap { olds?[$0] }))
      } catch { throw ArchiveError.at(.key(pair.key.stringValue ?? "(key)"), error) }
    }
    if pairs.allSatisfy({ $0.key.stringValue != nil }) {
      return .object(Object(pairs.map { .init(key: $0.key.stringValue ?? "", value: $0.value) }))
    }
    let entries = pairs.map { Value.MapEntry(key: $0.key, value: $0.value) }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }

  // MARK: Models

  private func model(_ type: any Model.Type, _ value: Value, _ before: Value?) throws -> Value {
    let schema = type.schema
    try schema.check()
    switch value {
    case .reference(let number): return try object(number, as: type)
    case .record(let record) where record.typeName == MergeState.referenceName && !objects.isEmpty:
      guard let number = record["number"]?.intValue else { throw ArchiveError(.damaged, "a reference has no number") }
      return try object(number, as: type)
    case .record(let record):
      if schema.isEnumeration { return try archivedCase(record, type) }
      if schema.isObject {
        let type = types[record.typeName] ?? type
        let number = graph.add(Record(shape: type.schema.fullShape, values: []), of: type)
        graph.set(try fields(record, of: type.schema), of: number)
        return .reference(number)
      }
      return .record(try fields(record, of: schema))
    case .object(let object) where context.source == .json && schema.isEnumeration:
      let old = try before?.objectValue.map { try schema.caseRecord(ofJSON: $0) }
      return try jsonCase(schema.caseRecord(ofJSON: object), type, value, old)
    case .object where context.source == .json && !schema.isEnumeration:
      return try jsonFields(value, of: type, before)
    default: break
    }
    // A document that need not be an object, or something that is no model at all.
    guard context.source == .json, !schema.isEnumeration, !value.isNull else { return try whole(type, value) }
    return try jsonFields(value, of: type, before)
  }

  private func added(_ record: Record, _ type: any Model.Type) -> Value {
    type.schema.isObject ? .reference(graph.add(record, of: type)) : .record(record)
  }

  /// A record of some of the fields, in the order of the schema, with what no field took behind them.
  private func record(
    _ schema: ModelSchema, _ values: [Value?], _ unknown: UnknownFields = UnknownFields()
  ) -> Record {
    let present = values.map { $0 != nil }
    var shape = schema.fullShape
    if present.contains(false) {
      let known = shapes[ObjectIdentifier(schema)]?[present]
      shape =
        known
        ?? RecordShape(
          typeName: schema.name, modelVersion: schema.modelVersion,
          keys: zip(schema.allKeys, present).compactMap { $1 ? $0 : nil }, levels: shape.levels)
      if known == nil { shapes[ObjectIdentifier(schema), default: [:]][present] = shape }
    }
    var record = Record(shape: shape, values: values.compactMap(\.self))
    for entry in unknown.object.entries where schema.fullShape.place(of: entry.key) == nil {
      record[entry.key] = entry.value
    }
    return record
  }

  /// What JSON holds of a model.
  private func jsonFields(_ json: Value, of type: any Model.Type, _ before: Value?) throws -> Value {
    let schema = type.schema
    let plan = context.json.plan(of: schema)
    let slots = try plan.read(json, in: context, suppliesMissing: false)
    let olds = try before.map { try plan.read($0, in: context, suppliesMissing: false).values }
    // Of another object than before, and of an element, all that is there is news.
    var keepsAll = listDepth > 0
    if let key = schema.identityKey, let place = schema.fields.firstIndex(where: { $0.key == key }) {
      keepsAll = keepsAll || olds?[place] != slots.values[place]
    }
    var values = [Value?](repeating: nil, count: schema.fields.count)
    for (place, field) in schema.fields.enumerated() {
      let (old, new) = (olds?[place], slots.values[place])
      do {
        switch (old, new) {
        case (nil, nil):
          if addsNulls, olds == nil, listDepth == 0, field.json.isRead, field.type is any OptionalType.Type {
            values[place] = .null
          }
        case (_?, nil): values[place] = try part(field.type, .null, nil)
        case (let old?, let new?) where old == new && !keepsAll: continue
        case (_, let new?): values[place] = try part(field.type, new, old)
        }
      } catch let error as ArchiveError where field.unknown == .useDefault && error.isUnknownCaseHere {
        values[place] = try field.makeDefault?() ?? .null
      } catch { throw plan.locate(error, place, input: new) }
    }
    return added(record(schema, values, slots.unknownFields), type)
  }

  /// What a record holds of a model, of whichever version, or of another model.
  private func fields(_ record: Record, of schema: ModelSchema) throws -> Record {
    let slots: [Value?]
    var unknown = UnknownFields()
    if context.source == .merge {
      // Another model's fields: those that both declare.
      slots = schema.fields.map { record[$0.key] }
    } else {
      (slots, unknown) = try schema.upgradedFields(of: record, in: context)
    }
    var values = [Value?](repeating: nil, count: schema.fields.count)
    for (place, field) in schema.fields.enumerated() {
      guard let slot = slots[place] else { continue }
      // An archive leaves out an object that nothing else in it writes.
      if slot.isNull, field.archive == .conditional { continue }
      if field.type is MergeState.Type { continue }
      do { values[place] = try part(field.type, slot, nil) } catch let error as ArchiveError
        where field.unknown == .useDefault && error.isUnknownCaseHere
      {
        values[place] = try field.makeDefault?() ?? .null
      } catch { throw ArchiveError.at(.key(field.key), error).inType(schema.name) }
    }
    return self.record(schema, values, unknown)
  }

  // MARK: Cases

  private func archivedCase(_ record: Record, _ type: any Model.Type) throws -> Value {
    let schema = type.schema
    let record = context.source == .merge ? record : try schema.upgraded(record, in: context)
    guard let key = record.keys.first, record.keys.count == 1, case .object(let payload)? = record[key],
      let values = try self.payload(schema, key, payload, nil)
    else { return try present(whole(type, .record(record)), record) }
    return values
  }

  private func jsonCase(_ record: Record, _ type: any Model.Type, _ json: Value, _ before: Record?) throws -> Value {
    guard let key = record.keys.first, case .object(let payload)? = record[key] else { return try whole(type, json) }
    let old = before.flatMap { $0.keys.first == key ? $0[key]?.objectValue : nil }
    let adds = addsNulls && old == nil && listDepth == 0
    return try self.payload(type.schema, key, payload, old, adds: adds) ?? present(whole(type, json), record)
  }

  /// Of the associated values of a case whose types are not declared, those that came in.
  private func present(_ made: Value, _ record: Record) throws -> Value {
    guard case .record(let whole) = made, let key = whole.keys.first, case .object(let values)? = whole[key],
      let name = record.keys.first, case .object(let payload)? = record[name]
    else { return made }
    let entries = values.entries.filter { payload[$0.key] != nil }
    return .record(Record(shape: whole.shape, values: [.object(Object(uniqueEntries: entries))]))
  }

  /// The associated values that are there; `nil` where the case or their types are not known.
  ///
  /// - Parameter adds: whether the case was added by a merge patch.
  private func payload(
    _ schema: ModelSchema, _ key: String, _ payload: Object, _ before: Object?, adds: Bool = false
  ) throws -> Value? {
    guard let name = schema.caseName(key), let info = schema.cases.first(where: { $0.name == name }),
      info.labels.count == info.payload.count, !info.labels.isEmpty || payload.isEmpty
    else { return nil }
    var entries: [Object.Entry] = []
    for (label, type) in zip(info.labels, info.payload) {
      do {
        switch (before?[label], payload[label]) {
        case (nil, nil):
          if adds, type is any OptionalType.Type { entries.append(.init(key: label, value: .null)) }
        case (_?, nil): entries.append(.init(key: label, value: try part(type, .null, nil)))
        case (let old, let new?): entries.append(.init(key: label, value: try part(type, new, old)))
        }
      } catch { throw ArchiveError.at(.key(label), error).inType(schema.name) }
    }
    return .record(
      Record(shape: schema.caseShapes[name] ?? schema.fullShape, values: [.object(Object(uniqueEntries: entries))]))
  }

  // MARK: Objects

  /// What stands for an object that a reference names.
  private func object(_ number: Int, as type: any Model.Type) throws -> Value {
    if context.source == .merge { return try converted(number, to: type) }
    guard objects.indices.contains(number) else {
      throw ArchiveError(.damaged, "a reference names an object that does not exist")
    }
    if let known = parts[number] {
      guard graph.type(known).isSubtype(of: type) else {
        throw ArchiveError.mismatch(expected: "an object of \(type.schema.name)", found: "an object of another type")
      }
      return .reference(known)
    }
    guard case .record(let record) = objects[number], let own = types[record.typeName] else {
      return try part(type, objects[number], nil)
    }
    guard own.isSubtype(of: type) else {
      throw ArchiveError.mismatch(expected: "an object of \(type.schema.name)", found: "an object of another type")
    }
    let part = graph.add(Record(shape: own.schema.fullShape, values: []), of: own)
    parts[number] = part
    waiting.append { [self] in graph.set(try fields(record, of: own.schema), of: part) }
    return .reference(part)
  }

  /// An object of another model, as what it is for the type of the field; one of the type itself stays.
  private func converted(_ number: Int, to type: any Model.Type) throws -> Value {
    if graph.type(number).isSubtype(of: type) { return .reference(number) }
    let schema = type.schema
    guard schema.isObject else { return .record(try fields(graph.record(number), of: schema)) }
    let key = Conversion(number: number, type: ObjectIdentifier(type))
    if let known = converted[key] { return .reference(known) }
    let part = graph.add(Record(shape: schema.fullShape, values: []), of: type)
    converted[key] = part
    waiting.append { [self] in graph.set(try fields(graph.record(number), of: schema), of: part) }
    return .reference(part)
  }
}

/// The elements of a list before a patch, by what tells them apart.
private struct PatchedElements {
  private let elements: [Value]
  private let identity: ((Value) -> Value?)?
  private var places: [Key: Int] = [:]
  /// How often each identity stood in the new list so far.
  private var occurrences: [Value: Int] = [:]

  private struct Key: Hashable {
    let id: Value
    let occurrence: Int
  }

  init(_ elements: [Value], _ type: any Archivable.Type, _ context: DecodingContext) {
    self.elements = elements
    guard let schema = (type as? any Model.Type)?.schema, let key = schema.identityKey,
      let place = schema.fields.firstIndex(where: { $0.key == key })
    else {
      identity = nil
      return
    }
    let plan = context.json.plan(of: schema)
    // An element that cannot be read has no identity here; reading it for the merge says what is wrong with it.
    identity = { try? plan.read($0, in: context, suppliesMissing: false).values[place] }
    var occurrences: [Value: Int] = [:]
    for (place, element) in elements.enumerated() {
      guard let id = identity?(element), !id.isNull else { continue }
      places[Key(id: id, occurrence: occurrences[id, default: 0])] = place
      occurrences[id, default: 0] += 1
    }
  }

  /// The element that a new one was; `nil` where nobody knows. Asked for each of the new list in its order.
  mutating func counterpart(of element: Value, at place: Int, of count: Int) -> Value? {
    if let id = identity?(element), !id.isNull {
      defer { occurrences[id, default: 0] += 1 }
      return places[Key(id: id, occurrence: occurrences[id, default: 0])].map { elements[$0] }
    }
    return count == elements.count ? elements[place] : nil
  }
}

extension Model {
  /// Whether objects of this type are of another one, too.
  static func isSubtype(of other: any Model.Type) -> Bool {
    func isKind<M: Model>(_ other: M.Type) -> Bool { Self.self is M.Type }
    return isKind(other)
  }
}
