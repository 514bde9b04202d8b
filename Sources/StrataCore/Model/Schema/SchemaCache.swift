public import Synchronization

/// The schemas of types that cannot have stored static properties, since they are generic or in an extension of what may be.
///
/// Every reading and writing of such a model asks for its schema, so asking takes no lock, and is compiled into whoever asks. What is
/// found is never changed: a schema stands in its slot before its type does. A table that is outgrown is not freed, as somebody may be
/// reading it; all of them together are smaller than the last.
@usableFromInline
enum SchemaCache {
  @usableFromInline
  struct Slot: ~Copyable {
    /// Zero where nothing stands here yet.
    @usableFromInline
    let type = Atomic<UInt>(0)
    @usableFromInline
    var schema: Unmanaged<ModelSchema>?
  }

  @usableFromInline
  struct Table {
    /// One less than the number of slots, which is a power of two.
    @usableFromInline
    let mask: Int
    @usableFromInline
    let slots: UnsafeMutablePointer<Slot>

    init(capacity: Int) {
      mask = capacity - 1
      slots = .allocate(capacity: capacity)
      for place in 0..<capacity { (slots + place).initialize(to: Slot()) }
    }

    @inlinable
    @inline(__always)
    func firstPlace(of type: UInt) -> Int {
      Int(truncatingIfNeeded: (UInt64(type) &* 0x9e37_79b9_7f4a_7c15) >> 33) & mask
    }

    @inlinable
    @inline(__always)
    func schema(of type: UInt) -> ModelSchema? {
      var place = firstPlace(of: type)
      while true {
        let found = slots[place].type.load(ordering: .acquiring)
        if found == type { return slots[place].schema?.takeUnretainedValue() }
        // A table is at most half full.
        if found == 0 { return nil }
        place = (place + 1) & mask
      }
    }

    func insert(_ schema: Unmanaged<ModelSchema>?, of type: UInt) {
      var place = firstPlace(of: type)
      while slots[place].type.load(ordering: .relaxed) != 0 { place = (place + 1) & mask }
      slots[place].schema = schema
      slots[place].type.store(type, ordering: .releasing)
    }
  }

  /// The address of the table; zero before there is one.
  @usableFromInline
  static let address = Atomic<UInt>(0)
  /// How many schemas there are; who inserts holds the lock.
  private static let count = Mutex(0)

  @inlinable
  @inline(__always)
  static func schema(of type: ObjectIdentifier) -> ModelSchema? {
    table?.schema(of: UInt(bitPattern: type))
  }

  @inlinable
  @inline(__always)
  static var table: Table? { UnsafePointer<Table>(bitPattern: address.load(ordering: .acquiring))?.pointee }

  /// Keeps a schema, unless somebody was faster; the one that is kept.
  @usableFromInline
  static func insert(_ schema: ModelSchema, of type: ObjectIdentifier) -> ModelSchema {
    count.withLock { count in
      if let known = self.schema(of: type) { return known }
      count += 1
      room(for: count).insert(Unmanaged.passRetained(schema), of: UInt(bitPattern: type))
      return schema
    }
  }

  /// The table, or one twice as large with all that it has.
  private static func room(for count: Int) -> Table {
    let table = table
    if let table, count * 2 <= table.mask + 1 { return table }
    let larger = Table(capacity: table.map { ($0.mask + 1) * 2 } ?? 64)
    if let table {
      for place in 0...table.mask {
        let type = table.slots[place].type.load(ordering: .relaxed)
        if type != 0 { larger.insert(table.slots[place].schema, of: type) }
      }
    }
    let head = UnsafeMutablePointer<Table>.allocate(capacity: 1)
    head.initialize(to: larger)
    address.store(UInt(bitPattern: head), ordering: .releasing)
    return larger
  }
}
