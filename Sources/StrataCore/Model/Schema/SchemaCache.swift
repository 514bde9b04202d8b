/// The schemas of types that cannot have stored static properties, because they are generic or in an extension of a
/// type that may be generic.
///
/// Every reading and writing of such a model looks up its schema, so lookups take no lock. A table never changes, and an
/// insertion replaces it. A replaced table is not freed, because a thread may be reading it. The number of generic types
/// in a program is small.
@usableFromInline
enum SchemaCache {
  private final class Table: Sendable {
    let schemas: [ObjectIdentifier: ModelSchema]

    init(_ schemas: [ObjectIdentifier: ModelSchema]) { self.schemas = schemas }
  }

  /// The address of the current table; zero if there is none.
  private static let address = AtomicWord()
  /// All tables, the current one last.
  private static let tables = Mutex([Table]())

  private static var schemas: [ObjectIdentifier: ModelSchema] {
    guard let table = UnsafeRawPointer(bitPattern: address.load()) else { return [:] }
    return Unmanaged<Table>.fromOpaque(table).takeUnretainedValue().schemas
  }

  @usableFromInline
  static func schema(of type: ObjectIdentifier) -> ModelSchema? { schemas[type] }

  /// Inserts a schema unless another thread inserted one first. Returns the schema in the table.
  @usableFromInline
  static func insert(_ schema: ModelSchema, of type: ObjectIdentifier) -> ModelSchema {
    tables.withLock { tables in
      var schemas = tables.last?.schemas ?? [:]
      if let known = schemas[type] { return known }
      schemas[type] = schema
      let table = Table(schemas)
      tables.append(table)
      address.store(UInt(bitPattern: Unmanaged.passUnretained(table).toOpaque()))
      return schema
    }
  }
}
