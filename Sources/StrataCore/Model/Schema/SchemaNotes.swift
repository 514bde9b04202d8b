/// Data about a model that a higher layer, such as JSON or merging, computes once and stores with the schema. The
/// schema itself does not depend on these layers.
package protocol SchemaNotes: AnyObject, Sendable {
  /// The slot of the schema in which this kind of data is stored.
  static var slot: SchemaNotesSlot { get }
  init(_ schema: ModelSchema)
}

/// The slots in which a schema stores data for higher layers, one slot per layer.
package enum SchemaNotesSlot: Sendable { case json, merging }

/// Storage for the data that higher layers keep about one schema (``SchemaNotes``).
///
/// The `Sendable` conformance is unchecked, because the data is stored as untyped addresses. This is safe, because all `SchemaNotes` are
/// `Sendable`.
struct SchemaNoteStore: ~Copyable, @unchecked Sendable {
  /// The addresses of the ``SchemaNotes`` objects of the JSON and merging layers. An address is zero until its object is created; this
  /// store then retains the object.
  private let json = AtomicWord()
  private let merging = AtomicWord()

  deinit {
    for address in [json.load(), merging.load()] { Self.reference(address)?.release() }
  }

  @inline(__always)
  private static func reference(_ address: UInt) -> Unmanaged<AnyObject>? {
    UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
  }

  @inline(__always)
  borrowing func notes<Notes: SchemaNotes>(_ type: Notes.Type, of schema: ModelSchema) -> Notes {
    switch Notes.slot {
    case .json: Self.notes(type, of: schema, in: json)
    case .merging: Self.notes(type, of: schema, in: merging)
    }
  }

  @inline(__always)
  private static func notes<Notes: SchemaNotes>(
    _ type: Notes.Type, of schema: ModelSchema, in slot: borrowing AtomicWord
  ) -> Notes {
    let known = reference(slot.load()) ?? createNotes(Notes.self, of: schema, in: slot)
    // The cast is unchecked, because a checked cast would cost more than most uses of the object. This is safe, because each slot contains
    // objects of only one type.
    return unsafeDowncast(known.takeUnretainedValue(), to: type)
  }

  /// Creates the ``SchemaNotes`` object without holding a lock. Holding a lock could cause a deadlock, because the declaration of a model
  /// may access the model's own schema. If two threads create an object at the same time, only one object is kept.
  private static func createNotes<Notes: SchemaNotes>(
    _ type: Notes.Type, of schema: ModelSchema, in slot: borrowing AtomicWord
  ) -> Unmanaged<AnyObject> {
    let made = Unmanaged<AnyObject>.passRetained(Notes(schema))
    let own = UInt(bitPattern: made.toOpaque())
    let kept = slot.storeIfZero(own)
    if kept != own { made.release() }
    return reference(kept) ?? made
  }
}

extension ModelSchema {
  /// Returns the data that a higher layer stores about the model. The data is created on first use.
  package func notes<Notes: SchemaNotes>(_ type: Notes.Type) -> Notes { noteStore.notes(type, of: self) }
}
