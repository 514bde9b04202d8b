/// A type whose values can be archived.
///
/// The scalar types of the standard library and Foundation conform, and so do collections and optionals of conforming
/// types. A model conforms through ``VersionedModel``. An enum with raw values declares the conformance:
///
///     enum State: String, Archivable { case open, closed }
///
/// A type that is only `Codable` does not need to conform, because it is archived through its own coding.
public protocol Archivable {
  /// Writes the value.
  ///
  /// - Throws: ``ArchiveError``, or any error that the type's own code throws.
  func write(to writer: inout ArchiveWriter) throws

  /// Reads the next value from the bytes.
  ///
  /// - Throws: ``ArchiveError`` if the bytes are damaged or contain a value of a different kind.
  static func read(from reader: inout ArchiveReader) throws -> Self

  /// Creates a value from an untyped value. Used when data is upgraded, merged or read from JSON.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the untyped value is of a different kind.
  static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self

  /// Creates a value from an element of a JSON text. A type can implement this method to parse the text itself, which is faster than first
  /// creating an ``ArchiveValue``.
  ///
  /// The result must equal the result of `decode(from:in:)` for ``JSONElement/value(duplicateKeys:)``. The default implementation calls
  /// `decode(from:in:)`.
  ///
  /// - Throws: ``ArchiveError`` with the code `typeMismatch` if the element is a value of a different kind.
  static func decode(fromJSON element: JSONElement, in context: DecodingContext) throws -> Self

  /// Adds the schemas of all models that a value can contain, for tools that upgrade archives without creating models.
  /// The default implementation adds the schemas of the types in ``typeShape``.
  static func _collectSchemas(into catalog: inout SchemaCatalog)

  /// The name of the type in archive headers (stamps) and in the names of generic models.
  static var _archiveTypeName: String { get }

  /// The schema of a model, or of the models in a container; `nil` for any other type. The default implementation
  /// returns the schema of the elements in ``typeShape``.
  static var _rootSchema: ModelSchema? { get }

  /// Whether a value can be written as null. If so, an optional of the type cannot distinguish that value from nil.
  static var _mayBeNull: Bool { get }

  /// The shape of the type, which determines how values are merged and stored in columns. For types that the library
  /// does not know, the default is ``TypeShape/opaque``. A container of models must declare a shape:
  /// ``ModelSchema/check()`` rejects an opaque type whose `_rootSchema` is a model.
  static var typeShape: TypeShape { get }

  /// The number of models, as recorded in an archive's header (stamp): the element count of an array, set or dictionary,
  /// otherwise 1.
  var _archivedCount: Int { get }
}

extension Archivable {
  /// Produces a compile-time error with a suggested fix for a type that declares the conformance but lacks the methods.
  @available(
    *, unavailable,
    message:
      "declare a struct, a class or an enum with associated values with @Model instead of Archivable; give an enum raw values, as in enum State: String, Archivable; or implement write(to:) and decode(from:in:)"
  )
  public func write(to writer: inout ArchiveWriter) throws {}

  /// Produces a compile-time error with a suggested fix for a type that declares the conformance but lacks the methods.
  @available(
    *, unavailable,
    message:
      "declare a struct, a class or an enum with associated values with @Model instead of Archivable; give an enum raw values, as in enum State: String, Archivable; or implement write(to:) and decode(from:in:)"
  )
  public static func decode(from value: ArchiveValue, in context: DecodingContext) throws -> Self {
    throw ArchiveError(.invalidSchema, "the type does not implement decode(from:in:)")
  }
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

  /// Encodes the value and returns the result as an untyped value.
  package func archivedValue(includingExcluded: Bool = false, role: ObjectRole? = nil) throws -> ArchiveValue {
    var writer = ArchiveWriter(includesExcluded: includingExcluded, minimumCapacity: 512)
    writer.objects = role
    try write(to: &writer)
    return try writer.value()
  }
}

extension ArchiveWriter {
  /// Reads back the bytes that have been written, and returns the untyped value that they contain.
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

/// The schemas of a model and of all models inside it, by type name.
///
/// Archive values contain only the names of types. Functions that work on such values therefore reject a name that two
/// types share.
public struct SchemaCatalog: Sendable {
  /// All schemas without duplicates, in the order in which they were found.
  package private(set) var schemas: [ModelSchema] = []
  private var schemasByName: [String: ModelSchema] = [:]
  private var types: Set<ObjectIdentifier> = []
  /// The type names that several types in the catalog share.
  package private(set) var ambiguousNames: Set<String> = []
  /// The models in the catalog that are classes, by type name and by former name.
  package private(set) var objectTypes: [String: any VersionedModel.Type] = [:]

  /// Whether any model in the catalog has a transitory field, which equality ignores.
  private(set) var hasTransitoryFields = false

  /// Whether archives may contain types, keys or cases that the current models would write differently, such as former names.
  private(set) var hasSubstitutes = false

  /// Creates an empty catalog.
  public init() {}

  /// Creates a catalog of the schemas of a type, of the models inside it, and of the given subclasses.
  package init(of type: Any.Type, and subclasses: [any VersionedModel.Type] = []) {
    TypeShape.archivable(type)?._collectSchemas(into: &self)
    for subclass in subclasses { subclass._collectSchemas(into: &self) }
  }

  /// Notes that archives may contain values that the current types would write differently.
  public mutating func addSubstitutes() { hasSubstitutes = true }

  /// Adds a schema under its name and its former names.
  ///
  /// - Returns: whether the schema is new to the catalog. Callers use the result to end the recursion over models that
  ///   contain each other.
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

  /// Returns the classes of the objects that a graph with this root type may contain, by type name.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two of the classes have the same name.
  static func objectTypes(
    of root: any Archivable.Type, and subclasses: [any VersionedModel.Type]
  ) throws -> [String: any VersionedModel.Type] {
    let catalog = SchemaCatalog(of: root, and: subclasses)
    for name in catalog.ambiguousNames.sorted() where catalog.objectTypes[name] != nil {
      _ = try catalog.schema(named: name)
    }
    return catalog.objectTypes
  }

  /// The schema of the type with this name or former name; `nil` if the catalog has none.
  public subscript(name: String) -> ModelSchema? { schemasByName[name] }

  /// Returns the schema of the type with this name or former name; `nil` if the catalog has none.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` if two types share the name.
  package func schema(named name: String) throws -> ModelSchema? {
    if let error = problem(ofName: name) { throw error }
    return schemasByName[name]
  }

  /// Returns the error for a name that several types share; `nil` if the name is unique.
  package func problem(ofName name: String) -> ArchiveError? {
    guard ambiguousNames.contains(name) else { return nil }
    return ArchiveError(
      .invalidSchema, "two types have the name \(name); rename one of the types",
      typeName: name)
  }
}
