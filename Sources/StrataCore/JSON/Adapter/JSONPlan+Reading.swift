/// The values found for the fields of a model, in the order of the schema.
struct JSONSlots {
  /// `nil` if nothing is at the path, and for a field that is already decoded.
  var values: [ArchiveValue?]
  /// The fields that are already decoded, by index.
  var made: [Int: Any] = [:]
  var unknownFields = UnknownFields()
  /// The fields that failed, if errors are collected.
  var errors: [(place: Int, error: ArchiveError)] = []

  /// The source of a model's fields.
  var fieldValues: FieldValues { made.isEmpty ? .slots(values) : .partlyMade(values, made) }
}

extension JSONPlan {
  /// Finds the values of the fields in a document, and applies the mapping of each field.
  ///
  /// - Parameter suppliesMissing: whether absent fields take the substitutes of the mapping. False if absent means
  ///   unchanged.
  func read(_ json: ArchiveValue, in context: DecodingContext, suppliesMissing: Bool = true) throws -> JSONSlots {
    if let problem { throw problem }
    var found = [ArchiveValue?](repeating: nil, count: entries.count)
    var slots = JSONSlots(values: [])
    if case .object(let object) = json {
      for entry in object.entries {
        for place in table[ExactKey(entry.key)] ?? [] { found[place] = entry.value }
      }
      if context.json.unknownKeys != .ignore, !readsWhole { try noteUnknown(json, in: context, &slots) }
    } else if needsObject {
      throw ArchiveError.mismatch(expected: "a JSON object for \(typeName)", found: json.kind).about(json)
        .inType(typeName)
    }
    for entry in entries {
      let place = entry.place
      if case .key = entry.source, entry.isPlain { continue }
      do {
        if let value = try value(of: entry, found[place], json, in: context) {
          found[place] = try processed(value, entry, in: context)
          if entry.json.skipsInvalid { try skipInvalid(&found[place], entry, in: context, &slots) }
        } else {
          found[place] = suppliesMissing && entry.json.isRead ? entry.json.missing : nil
        }
      } catch {
        guard context.collectsErrors else { throw error }
        slots.errors.append((place, ArchiveError.wrap(error)))
      }
    }
    slots.values = found
    return slots
  }

  private func noteUnknown(_ json: ArchiveValue, in context: DecodingContext, _ slots: inout JSONSlots) throws {
    if context.json.unknownKeys == .capture {
      guard keepsUnknownFields, case .object(let rest)? = try rest(of: json) else { return }
      slots.unknownFields = UnknownFields(rest)
      return
    }
    let errors = read.strangers(in: json).map { path in
      ArchiveError(.unknownKey, reason(ofUnknown: path, json, in: context), path: path, typeName: typeName)
    }
    guard let first = errors.first else { return }
    guard context.collectsErrors else { throw first }
    slots.errors += errors.map { (entries.count, $0) }
  }

  /// The reason and remedy for a key that no field reads. A key of a subclass is not a mistake of the mapping.
  private func reason(
    ofUnknown path: [ArchiveError.PathComponent], _ json: ArchiveValue, in context: DecodingContext
  ) -> String {
    guard let type = TypeShape.model(type), type.schema.isObject else {
      return "JSON holds a key that no field reads; map it, or ignore unknown keys"
    }
    let reader = type.knownSubclasses.first { subclass in
      !context.json.plan(of: subclass.schema).read.strangers(in: json).contains(path)
    }
    guard let reader else {
      return
        "JSON holds a key that no field of \(typeName) reads; map it, or ignore unknown keys; a key of a subclass is "
        + "read by that class, or by a tag with a JSONCluster"
    }
    return "JSON holds a key that \(reader.schema.name) reads and its superclass \(typeName) does not; read "
      + "\(reader.schema.name) itself, or both by a tag with a JSONCluster, or ignore unknown keys"
  }

  private func value(
    of entry: Entry, _ found: ArchiveValue?, _ json: ArchiveValue, in context: DecodingContext
  ) throws -> ArchiveValue? {
    guard entry.json.isRead else { return nil }
    switch entry.source {
    case .absent: return nil
    case .key: return found
    case .entireObject: return json
    case .path(let path): return try find(path, in: json, entry)
    case .firstOf(let paths):
      for path in paths { if let value = try find(path, in: json, entry) { return value } }
      return nil
    case .paths(let paths):
      var values: [ArchiveObject.Entry] = []
      for path in paths {
        if let value = try find(path, in: json, entry) { values.append(.init(key: path.memberKey, value: value)) }
      }
      return values.isEmpty ? nil : .object(ArchiveObject(values))
    }
  }

  private func find(_ path: ValuePath, in json: ArchiveValue, _ entry: Entry) throws -> ArchiveValue? {
    do { return try path.value(in: json) } catch {
      throw ArchiveError(
        error.code, error.reason, path: [.key(entry.field.key)], typeName: typeName,
        extra: .init(jsonPath: error.codingPath, input: error.input))
    }
  }

  /// Converts a value to the form that the field reads; `nil` if the field takes its default.
  private func processed(_ value: ArchiveValue, _ entry: Entry, in context: DecodingContext) throws -> ArchiveValue? {
    let json = entry.json
    do {
      var value = value
      if !json.coercions.isEmpty {
        for coercion in json.coercions.sorted(by: { $0.rawValue < $1.rawValue }) {
          if let exact = coercion.exact(value) { value = exact }
        }
      }
      if value.isNull, json.transform?.takesNull != true {
        guard !entry.isNullable || json.nullPolicy != .fail else { return value }
        switch json.nullPolicy {
        case .fail: throw ArchiveError(.typeMismatch, entry.nullReason)
        case .useDefault: return try entry.field.makeDefault?() ?? (entry.isNullable ? value : nil)
        case .value(let substitute): return substitute
        }
      }
      if let transform = json.transform { value = try transform.read(value, context) }
      return value
    } catch {
      throw locate(error, entry.place, input: value)
    }
  }

  /// Skips the elements of an array that the field cannot hold.
  private func skipInvalid(
    _ value: inout ArchiveValue?, _ entry: Entry, in context: DecodingContext, _ slots: inout JSONSlots
  ) throws {
    guard case .array(let elements)? = value else { return }
    let type = TypeShape.unwrapped(entry.field.type)
    func skip<A: ArrayType>(_ type: A.Type) throws {
      let (values, made) = try type.valid(elements, in: context)
      slots.made[entry.place] = made.map { A.made(of: $0) }
      value = made == nil ? .array(values) : nil
    }
    do { if let type = type as? any ArrayType.Type { try skip(type) } } catch { throw locate(error, entry.place) }
  }
}
