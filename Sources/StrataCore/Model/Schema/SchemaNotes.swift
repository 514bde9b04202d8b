/// Data that a higher folder computes about a model once and keeps with its schema. The schema itself does not depend
/// on any format or on merging.
package protocol SchemaNotes: AnyObject, Sendable {
  /// The slot in which it is kept.
  static var slot: SchemaNotesSlot { get }
  init(_ schema: ModelSchema)
}

/// The slots for notes, one for each folder that computes some.
package enum SchemaNotesSlot: Sendable { case json, merging }

/// The notes of one schema.
///
/// Unchecked, because a reference to any object is not known to be `Sendable`. Only notes are kept, which are.
struct SchemaNoteStore: ~Copyable, @unchecked Sendable {
  /// The addresses of the notes, which this store retains; zero before they are created.
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
    // A slot has notes of one type, and a checked cast would cost more than most uses of the notes.
    return unsafeDowncast(known.takeUnretainedValue(), to: type)
  }

  /// Creates the notes without holding a lock, because a model's own declaration may ask for its schema. If two threads
  /// create notes at once, only one of them is kept.
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
  /// The data that a higher folder keeps about the model, created at the first call.
  package func notes<Notes: SchemaNotes>(_ type: Notes.Type) -> Notes { noteStore.notes(type, of: self) }
}
