internal import Synchronization

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
  private let json = AtomicLazyReference<AnyObject>()
  private let merging = AtomicLazyReference<AnyObject>()

  @inline(__always)
  borrowing func notes<Notes: SchemaNotes>(_ type: Notes.Type, of schema: ModelSchema) -> Notes {
    switch Notes.slot {
    case .json: Self.notes(type, of: schema, in: json)
    case .merging: Self.notes(type, of: schema, in: merging)
    }
  }

  @inline(__always)
  private static func notes<Notes: SchemaNotes>(
    _ type: Notes.Type, of schema: ModelSchema, in slot: borrowing AtomicLazyReference<AnyObject>
  ) -> Notes {
    // Made outside of any lock: a model's own declaration may ask for its schema. Of two that are made at once one is kept.
    // A slot has the notes of one type, and a checked cast would cost more than what they are asked for.
    unsafeDowncast(slot.load() ?? slot.storeIfNil(Notes(schema)), to: type)
  }
}

extension ModelSchema {
  /// What a folder above has found out about the model, made at the first call.
  package func notes<Notes: SchemaNotes>(_ type: Notes.Type) -> Notes { noteStore.notes(type, of: self) }
}
