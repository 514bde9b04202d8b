import Foundation

/// Makes JSON of what models hold, each by its mapping.
struct JSONComposer {
  let catalog: SchemaCatalog
  let plans: [ObjectIdentifier: JSONPlan]
  let nulls: JSONNulls
  let writesUnknownKeys: Bool

  /// JSON of a value: null, booleans, numbers, strings, arrays and objects are left.
  ///
  /// - Parameter fields: which fields of the outermost model are written; all of them unless given.
  func json(_ value: Value, fields: Set<String>? = nil) throws -> Value {
    switch value {
    case .null, .bool, .int, .uint, .wideInteger, .number, .string: return value
    case .double(let number): return try finite(number.isFinite, value)
    case .decimal(let number): return try finite(number.isFinite, value)
    case .float(let number):
      // The digits of the narrower number, and not those of the same number made wider.
      return try finite(number.isFinite, .double(Double(number.description) ?? Double(number)))
    case .data(let data): return .string(data.base64EncodedString())
    case .date, .url, .uuid: return .string(try text(value))
    case .array(let elements), .set(let elements):
      return .array(
        try elements.enumerated().map { index, element in
          do { return try json(element) } catch { throw ArchiveError.at(.index(index), error) }
        })
    case .object(let object): return .object(try entries(object))
    case .map(let pairs): return .object(try entries(pairs))
    case .record(let record): return try json(record, fields)
    case .reference, .graph:
      throw ArchiveError(.notEncodable, "objects that refer to each other have no form in JSON; leave fields out")
    }
  }

  private func finite(_ isFinite: Bool, _ value: Value) throws -> Value {
    guard isFinite else {
      throw ArchiveError(.notEncodable, "a number is not finite, which JSON cannot express; use nil or text")
    }
    return value
  }

  private func text(_ value: Value) throws -> String {
    switch value {
    case .url(let url): return url.absoluteString
    case .uuid(let uuid): return uuid.uuidString
    case .date(let date):
      guard let text = ISO8601.string(from: date) else {
        throw ArchiveError(.notEncodable, "a date is outside the years 0 to 9999; only these can be written")
      }
      return text
    case .string(let text): return text
    case .int(let number): return String(number)
    case .uint(let number): return String(number)
    default:
      throw ArchiveError(
        .notEncodable, "a key is \(value.kind), and JSON has text for keys; use text, integers, UUIDs, URLs or dates")
    }
  }

  private func entries(_ object: Object) throws -> Object {
    Object(
      uniqueEntries: try object.entries.map { entry in
        do { return Object.Entry(key: entry.key, value: try json(entry.value)) } catch {
          throw ArchiveError.at(.key(entry.key), error)
        }
      })
  }

  private func entries(_ pairs: [Value.MapEntry]) throws -> Object {
    var texts = Set<ExactKey>(minimumCapacity: pairs.count)
    return Object(
      uniqueEntries: try pairs.map { pair in
        let key = try text(pair.key)
        guard texts.insert(ExactKey(key)).inserted else { throw ArchiveError.at(.key(key), JSONTranscoder.sameText()) }
        do { return Object.Entry(key: key, value: try json(pair.value)) } catch {
          throw ArchiveError.at(.key(key), error)
        }
      })
  }

  private func json(_ record: ModelRecord, _ fields: Set<String>?) throws -> Value {
    guard let schema = catalog[record.typeName] else { return .object(try entries(record.object)) }
    if !schema.cases.isEmpty { return try schema.jsonTagging.json(record, schema, self) }
    return try compose(record, plans[ObjectIdentifier(schema)] ?? schema.jsonPlan, fields)
  }

  private func compose(_ record: ModelRecord, _ plan: JSONPlan, _ fields: Set<String>?) throws -> Value {
    if let problem = plan.problem { throw problem }
    var target = JSONTarget()
    target.reserve(plan.entries.count)
    // What the whole object is made of comes first: the other fields are more precise.
    if plan.writesWhole {
      for entry in plan.entries {
        if case .whole = entry.source { try write(entry, record, plan, fields, &target) }
      }
    }
    for entry in plan.entries {
      if case .whole = entry.source { continue }
      try write(entry, record, plan, fields, &target)
    }
    if writesUnknownKeys, plan.keepsUnknownFields, record.keys.count > plan.entries.count {
      let known = Set(plan.entries.map { ExactKey($0.field.key) })
      for (key, value) in record.fields where !known.contains(ExactKey(key)) && !target.holds(key) {
        try target.put(json(value), at: key)
      }
    }
    return target.value
  }

  private func write(
    _ entry: JSONPlan.Entry, _ record: ModelRecord, _ plan: JSONPlan, _ fields: Set<String>?, _ target: inout JSONTarget
  ) throws {
    guard entry.json.isWritten, fields?.contains(entry.field.key) ?? true else { return }
    // The fields stand in the order of the schema unless a model writes its record itself.
    let isInPlace = entry.place < record.values.count && record.shape.keys[entry.place] == entry.field.key
    guard let value = isInPlace ? record.values[entry.place] : record[entry.field.key] else { return }
    do {
      let written = try transformed(value, entry)
      if written.isNull, (entry.json.nulls ?? nulls) == .omit { return }
      switch entry.source {
      case .absent: break
      // No two fields are written at one key, so it is new unless the whole object has it.
      case .key(let key): if plan.writesWhole { target.put(written, at: key) } else { target.append(written, at: key) }
      case .whole:
        if case .object(let object) = written {
          for entry in object.entries { target.put(entry.value, at: entry.key) }
        } else if !written.isNull {
          throw ArchiveError(.notEncodable, "found \(written.kind) where the whole object is expected")
        }
      case .path(let path): target.put(written, path.steps[...])
      case .firstOf(let paths): if let path = paths.first { target.put(written, path.steps[...]) }
      case .all(let paths): try write(written, at: paths, entry, &target)
      }
    } catch { throw plan.locate(error, entry.place) }
  }

  private func transformed(_ value: Value, _ entry: JSONPlan.Entry) throws -> Value {
    guard let transform = entry.json.transform else { return try json(value) }
    if value.isNull, !transform.takesNull { return value }
    guard let write = transform.write else { return .null }
    return transform.isUntyped ? try write(json(value)) : try json(write(value))
  }

  private func write(
    _ value: Value, at paths: [JSONPath], _ entry: JSONPlan.Entry, _ target: inout JSONTarget
  ) throws {
    if value.isNull {
      for path in paths { target.put(.null, path.steps[...]) }
      return
    }
    guard case .object(let object) = value else {
      throw ArchiveError.mismatch(expected: "an object with the paths as keys", found: value.kind)
    }
    let spellings = Dictionary(paths.map { ($0.description, $0) }, uniquingKeysWith: { first, _ in first })
    for key in object.keys where spellings[key] == nil {
      throw ArchiveError(.unknownKey, "the transformer yields a path that the mapping does not name")
    }
    for path in paths {
      guard let value = object[path.description] else { continue }
      if value.isNull, (entry.json.nulls ?? nulls) == .omit { continue }
      target.put(value, path.steps[...])
    }
  }
}

/// The object that a model becomes, as it grows. Containers appear with the first value in them.
struct JSONTarget {
  private var entries: [Object.Entry] = []
  /// Where keys stand; made when one is first looked up among many.
  private var places: [ExactKey: Int]?
  /// Set where the outermost container is an array.
  private var elements: Value?

  var value: Value { elements ?? .object(Object(uniqueEntries: entries)) }

  mutating func reserve(_ count: Int) { entries.reserveCapacity(count) }

  mutating func holds(_ key: String) -> Bool { place(of: key) != nil }

  private mutating func place(of key: String) -> Int? {
    guard entries.count > 16 else { return entries.firstIndex { ExactKey.isSame($0.key, key) } }
    if let places { return places[ExactKey(key)] }
    let made = Dictionary(
      entries.enumerated().map { (ExactKey($1.key), $0) }, uniquingKeysWith: { first, _ in first })
    places = made
    return made[ExactKey(key)]
  }

  /// Adds a key that is not there yet.
  mutating func append(_ value: Value, at key: String) {
    places?[ExactKey(key)] = entries.count
    entries.append(Object.Entry(key: key, value: value))
  }

  mutating func put(_ value: Value, at key: String) {
    if let place = place(of: key) { entries[place].value = value } else { append(value, at: key) }
  }

  mutating func put(_ value: Value, _ steps: ArraySlice<JSONPath.Step>) {
    guard case .key(let key)? = steps.first else {
      elements = Self.putting(value, steps, into: elements)
      return
    }
    guard let place = place(of: key) else {
      return append(Self.putting(value, steps.dropFirst(), into: nil), at: key)
    }
    entries[place].value = Self.putting(value, steps.dropFirst(), into: entries[place].value)
  }

  private static func putting(_ value: Value, _ steps: ArraySlice<JSONPath.Step>, into old: Value?) -> Value {
    switch steps.first {
    case nil, .each?: return value
    case .key(let key)?:
      var object = old?.objectValue ?? Object()
      object[key] = putting(value, steps.dropFirst(), into: object[key])
      return .object(object)
    case .index(let index)?:
      var elements: [Value] = if case .array(let elements)? = old { elements } else { [] }
      // What is left out of an array is null there, since the places of the others count.
      while elements.count <= index { elements.append(.null) }
      elements[index] = putting(value, steps.dropFirst(), into: elements[index])
      return .array(elements)
    }
  }
}
