/// The cases of an enum, or a class and its known subclasses, with the JSON tags that identify them.
struct JSONKinds: Sendable {
  let discriminator: Discriminator
  /// The name of the case or class for each tag.
  private let names: [String: String]
  /// The tag that is written for each name.
  private let tags: [String: String]
  /// The classes by name; `nil` for an enum and for a class that does not conform to ``JSONTagged``.
  private let classes: [String: any VersionedModel.Type]?

  var isHierarchy: Bool { classes != nil }

  /// Whether enum cases have the same structure in JSON as in archives: an object with the name of the case as its only key.
  let isPlain: Bool

  /// Creates the tags from the declarations of an enum or a class.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` if a class uses external or adjacent tags, if a tag is declared for an
  ///   unknown case or class, if two cases or classes have the same tag, or if the position of the tag is invalid.
  init(_ schema: ModelSchema) throws {
    let type = schema.type as? any JSONTagged.Type
    let tagging = type?.jsonTagging ?? .external
    discriminator = tagging.discriminator
    var problems = discriminator.problems
    var classes: [String: any VersionedModel.Type]?
    if let type, schema.isObject {
      classes = SchemaCatalog(of: type).objectTypes.filter { $0.value.isSubtype(of: type) }
      if discriminator.key == nil {
        problems.append("a class cannot have external or adjacent tags; use .internal(…) in jsonTagging")
      }
    }
    let known = classes?.keys.sorted() ?? schema.cases.map(\.name)
    // Returns the current name of a case or a class, given its current name or a former name.
    func kind(_ name: String) -> String? {
      if let classes { classes[name]?.schema.name } else { schema.caseName(name) }
    }
    // A subclass inherits the `jsonTagging` of its superclass. The inherited names may belong to other subclasses, so they are not checked.
    for (_, name) in tagging.names where kind(name) == nil && schema.superclasses.isEmpty {
      problems.append(
        classes == nil
          ? "a JSON tag refers to the case \(name), which the enum does not have; correct the name in jsonTagging"
          : "a JSON tag refers to the class \(name), which is unknown; add the class to the subclasses of \(schema.name) "
            + "(ModelHierarchy), or correct the name in jsonTagging")
    }
    var (names, tags): ([String: String], [String: String]) = ([:], [:])
    let unspelled = known.filter { name in !tagging.names.contains { $0.name == name } }
    for (tag, name) in tagging.names + unspelled.map({ ($0, $0) }) where kind(name) != nil {
      if let other = names[tag], kind(other) != kind(name) {
        problems.append(
          classes == nil
            ? "the cases \(other) and \(name) have the same tag \(tag); use a different tag for one of them"
            : "the classes \(other) and \(name) have the same tag \(tag); use a different tag for one of them")
      }
      names[tag] = names[tag] ?? name
      tags[name] = tags[name] ?? tag
    }
    isPlain = discriminator.isKey && tagging.names.isEmpty
    (self.names, self.tags, self.classes) = (names, tags, classes)
    let errors = problems.map { ArchiveError(.invalidMapping, $0, typeName: schema.name) }
    if let error = ArchiveError.combined(errors) { throw error }
  }

  /// Returns the tag that is written for a case or a class; `nil` for an unknown name.
  func tag(of name: String) -> String? { tags[name] }

  // MARK: Classes

  /// Returns the class that the tag of a JSON object identifies, and the object to decode as this class. The tag is removed from the object
  /// unless a field of the class is mapped to the tag. Returns `nil` if the object has no tag.
  ///
  /// - Throws: ``ArchiveError`` with the code `unknownCase` if no class has the tag, and `typeMismatch` if the tag is not a string.
  func tagged(_ object: ArchiveObject, in reading: JSONReading) throws -> (any VersionedModel.Type, ArchiveObject)? {
    guard let key = discriminator.key, let value = object[key] else { return nil }
    let tag = try discriminator.text(value, of: "a class")
    guard let type = names[tag].flatMap({ classes?[$0] }) else {
      throw ArchiveError(
        .unknownCase,
        "the tag of the class is unknown; the known tags are \(names.keys.sorted().joined(separator: ", "))",
        path: [.key(key)],
        input: value)
    }
    var rest = object
    if reading.plan(of: type.schema).held.rest(of: .init(key: key, value: value)) != nil { rest[key] = nil }
    return (type, rest)
  }

  /// Throws an error if the JSON of an object would have no tag that distinguishes its class from the declared superclass. Reading this
  /// JSON would lose the properties of the subclass.
  ///
  /// - Parameters:
  ///   - own: the class of the object.
  ///   - declared: the class that the field, the list or the caller declares.
  ///   - isInside: whether the object is nested in a document. A whole document needs no tag, because the code that reads it specifies the
  ///     class.
  static func check(
    _ own: any VersionedModel.Type, as declared: any VersionedModel.Type, isInside: Bool
  ) throws(ArchiveError) {
    // A subclass without its own schema uses the schema of its superclass. Such a class is rejected later, when its fields are written.
    guard own != declared, own.schema.typeIdentity == ObjectIdentifier(own) else { return }
    let (name, superclass) = (own.schema.name, declared.schema.name)
    guard let hierarchy = try declared.schema.jsonHierarchy() else {
      guard isInside else { return }
      throw ArchiveError(
        .notEncodable,
        "the JSON of the class \(superclass) has no tag for the subclass \(name), so reading it back would lose the "
          + "fields of \(name); make \(superclass) conform to JSONTagged and ModelHierarchy, or use a JSONCluster",
        typeName: name)
    }
    guard hierarchy.classes?[name] != own else { return }
    throw ArchiveError(
      .notEncodable,
      "the class \(name) has no JSON tag because \(superclass) does not list it; add \(name) to the subclasses "
        + "of \(superclass) (ModelHierarchy)", typeName: name)
  }

  // MARK: Cases

  /// An enum case that was found in a JSON object.
  struct Case {
    /// The record of the case, with the same structure as in archives.
    let record: ModelRecord
    /// The path from the object to the associated values.
    let path: [ArchiveError.PathComponent]
    /// Whether an associated value without a label is the whole value at `path`, instead of a member of that value.
    let isWhole: Bool
  }

  func found(in object: ArchiveObject, _ schema: ModelSchema) throws -> Case {
    let parts = try discriminator.parts(of: object)
    let tag = try discriminator.text(parts.tag, of: "an enum")
    var payload = parts.content ?? [:]
    if let key = discriminator.key { try payload.set(nil, at: [.key(key)]) }
    // If the content has no member `_0`, it may itself be an associated value without a label, so the whole content is added under `_0`.
    let isWhole = !discriminator.isKey && payload["_0"] == nil
    if isWhole, parts.content != nil {
      let labelled = payload.objectValue?.entries ?? []
      payload = .object(ArchiveObject(labelled + [.init(key: "_0", value: payload)]))
    }
    let record = ModelRecord(
      typeName: schema.name, modelVersion: schema.modelVersion,
      object: ArchiveObject([.init(key: isPlain ? tag : names[tag] ?? tag, value: payload)]))
    return Case(record: record, path: parts.path, isWhole: isWhole)
  }

  /// Returns the associated values in their JSON form; `nil` if there are none.
  func content(of payload: ArchiveObject) -> ArchiveValue? {
    if discriminator.isKey { return .object(payload) }
    return payload.count == 1 ? payload["_0"] ?? .object(payload) : payload.isEmpty ? nil : .object(payload)
  }
}

extension ModelSchema {
  /// Returns the enum cases or subclasses with their JSON tags.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` for a mistake in the declaration of the tags.
  func jsonKinds() throws(ArchiveError) -> JSONKinds { try notes(JSONNotes.self).kinds.get() }

  /// Returns a class and its known subclasses, with their JSON tags; `nil` if the model is not a class that conforms to ``JSONTagged``.
  func jsonHierarchy() throws(ArchiveError) -> JSONKinds? {
    guard isObject else { return nil }
    let kinds = try jsonKinds()
    return kinds.isHierarchy ? kinds : nil
  }

  /// Returns the case that a JSON object represents.
  func jsonCase(in object: ArchiveObject) throws -> JSONKinds.Case {
    do { return try jsonKinds().found(in: object, self) } catch { throw ArchiveError.wrap(error).inType(name) }
  }
}
