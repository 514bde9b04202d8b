/// A type whose values can be archived.
///
/// The scalars of the standard library and Foundation conform, and so do collections and optionals of conforming types. A
/// model conforms through ``VersionedModel``, an enum with raw values by naming this protocol:
///
///     enum State: String, Archivable { case open, closed }
///
/// A type that is only `Codable` needs no conformance: it is archived through its own coding.
public protocol Archivable {
  /// Writes the value.
  ///
  /// - Throws: ``ArchiveError``, or the errors of the type's own code.
  func write(to writer: inout ArchiveWriter) throws

  /// Reads the next value in the bytes.
  ///
  /// - Throws: ``ArchiveError`` if the bytes are damaged or contain another kind of value.
  static func read(from reader: inout ArchiveReader) throws -> Self

  /// Creates a value from an untyped one, as upgrades, merging and JSON do.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the value has another kind.
  static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self

  /// Creates a value from an element of a JSON text. No ``ArchiveValue`` is created if the type reads the text itself.
  ///
  /// The result must equal the result of `decode(from:in:)` for ``JSONElement/value(duplicateKeys:)``. The default
  /// implementation calls that function.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if JSON has another kind of value.
  static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self

  /// Adds the schemas of the models inside, for tools that upgrade without building models. By default, those of the
  /// types in ``typeShape``.
  static func _collectSchemas(into catalog: inout SchemaCatalog)

  /// The name of the type in stamps and inside a generic model's name.
  static var _archiveTypeName: String { get }

  /// The schema of a model, or of the models in a container; `nil` for any other type. The default implementation returns
  /// the schema of the elements in ``typeShape``.
  static var _rootSchema: ModelSchema? { get }

  /// Whether a value can be written as null, like an optional. An optional of such a type could not distinguish it from nil.
  static var _mayBeNull: Bool { get }

  /// The shape of the type, by which merging and columns distinguish types. It is ``TypeShape/opaque`` unless the
  /// library knows the type. A container of models declares its own: ``ModelSchema/check()`` rejects an opaque type
  /// whose `_rootSchema` is a model.
  static var typeShape: TypeShape { get }

  /// The number of models in the value, for stamps: the number of elements of an array, otherwise 1.
  var _archivedCount: Int { get }
}

extension Archivable {
  public static func read(from reader: inout ArchiveReader) throws -> Self {
    try decode(from: reader.readValue(), in: reader.context)
  }

  public static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self {
    try decode(from: element.value(), in: context)
  }

  public static func _collectSchemas(into catalog: inout SchemaCatalog) {
    for type in typeShape.parts { TypeShape.archivable(type)?._collectSchemas(into: &catalog) }
  }

  public static var _archiveTypeName: String { String(describing: Self.self) }

  public static var _rootSchema: ModelSchema? {
    typeShape.parts.last.flatMap { TypeShape.archivable($0)?._rootSchema }
  }

  public static var typeShape: TypeShape { .opaque }

  public var _archivedCount: Int { 1 }

  @inlinable
  public static var _mayBeNull: Bool { false }

  /// The value without its type.
  package func archivedValue(includingExcluded: Bool = false, role: ObjectRole? = nil) throws -> ArchiveValue {
    var writer = ArchiveWriter(includesExcluded: includingExcluded, minimumCapacity: 512)
    writer.objects = role
    try write(to: &writer)
    return try writer.value()
  }
}

extension ArchiveWriter {
  /// The written bytes, read again as a value.
  package borrowing func value() throws -> ArchiveValue {
    try buffer.withBytes { bytes in
      var limits = ArchiveLimits()
      limits.depth = depthLimit
      var reader = ArchiveReader(bytes, context: DecodingContext(limits: limits))
      try reader.beginBody()
      if objects != nil { reader.context.graph.elsewhere = 0..<Int.max }
      return try reader.readValue()
    }
  }
}

/// The schemas of a model and of all models that it contains, by type name.
///
/// Values contain only names, so functions that work on values reject a name that two of the types have.
public struct SchemaCatalog: Sendable {
  /// Every schema once, in the order in which they were found.
  package private(set) var schemas: [ModelSchema] = []
  private var schemasByName: [String: ModelSchema] = [:]
  private var types: Set<ObjectIdentifier> = []
  /// Names that two types have.
  package private(set) var ambiguousNames: Set<String> = []
  /// The classes among the models, by type name and former names.
  package private(set) var objectTypes: [String: any VersionedModel.Type] = [:]

  /// Whether one of the models has a field that equality ignores.
  private(set) var hasTransitoryFields = false

  /// Whether archives may contain types, keys or cases under other names than the current ones.
  private(set) var hasSubstitutes = false

  /// A catalogue without models.
  public init() {}

  /// The schemas of a type, of the models inside it and of classes that may occur in it.
  package init(of type: Any.Type, and subclasses: [any VersionedModel.Type] = []) {
    TypeShape.archivable(type)?._collectSchemas(into: &self)
    for subclass in subclasses { subclass._collectSchemas(into: &self) }
  }

  /// Notes that archives may contain values of a type in another form than the type would write.
  public mutating func addSubstitutes() { hasSubstitutes = true }

  /// Adds a schema under its name and former names.
  ///
  /// - Returns: whether it was new, so that recursion over models that contain each other ends.
  public mutating func add(_ schema: ModelSchema) -> Bool {
    guard types.insert(schema.typeIdentity).inserted else { return false }
    schemas.append(schema)
    if let known = schemasByName[schema.name], known.name == schema.name {
      ambiguousNames.insert(schema.name)
    } else {
      schemasByName[schema.name] = schema
    }
    if schema.hasSubstitutes { hasSubstitutes = true }
    if schema.fields.contains(where: { $0.storage == .transitory }) { hasTransitoryFields = true }
    for name in schema.formerNames where schemasByName[name] == nil { schemasByName[name] = schema }
    return true
  }

  package mutating func addObjectType(_ type: any VersionedModel.Type) {
    let schema = type.schema
    objectTypes[schema.name] = type
    for name in schema.formerNames where objectTypes[name] == nil { objectTypes[name] = type }
  }

  /// The classes that the objects of a graph may have, by type name.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two of them have the same name.
  static func objectTypes(
    of root: any Archivable.Type, and subclasses: [any VersionedModel.Type]
  ) throws -> [String: any VersionedModel.Type] {
    let catalog = SchemaCatalog(of: root, and: subclasses)
    for name in catalog.ambiguousNames.sorted() where catalog.objectTypes[name] != nil {
      _ = try catalog.schema(named: name)
    }
    return catalog.objectTypes
  }

  /// The schema of a type name.
  public subscript(name: String) -> ModelSchema? { schemasByName[name] }

  /// The schema of a type name.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two types have the name.
  package func schema(named name: String) throws -> ModelSchema? {
    if let error = problem(ofName: name) { throw error }
    return schemasByName[name]
  }

  /// The error for a name that two types have.
  package func problem(ofName name: String) -> ArchiveError? {
    guard ambiguousNames.contains(name) else { return nil }
    return ArchiveError(
      .invalidSchema, "two types are called \(name); give one of them another name",
      typeName: name)
  }
}
