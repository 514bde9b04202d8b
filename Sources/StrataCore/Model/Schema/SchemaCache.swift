internal import CAtomics

/// The schemas of types that cannot have stored static properties, because they are generic or in an extension of a
/// type that may be generic.
///
/// Every reading and writing of such a model looks up its schema, so lookups take no lock. An entry never changes, and
/// its schema is set before its type. A table that was replaced by a larger one is not freed, because a thread may be
/// reading it. All replaced tables together are smaller than the current one.
@usableFromInline
enum SchemaCache {
  private struct Slot {
    /// The address of the type, or zero for a free slot. It is the first word of the slot, and accessed as an atomic word.
    var type: UInt = 0
    var schema: Unmanaged<ModelSchema>?
  }

  private struct Table {
    /// One less than the number of slots, which is a power of two.
    let mask: Int
    let slots: UnsafeMutablePointer<Slot>

    init(capacity: Int) {
      mask = capacity - 1
      slots = .allocate(capacity: capacity)
      slots.initialize(repeating: Slot(), count: capacity)
    }

    @inline(__always)
    func type(at place: Int) -> UnsafeMutablePointer<UInt> {
      UnsafeMutableRawPointer(slots + place).assumingMemoryBound(to: UInt.self)
    }

    @inline(__always)
    func firstPlace(of type: UInt) -> Int {
      Int(truncatingIfNeeded: (UInt64(type) &* 0x9e37_79b9_7f4a_7c15) >> 33) & mask
    }

    @inline(__always)
    func schema(of type: UInt) -> ModelSchema? {
      var place = firstPlace(of: type)
      while true {
        let found = strata_atomic_load(self.type(at: place))
        if found == type { return slots[place].schema?.takeUnretainedValue() }
        // A table is at most half full.
        if found == 0 { return nil }
        place = (place + 1) & mask
      }
    }

    func insert(_ schema: Unmanaged<ModelSchema>?, of type: UInt) {
      var place = firstPlace(of: type)
      while strata_atomic_load(self.type(at: place)) != 0 { place = (place + 1) & mask }
      slots[place].schema = schema
      strata_atomic_store(self.type(at: place), type)
    }
  }

  /// The address of the table; zero if there is none.
  private static let address = AtomicWord()
  /// The number of schemas. Its lock is held while inserting.
  private static let count = Mutex(0)

  @usableFromInline
  static func schema(of type: ObjectIdentifier) -> ModelSchema? {
    table?.schema(of: UInt(bitPattern: type))
  }

  @inline(__always)
  private static var table: Table? { UnsafePointer<Table>(bitPattern: address.load())?.pointee }

  /// Inserts a schema unless another thread inserted one first. Returns the schema in the table.
  @usableFromInline
  static func insert(_ schema: ModelSchema, of type: ObjectIdentifier) -> ModelSchema {
    count.withLock { count in
      if let known = self.schema(of: type) { return known }
      count += 1
      room(for: count).insert(Unmanaged.passRetained(schema), of: UInt(bitPattern: type))
      return schema
    }
  }

  /// Returns the table, or a copy of twice its size if it is half full.
  private static func room(for count: Int) -> Table {
    let table = table
    if let table, count * 2 <= table.mask + 1 { return table }
    let larger = Table(capacity: table.map { ($0.mask + 1) * 2 } ?? 64)
    if let table {
      for place in 0...table.mask {
        let type = strata_atomic_load(table.type(at: place))
        if type != 0 { larger.insert(table.slots[place].schema, of: type) }
      }
    }
    let head = UnsafeMutablePointer<Table>.allocate(capacity: 1)
    head.initialize(to: larger)
    address.store(UInt(bitPattern: head))
    return larger
  }
}
