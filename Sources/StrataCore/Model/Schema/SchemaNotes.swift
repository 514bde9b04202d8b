/// What a folder above has found out about models, made once for each and kept with its schema. The schema itself knows no
/// format and no merging.
package protocol SchemaNotes: AnyObject, Sendable {
  /// Where it is kept.
  static var slot: SchemaNotesSlot { get }
  init(_ schema: ModelSchema)
}

/// The places for notes, one for each folder that makes some.
package enum SchemaNotesSlot: Sendable { case json, merging }

/// The notes of one schema.
///
/// Unchecked, since a reference to any object does not say that it is `Sendable`; only notes are kept, which are.
struct SchemaNoteStore: ~Copyable, @unchecked Sendable {
  /// The addresses of the notes, which this store retains; zero before they are made.
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
    let known = reference(slot.load()) ?? make(Notes.self, of: schema, in: slot)
    // A slot has the notes of one type, and a checked cast would cost more than what they are asked for.
    return unsafeDowncast(known.takeUnretainedValue(), to: type)
  }

  /// Makes the notes outside of any lock, since a model's own declaration may ask for its schema. Of two that are made at once one is kept.
  private static func make<Notes: SchemaNotes>(
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
  /// What a folder above has found out about the model, made at the first call.
  package func notes<Notes: SchemaNotes>(_ type: Notes.Type) -> Notes { noteStore.notes(type, of: self) }
}
