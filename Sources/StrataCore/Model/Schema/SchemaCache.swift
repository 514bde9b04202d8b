/// A cache of the schemas of types that cannot have stored static properties, because they are generic or in an
/// extension of a type that may be generic.
///
/// Every read or write of a model with such a type looks up the schema. Lookups take no lock, because tables are
/// immutable and an insertion creates a new table. The old table is not freed, because a thread may still be reading
/// it. The wasted memory is small, because a program has few generic types.
@usableFromInline
enum SchemaCache {
  private final class Table: Sendable {
    let schemas: [ObjectIdentifier: ModelSchema]

    init(_ schemas: [ObjectIdentifier: ModelSchema]) { self.schemas = schemas }
  }

  /// The address of the current table; zero if there is none.
  private static let address = AtomicWord()
  /// All tables. The last table is the current table.
  private static let tables = Mutex([Table]())

  private static var schemas: [ObjectIdentifier: ModelSchema] {
    guard let table = UnsafeRawPointer(bitPattern: address.load()) else { return [:] }
    return Unmanaged<Table>.fromOpaque(table).takeUnretainedValue().schemas
  }

  @usableFromInline
  static func schema(of type: ObjectIdentifier) -> ModelSchema? { schemas[type] }

  /// Inserts a schema unless a different thread has already inserted one. Returns the schema in the table.
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
