/// The values found for the fields of a model, in the order of the schema.
struct JSONSlots {
  /// The value of each field; `nil` if there is no value at the path, or if the field is already decoded.
  var values: [ArchiveValue?]
  /// The values of already decoded fields, by field index.
  var made: [Int: Any] = [:]
  var unknownFields = UnknownFields()
  /// The indices of the fields whose lists had invalid elements that were skipped.
  var skipped = Set<Int>()
  /// The errors of the fields that could not be read, if errors are collected.
  var errors: [(place: Int, error: ArchiveError)] = []

  /// The input for decoding the model's fields.
  var fieldValues: FieldValues { made.isEmpty ? .slots(values) : .partlyMade(values, made) }
}

extension JSONPlan {
  /// Finds the value of each field in a document and applies the field's mapping to it.
  ///
  /// - Parameter suppliesMissing: whether an absent field gets the substitute value that the mapping declares. Pass `false` if absent
  ///   fields leave an existing model unchanged.
  func read(_ json: ArchiveValue, in context: DecodingContext, suppliesMissing: Bool = true) throws -> JSONSlots {
    if let problem { throw problem }
    var found = [ArchiveValue?](repeating: nil, count: entries.count)
    var slots = JSONSlots(values: [])
    let members = json.objectValue?.entries
    if members == nil, needsObject {
      throw ArchiveError.mismatch(expected: "a JSON object that represents \(typeName)", found: json.kind).about(json)
        .inType(typeName)
    }
    if context.json.unknownKeys != .ignore, !readsWhole { try noteUnknown(json, in: context, &slots) }
    var keys = KeyPlaces(members ?? [])
    for entry in entries where entry.json.isRead {
      let place = entry.place
      do {
        let value: ArchiveValue?
        if case .path(let path) = entry.source, let key = path.onlyKey {
          value = keys.place(of: key, near: place).flatMap { members?[$0].value }
        } else {
          value = try self.value(of: entry, json)
        }
        guard !entry.isPlain else {
          found[place] = value
          continue
        }
        if let value {
          found[place] = try processed(value, entry, in: context)
          if entry.json.skipsInvalid { try skipInvalid(&found[place], entry, in: context, &slots) }
        } else if suppliesMissing {
          found[place] = entry.json.missing
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
    var errors: [(place: Int, error: ArchiveError)] = []
    func add(_ path: [ArchiveError.PathComponent], _ reason: String) {
      errors.append((entries.count, ArchiveError(.unknownKey, reason, path: path, typeName: typeName)))
    }
    if context.json.unknownKeys == .refuse {
      for path in read.unmappedPaths(in: json) { add(path, reason(ofUnknown: path, json, in: context)) }
    } else if keepsUnknownFields {
      errors = uncapturable(in: json)
      switch rest(of: json) {
      case .object(let rest)?: slots.unknownFields = UnknownFields(rest)
      case .array(let elements)?:
        add(
          [.index(elements.firstIndex { !$0.isNull } ?? elements.count - 1)],
          "an element of the root array has values that no field reads, but unknownKeys: .capture keeps only members of "
            + "objects; map these values to fields, or pass unknownKeys: .ignore")
      default: break
      }
    }
    guard let first = errors.first else { return }
    guard context.collectsErrors else { throw first.error }
    slots.errors += errors
  }

  /// Checks the paths of write-only fields, and returns an error for each value that a path cannot pass through, such as a string where the
  /// path requires an object. Such a value cannot be captured as an unknown key, because writing the field would replace it.
  private func uncapturable(in json: ArchiveValue) -> [(place: Int, error: ArchiveError)] {
    entries.filter { $0.json.isWritten && !$0.json.isRead }.flatMap { entry in
      entry.writtenPaths.compactMap { path in
        do { _ = try find(path, in: json, entry) } catch {
          let error = ArchiveError.wrap(error)
          let remedy =
            "; unknownKeys: .capture cannot keep the value because writing \(entry.field.key) would replace it; map the "
            + "value to a field, or pass unknownKeys: .ignore"
          return (entry.place, error.changed { $0.reason += remedy })
        }
        return nil
      }
    }
  }

  /// Returns the error message for a key that no field reads, with a suggested fix. If a known subclass reads the key, the message suggests
  /// reading the document as the subclass.
  private func reason(
    ofUnknown path: [ArchiveError.PathComponent], _ json: ArchiveValue, in context: DecodingContext
  ) -> String {
    guard let type = TypeShape.model(type), type.schema.isObject else {
      return "the JSON contains a key that no field reads; map the key to a field, or pass unknownKeys: .ignore"
    }
    let reader = type.knownSubclasses.first { subclass in
      !context.json.plan(of: subclass.schema).read.unmappedPaths(in: json).contains(path)
    }
    guard let reader else {
      return
        "the JSON contains a key that no field of \(typeName) reads; map the key to a field, or pass unknownKeys: .ignore; for "
        + "a key of a subclass, read the document as the subclass, or use a JSONCluster"
    }
    return "the JSON contains a key that \(reader.schema.name) reads, but its superclass \(typeName) does not; read "
      + "the document as \(reader.schema.name), use a JSONCluster for both classes, or pass unknownKeys: .ignore"
  }

  private func value(of entry: Entry, _ json: ArchiveValue) throws -> ArchiveValue? {
    switch entry.source {
    case .automatic, .absent: return nil
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
        jsonPath: error.codingPath, input: error.input)
    }
  }

  /// Applies the coercions, the null policy and the transformer of a field to a value. Returns `nil`, so that the field is treated as
  /// absent, if a null should be replaced with the default of a non-optional field that has no default.
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
        switch json.nullPolicy {
        // Without a transformer, null is accepted or rejected later, when it is decoded as the field's type.
        case .fail where entry.isNullable || json.transform == nil: return value
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

  /// Removes elements from the array of a field if they cannot be decoded.
  private func skipInvalid(
    _ value: inout ArchiveValue?, _ entry: Entry, in context: DecodingContext, _ slots: inout JSONSlots
  ) throws {
    guard case .array(let elements)? = value else { return }
    let type = TypeShape.unwrapped(entry.field.type)
    func skip<A: ArrayType>(_ type: A.Type) throws {
      let (values, made) = try type.valid(elements, in: context)
      if (made?.count ?? values.count) < elements.count { slots.skipped.insert(entry.place) }
      slots.made[entry.place] = made.map { A.made(of: $0) }
      value = made == nil ? .array(values) : nil
    }
    do { if let type = type as? any ArrayType.Type { try skip(type) } } catch { throw locate(error, entry.place) }
  }
}
