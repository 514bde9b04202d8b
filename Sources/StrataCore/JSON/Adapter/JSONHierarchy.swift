/// How JSON tells the objects of a class from those of its subclasses: a tag among the fields.
struct JSONHierarchy: Sendable {
  /// The key of the tag.
  let key: String
  /// The tags, each with the class that it means, of the class itself and of all below it that it knows.
  private let classes: [(tag: String, type: any VersionedModel.Type)]

  /// The classes below one that conforms to ``JSONTagged``.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping` for a form of tags that classes do not have, names of classes
  ///   that there are not, and a tag that two classes have.
  init(_ type: any VersionedModel.Type, _ tagging: JSONTagging) throws {
    guard case .internal(let key) = tagging.form else {
      throw Self.invalid("a class has its tag among its fields; use .internal(…)", type)
    }
    var catalog = SchemaCatalog()
    type._collectSchemas(into: &catalog)
    let below = catalog.objectTypes.filter { $0.value.isSubtype(of: type) }
    // What a subclass inherits names the others as well.
    if type.schema.superclasses.isEmpty, let (_, name) = tagging.names.first(where: { below[$0.name] == nil }) {
      throw Self.invalid(
        "there is no class \(name), which a tag of JSON names; let the superclass name it as one of its subclasses",
        type)
    }
    var classes: [(tag: String, type: any VersionedModel.Type)] = []
    for (name, type) in below.sorted(by: { $0.key < $1.key }) {
      let spellings = tagging.names.filter { $0.name == name }.map(\.tag)
      classes += (spellings.isEmpty ? [name] : spellings).map { ($0, type) }
    }
    var tags = Set<ExactKey>()
    if let twice = classes.first(where: { !tags.insert(ExactKey($0.tag)).inserted }) {
      throw Self.invalid("two classes have the tag \(twice.tag); give each its own", type)
    }
    (self.key, self.classes) = (key, classes)
  }

  private static func invalid(_ reason: String, _ type: any VersionedModel.Type) -> ArchiveError {
    ArchiveError(.invalidMapping, reason, typeName: type.schema.name)
  }

  /// The tag that objects of a class are written with; `nil` for a class that is none of these.
  func tag(of type: any VersionedModel.Type) -> String? { classes.first { $0.type == type }?.tag }

  /// The class that an object is of, and the object as the class reads it: the tag is not in it unless a field has it.
  ///
  /// - Throws: ``ArchiveError`` with the code `missingValue` where there is no tag, `unknownCase` where no class has it, and
  ///   `typeMismatch` where it is no text.
  func resolved(_ object: ArchiveObject, in reading: JSONReading) throws -> (any VersionedModel.Type, ArchiveObject) {
    guard let (type, rest) = try tagged(object, in: reading) else {
      throw ArchiveError(.missingValue, "the tag of the class is absent", path: [.key(key)])
    }
    return (type, rest)
  }

  /// The same; `nil` where there is no tag.
  func tagged(_ object: ArchiveObject, in reading: JSONReading) throws -> (any VersionedModel.Type, ArchiveObject)? {
    guard let value = object[key] else { return nil }
    guard case .string(let tag) = value else {
      throw ArchiveError(
        .typeMismatch, "found \(value.kind) where the tag of a class is expected", path: [.key(key)],
        extra: .init(input: value))
    }
    guard let type = classes.first(where: { ExactKey.isSame($0.tag, tag) })?.type else {
      throw ArchiveError(
        .unknownCase, "the tag of the class is none of \(classes.map(\.tag).joined(separator: ", "))",
        path: [.key(key)], extra: .init(input: value))
    }
    guard reading.plan(of: type.schema).held.rest(of: .init(key: key, value: value)) != nil else {
      return (type, object)
    }
    var rest = object
    rest[key] = nil
    return (type, rest)
  }
}

extension JSONHierarchy {
  /// Throws where JSON would not tell an object from one of its superclass, so that reading would lose what its class adds.
  ///
  /// - Parameters:
  ///   - own: the class of the object.
  ///   - declared: the class that the field, the list or the caller has it for.
  ///   - isInside: whether it is a part of something else; what the whole document is its reader knows.
  static func check(
    _ own: any VersionedModel.Type, as declared: any VersionedModel.Type, isInside: Bool
  ) throws(ArchiveError) {
    // A class without a description of its own is refused where its fields are written.
    guard own != declared, own.schema.typeIdentity == ObjectIdentifier(own) else { return }
    let (name, superclass) = (own.schema.name, declared.schema.name)
    guard let hierarchy = try declared.schema.jsonHierarchy() else {
      guard isInside else { return }
      throw ArchiveError(
        .notEncodable,
        "JSON would not tell that this \(superclass) is an object of \(name), and reading it would lose what \(name) adds; "
          + "let \(superclass) conform to JSONTagged and ModelHierarchy, or use a JSONCluster", typeName: name)
    }
    guard hierarchy.tag(of: own) == nil else { return }
    throw ArchiveError(
      .notEncodable,
      "JSON has no tag for \(name), since \(superclass) does not name it; add it to the subclasses of \(superclass) "
        + "(ModelHierarchy)", typeName: name)
  }
}

extension ModelSchema {
  /// How JSON tells the objects of a class and of those below it apart; `nil` where it does not.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidMapping`.
  func jsonHierarchy() throws(ArchiveError) -> JSONHierarchy? {
    guard isObject else { return nil }
    let notes = notes(JSONNotes.self)
    if let problem = notes.taggingProblem { throw problem }
    return notes.hierarchy
  }
}
