/// Decodes incoming values as the types of the fields that they will be merged into. Keys that are absent from the input stay absent, at
/// every depth.
///
/// The result has the form in which models archive their values, except that records may lack keys. Each class instance becomes a part
/// (``MergeGraph/Part``), which the merge later matches with an existing object.
final class PartReader {
  /// The graph that decoded objects are added to. The reference is unowned, because closures in the graph retain the reader.
  private unowned let graph: MergeGraph
  let context: DecodingContext
  /// The objects of an archive, or of the base in a ``MergeState``. `parts` maps the index of such an object to the number of the part that
  /// was created from it in `graph`.
  private var objects: [ArchiveValue] = []
  private var parts: [Int: Int] = [:]
  private var types: [String: any VersionedModel.Type] = [:]
  /// The numbers of the parts created by converting objects of a different model. A key consists of the object's number and the target
  /// type.
  private var converted: [Conversion: Int] = [:]
  /// Deferred reads of fields. They are run in a loop, because recursion over a long chain of objects could overflow the stack.
  private var waiting: [() throws -> Void] = []
  private var depth = 0
  /// Whether list elements and dictionary entries with an unknown enumeration case are skipped.
  private var leavesOutUnknownCases = false
  /// The number of lists in the current field that lost elements, plus the number of skipped dictionary entries with unknown keys.
  private var skipped = 0
  /// The number of lists that enclose the current value. In list elements, keys that a patch did not change are kept, too, because it is
  /// not known yet which of them identify the element.
  var listDepth = 0
  /// Whether optional fields that are absent from an object added by a patch become null. A merge patch cannot add null (RFC 7396, section
  /// 1), so an absent key may mean null.
  let addsNulls: Bool
  /// The path of the value being read, used for errors of deferred reads.
  private var place: [ArchiveError.PathComponent] = []
  /// Whether the values are the source of a merge. Otherwise, the values are a remembered base.
  ///
  /// In a source, a field with an unknown enumeration case is treated as absent if the field falls back to its default. The default would
  /// otherwise look like a change by the server. A null conditional reference in a source is kept, because null clears the reference if the
  /// base is known.
  let isIncoming: Bool
  /// Cached record shapes by schema. The inner dictionary's key has one byte per field, which combines whether the field is present with
  /// the raw value of its gap.
  private var shapes: [ObjectIdentifier: [[UInt8]: RecordShape]] = [:]

  private struct Conversion: Hashable {
    let number: Int
    let type: ObjectIdentifier
  }

  /// - Parameters:
  ///   - context: specifies the form of the values: JSON, an archive, or the fields of another model for a merge.
  ///   - addsNulls: whether the source is the result of a merge patch.
  ///   - isIncoming: whether the values are the source of a merge instead of a remembered base.
  init(
    _ graph: MergeGraph, _ context: DecodingContext, addsNulls: Bool = false, isIncoming: Bool = false
  ) {
    self.graph = graph
    self.context = context
    self.addsNulls = addsNulls
    self.isIncoming = isIncoming
  }

  /// Reads the root value.
  ///
  /// - Parameter before: the original document, if `value` is the patched document. Keys with equal values in both documents are absent
  ///   from the result, and removed keys are null.
  func read(_ type: any Archivable.Type, _ value: ArchiveValue, since before: ArchiveValue? = nil) throws
    -> ArchiveValue
  {
    var root = value
    if case .graph(let found) = value {
      try register(found.objects, for: type)
      root = found.root
    }
    let result = try part(type, root, before)
    try readWaiting()
    return result
  }

  /// Sets the objects that references in the values refer to.
  func register(_ objects: [ArchiveValue], for type: any Archivable.Type) throws {
    self.objects = objects
    types = try context.objectTypes(of: type)
  }

  private func readWaiting() throws {
    while !waiting.isEmpty {
      let bodies = waiting
      waiting.removeAll()
      for body in bodies { try body() }
    }
  }

  // MARK: Values

  func part(_ type: Any.Type, _ value: ArchiveValue, _ before: ArchiveValue?) throws -> ArchiveValue {
    let archivable = TypeShape.archivable(type)
    let shape = archivable?.typeShape ?? TypeShape(of: type)
    if case .optional(let wrapped) = shape.kind {
      return value.isNull ? .null : try part(wrapped, value, before.flatMap { $0.isNull ? nil : $0 })
    }
    guard archivable?._rootSchema != nil || leavesOutUnknownCases else { return try whole(type, value) }
    guard depth < context.limits.depth else { throw ArchiveError.tooDeep(context.limits.depth) }
    depth += 1
    defer { depth -= 1 }
    switch shape.kind {
    case .model(let type): return try model(type, value, before)
    case .array(let element):
      guard case .array(let elements) = value, let element = TypeShape.archivable(element) else { break }
      return .array(try list(element, elements, before))
    case .set(let element):
      guard let members = members(value), let element = TypeShape.archivable(element) else { break }
      return try .set(ofMerged: list(element, members, before))
    case .dictionary:
      guard let type = type as? any PartialDictionary.Type else { break }
      return try dictionary(type, value, before)
    case .optional, .scalar, .untyped, .rawValue, .opaque: break
    }
    return try whole(type, value)
  }

  /// Returns the members of a set; `nil` for any other value. In JSON, a set is an array.
  private func members(_ value: ArchiveValue) -> [ArchiveValue]? {
    switch value {
    case .set(let members): members
    case .array(let elements): context.source == .json ? elements : nil
    default: nil
    }
  }

  /// Decodes a complete value as the field's type.
  func whole(_ type: Any.Type, _ value: ArchiveValue) throws -> ArchiveValue {
    if context.source == .merge, TypeShape.archivable(type) != nil { context.objects = graph.table }
    return try ValueCoding.typed(value, as: type, graph.referenced, in: context)
  }

  private func list(_ type: any Archivable.Type, _ elements: [ArchiveValue], _ before: ArchiveValue?) throws
    -> [ArchiveValue]
  {
    var olds = before?.arrayValue.map { PatchedElements($0, type, context) }
    listDepth += 1
    defer { listDepth -= 1 }
    let result = try elements.enumerated().compactMap { index, element in
      try at(.index(index)) {
        try skippingUnknownCase {
          try part(type, element, olds?.counterpart(of: element, at: index, of: elements.count))
        }
      }
    }
    if result.count < elements.count { skipped += 1 }
    return result
  }

  /// Returns the result of `body`, or `nil` if `body` throws for an unknown enumeration case and such cases are skipped.
  private func skippingUnknownCase<R>(_ body: () throws -> R) throws -> R? {
    do { return try body() } catch let error as ArchiveError
      where leavesOutUnknownCases && error.isUnknownCase(within: 0)
    {
      return nil
    }
  }

  /// Calls `body` to read the value under a key or at an index. Adds the step to the path of any error that `body` throws.
  ///
  /// - Parameter json: the steps to the value in JSON, if they differ from `step`.
  func at<R>(_ step: ArchiveError.PathComponent, json: [ArchiveError.PathComponent]? = nil, _ body: () throws -> R)
    throws -> R
  {
    place.append(step)
    defer { place.removeLast() }
    do { return try body() } catch { throw ArchiveError.wrap(error).prefixed(by: step, json: json) }
  }

  private func dictionary(_ type: any PartialDictionary.Type, _ value: ArchiveValue, _ before: ArchiveValue?) throws
    -> ArchiveValue
  {
    var pairs: [(key: ArchiveValue, value: ArchiveValue)] = []
    let olds = before?.objectValue.map { Dictionary($0.entries.map { ($0.key, $0.value) }) { first, _ in first } }
    var seen = Set<ArchiveValue>()
    for pair in try type.partPairs(of: value, in: context) {
      try at(.key(pair.key.stringValue ?? "(key)")) {
        guard let key = try skippingUnknownCase({ try type.partKey(pair.key, in: context) }) else {
          skipped += 1
          return
        }
        guard seen.insert(key).inserted || key.hasNaN else {
          throw ArchiveError(
            context.source == .json ? .invalidJSON : .damaged,
            "the object has a duplicate key; each key may occur only once")
        }
        let old = pair.key.stringValue.flatMap { olds?[$0] }
        func value() throws -> ArchiveValue { try part(type.partType, pair.value, old) }
        if let value = try type.isKeyed ? skippingUnknownCase(value) : value() {
          pairs.append((key, value))
        } else if isIncoming {
          // The incoming dictionary contains this key, although the value is unknown. The placeholder prevents the merge from removing the
          // key.
          pairs.append((key, .unknownCase))
        }
      }
    }
    guard type.isKeyed else { return .array(pairs.map { .array([$0.key, $0.value]) }) }
    if pairs.allSatisfy({ $0.key.stringValue != nil }) {
      return .object(ArchiveObject(pairs.map { .init(key: $0.key.stringValue ?? "", value: $0.value) }))
    }
    let entries = pairs.map { ArchiveValue.MapEntry(key: $0.key, value: $0.value) }
    return .map(try CanonicalOrder.sorted(entries) { try $0.write($1.key) })
  }

  // MARK: Models

  private func model(_ type: any VersionedModel.Type, _ value: ArchiveValue, _ before: ArchiveValue?) throws
    -> ArchiveValue
  {
    let schema = type.schema
    try schema.check()
    // The enclosing list's setting for unknown enumeration cases does not apply inside the model, because each field has its own setting.
    let outer = leavesOutUnknownCases
    leavesOutUnknownCases = false
    defer { leavesOutUnknownCases = outer }
    switch value {
    case .reference(let number): return try object(number, as: type)
    case .record(let record) where record.typeName == MergeState.referenceName && !objects.isEmpty:
      guard let number = record["number"]?.intValue else {
        throw ArchiveError(.damaged, "a reference has no object number")
      }
      return try object(number, as: type)
    case .record(let record):
      if schema.isEnumeration { return try archivedCase(record, type) }
      if schema.isObject {
        let type = try self.type(named: record.typeName, as: type)
        let number = graph.add(ModelRecord(shape: type.schema.fullShape, values: []), of: type)
        graph.setPart(try fields(record, of: type.schema), of: number)
        return .reference(number)
      }
      return .record(try fields(record, of: schema))
    case .object(let object) where context.source == .json && schema.isEnumeration:
      return try jsonCase(object, type, before?.objectValue.map { try schema.jsonCase(in: $0).record })
    case .object(let object) where context.source == .json && !schema.isEnumeration:
      // JSON without a class tag is read as `type` for now. After the object has been matched with an existing one, it is read as that
      // object's class.
      guard let (own, rest) = try schema.jsonHierarchy()?.tagged(object, in: context.json) else {
        return try jsonFields(value, of: type, before)
      }
      let old = try before?.objectValue.flatMap { try own.schema.jsonHierarchy()?.tagged($0, in: context.json) }
      return try jsonFields(.object(rest), of: own, old.flatMap { $0.0 == own ? .object($0.1) : nil })
    default: break
    }
    // A JSON mapping can read a model from a value that is not an object. In other sources, such a value is decoded as a complete value.
    guard context.source == .json, !schema.isEnumeration, !value.isNull else { return try whole(type, value) }
    return try jsonFields(value, of: type, before)
  }

  /// Returns the known subclass of `type` with the given name, or `type` if there is none.
  private func type(named name: String, as type: any VersionedModel.Type) throws -> any VersionedModel.Type {
    if name == type.schema.name { return type }
    let found = try types[name] ?? context.objectTypes(of: type)[name]
    return found.flatMap { $0.isSubtype(of: type) ? $0 : nil } ?? type
  }

  /// Creates a record of the present fields in the order of the schema, followed by the unknown fields.
  ///
  /// - Parameter gaps: the incomplete fields, by their indices.
  private func record(
    _ schema: ModelSchema, _ values: [ArchiveValue?], _ gaps: [Int: RecordShape.Gap],
    _ unknown: UnknownFields = UnknownFields()
  ) -> ModelRecord {
    var shape = schema.fullShape
    if !gaps.isEmpty || values.contains(where: { $0 == nil }) {
      let key = values.indices.map { (values[$0] == nil ? 0 : 1) + (gaps[$0]?.rawValue ?? 0) << 1 }
      if let known = shapes[ObjectIdentifier(schema)]?[key] {
        shape = known
      } else {
        shape = shape.with(
          Dictionary(uniqueKeysWithValues: gaps.map { (ExactKey(schema.fields[$0].key), $1) }),
          limitedTo: zip(schema.allKeys, values).compactMap { $1 == nil ? nil : $0 })
        shapes[ObjectIdentifier(schema), default: [:]][key] = shape
      }
    }
    var record = ModelRecord(shape: shape, values: values.compactMap(\.self))
    for entry in unknown.object.entries {
      record[UnknownFields.archivedKey(entry.key, besides: schema.takenKeys)] = entry.value
    }
    return record
  }

  /// Reads a model from JSON. For a class instance, adds a part to `graph` and returns a reference to it.
  private func jsonFields(_ json: ArchiveValue, of type: any VersionedModel.Type, _ before: ArchiveValue?) throws
    -> ArchiveValue
  {
    let record = try jsonRecord(json, of: type, before)
    let schema = type.schema
    guard schema.isObject else { return .record(record) }
    // The class of the object is known only after the part has been matched with an existing object. If it is a subclass of `type`, this
    // closure then reads the additional fields of the subclass.
    let (lists, path) = (listDepth, self.place)
    return .reference(
      graph.add(record, of: type) { [self] subclass, record in
        let here = (listDepth, place)
        defer { (listDepth, place) = here }
        (listDepth, place) = (lists, path)
        do { return try jsonRecord(json, of: subclass, before, known: (record, Set(schema.allKeys))) } catch {
          throw path.reversed().reduce(ArchiveError.wrap(error)) { $0.prefixed(by: $1) }
        }
      })
  }

  /// Reads the fields of a model that are present in the JSON.
  ///
  /// - Parameter known: the record already read for a superclass, and the keys of that superclass.
  private func jsonRecord(
    _ json: ArchiveValue, of type: any VersionedModel.Type, _ before: ArchiveValue?,
    known: (record: ModelRecord, keys: Set<String>)? = nil
  ) throws -> ModelRecord {
    let schema = type.schema
    let plan = context.json.plan(of: schema)
    let slots = try plan.read(json, in: context, suppliesMissing: false)
    let olds = try before.map { try plan.read($0, in: context, suppliesMissing: false).values }
    // Values that the patch did not change are left out, except in list elements and in models whose identity the patch changed.
    let keepsAll =
      listDepth > 0 || schema.mergeTraits.identityPlaces.contains { olds?[$0] != slots.values[$0] }
    var values = [ArchiveValue?](repeating: nil, count: schema.fields.count)
    var gaps: [Int: RecordShape.Gap] = [:]
    for (place, field) in schema.fields.enumerated() {
      if let known, known.keys.contains(field.key) {
        values[place] = known.record[field.key]
        gaps[place] = known.record.shape.gaps[ExactKey(field.key)]
        continue
      }
      let (old, new) = (olds?[place], slots.values[place])
      self.place.append(.key(field.key))
      defer { self.place.removeLast() }
      do {
        switch (old, new) {
        case (nil, nil):
          if addsNulls, olds == nil, listDepth == 0, field.json.isRead, field.shape.isOptional {
            values[place] = .null
          }
        case (_?, nil):
          // A patch replaces lists as a whole, so a key that an element of the patched list lacks gets its default. An identity stays
          // absent, because the merge looks for an element with the same content.
          if listDepth > 0, schema.mergeTraits.identityPlaces.contains(place), field.hasChangingDefault { continue }
          let initial = listDepth > 0 ? try missingValue(schema, place) ?? field.absentValue() : nil
          values[place] = try initial ?? part(field.type, .null, nil)
        case (let old?, let new?) where old == new && !keepsAll: continue
        case (_, let new?):
          let (value, isPartial) = try self.value(of: field, new, old)
          values[place] = value
          gaps[place] = value == nil ? .unknownCase : isPartial ? .unknownElements : nil
        }
        if slots.skipped.contains(place) { gaps[place] = .invalidElements }
      } catch { throw plan.locate(error, place, input: new) }
    }
    return record(schema, values, gaps, slots.unknownFields)
  }

  /// Reads the value of a field. If the value is an unknown enumeration case and the field falls back to its default, returns the default
  /// when reading a remembered base and `nil` when reading the source of a merge. `isPartial` is true if elements of a source's value were
  /// skipped because of unknown cases.
  func value(
    of field: FieldInfo, _ value: ArchiveValue, _ before: ArchiveValue?
  ) throws -> (value: ArchiveValue?, isPartial: Bool) {
    let outer = skipped
    defer { skipped = outer }
    do { return (try part(field.type, value, before), false) } catch let error as ArchiveError
      where field.acceptsUnknownCase(error)
    {
      guard !error.codingPath.isEmpty else { return (isIncoming ? nil : try field.absentValue(), false) }
      leavesOutUnknownCases = true
      defer { leavesOutUnknownCases = false }
      let result = try part(field.type, value, before)
      return (result, isIncoming && skipped > outer)
    }
  }

  /// Reads the fields of a model from a record of any version, or from a record of another model.
  private func fields(_ record: ModelRecord, of schema: ModelSchema) throws -> ModelRecord {
    let slots: FieldValues
    var unknown = UnknownFields()
    if context.source == .merge {
      // This is a record of a different model, so only the fields that both models declare are read.
      slots = .slots(schema.fields.map { record[$0.key] })
    } else {
      (slots, unknown) = try schema.upgradedFields(of: record, in: context)
    }
    var values = [ArchiveValue?](repeating: nil, count: schema.fields.count)
    var gaps: [Int: RecordShape.Gap] = [:]
    for (place, field) in schema.fields.enumerated() {
      guard let slot = slots[place] else { continue }
      // An archive contains null for a conditional reference if it does not contain the referenced object. A null in a base is therefore
      // treated as absent.
      if slot.isNull, field.archive == .conditional, !isIncoming { continue }
      if field.type is MergeState.Type { continue }
      let (value, isPartial): (ArchiveValue?, Bool)
      do { (value, isPartial) = try self.value(of: field, slot, nil) } catch {
        throw ArchiveError.at(.key(field.key), error).inType(schema.name)
      }
      values[place] = value
      gaps[place] = value == nil ? .unknownCase : isPartial ? .unknownElements : nil
    }
    return self.record(schema, values, gaps, unknown)
  }

  /// Returns the value that the JSON mapping supplies for an absent field; `nil` if it supplies none.
  func missingValue(_ schema: ModelSchema, _ place: Int) throws -> ArchiveValue? {
    try context.json.plan(of: schema).entries[place].json.missing.map { try whole(schema.fields[place].type, $0) }
  }

  // MARK: Objects

  /// Returns a reference to the part created from an object. The first call for the object creates the part.
  private func object(_ number: Int, as type: any VersionedModel.Type) throws -> ArchiveValue {
    if context.source == .merge { return try converted(number, to: type) }
    guard objects.indices.contains(number) else {
      throw ArchiveError(.damaged, "a reference names an object that does not exist")
    }
    if let known = parts[number] {
      guard graph.type(known).isSubtype(of: type) else {
        throw ArchiveError.mismatch(
          expected: "an object of \(type.schema.name)", found: "an object of \(graph.schema(known).name)")
      }
      return .reference(known)
    }
    guard case .record(let record) = objects[number], let own = types[record.typeName] else {
      return try part(type, objects[number], nil)
    }
    guard own.isSubtype(of: type) else {
      throw ArchiveError.mismatch(
        expected: "an object of \(type.schema.name)", found: "an object of \(own.schema.name)")
    }
    let part = graph.add(ModelRecord(shape: own.schema.fullShape, values: []), of: own)
    parts[number] = part
    waiting.append { [self] in graph.setPart(try fields(record, of: own.schema), of: part) }
    return .reference(part)
  }

  /// Converts an object of another model to the field's type. An object that already has this type is returned unchanged.
  private func converted(_ number: Int, to type: any VersionedModel.Type) throws -> ArchiveValue {
    if graph.type(number).isSubtype(of: type) { return .reference(number) }
    let schema = type.schema
    guard schema.isObject else { return .record(try fields(graph.record(number), of: schema)) }
    let key = Conversion(number: number, type: ObjectIdentifier(type))
    if let known = converted[key] { return .reference(known) }
    let part = graph.add(ModelRecord(shape: schema.fullShape, values: []), of: type)
    converted[key] = part
    waiting.append { [self] in graph.setPart(try fields(graph.record(number), of: schema), of: part) }
    return .reference(part)
  }
}
