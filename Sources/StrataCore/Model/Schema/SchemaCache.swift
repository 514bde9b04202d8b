/// A cache of the schemas of types that cannot have stored static properties, because they are generic or are declared in an extension of a
/// type that may be generic.
///
/// Every read or write of a model with such a type looks up the schema. Lookups take no lock, because tables are immutable and an insertion
/// creates a new table. The old table is never freed, because a thread may still be reading it. This wastes little memory, because a
/// program has few generic types.
@usableFromInline
enum SchemaCache {
  private final class Table: Sendable {
    let schemas: [ObjectIdentifier: ModelSchema]

    init(_ schemas: [ObjectIdentifier: ModelSchema]) { self.schemas = schemas }
  }

  /// The address of the current table, which lookups read without a lock; zero until the first schema is inserted.
  private static let address = AtomicWord()
  /// Retains all tables that were ever created. The last table is the current one.
  private static let tables = Mutex([Table]())

  private static var schemas: [ObjectIdentifier: ModelSchema] {
    guard let table = UnsafeRawPointer(bitPattern: address.load()) else { return [:] }
    return Unmanaged<Table>.fromOpaque(table).takeUnretainedValue().schemas
  }

  @usableFromInline
  static func schema(of type: ObjectIdentifier) -> ModelSchema? { schemas[type] }

  /// Inserts a schema unless a different thread has already inserted one for the same type. Returns the schema that the
  /// cache then contains.
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
