/// The merge rules, hooks and identity that a model declares. Cached for each type, because looking up a type's conformances is slow.
final class MergeTraits: SchemaNotes {
  static var slot: SchemaNotesSlot { .merging }

  let rules: MergeRules?
  let hooks: (any KeyMerging.Type)?
  /// The key that identifies models of the type: the key in the type's merge rules, or else `id`; `nil` if there is neither.
  let identityKey: IdentityKey?
  /// The indices of the fields that form ``identityKey``.
  let identityPlaces: [Int]
  /// Whether each new model gets a different default identity, as in `var id = UUID()`.
  let hasChangingIdentity: Bool
  let fields: [ExactKey: FieldInfo]
  /// The keys of fields that hold a ``MergeState``.
  let stateKeys: Set<String>
  /// The keys of the fields whose own policy always keeps the local value, and ``stateKeys``.
  let keptKeys: Set<String>
  /// Whether every field is a constant and the model keeps no unknown fields. A merge cannot change such an object, so it replaces the
  /// object with a new one if possible.
  let hasConstantsOnly: Bool

  init(_ schema: ModelSchema) {
    rules = (schema.type as? any Mergeable.Type)?.mergeRules
    hooks = schema.type as? any KeyMerging.Type
    identityKey = rules?.identity ?? (schema.allKeys.contains("id") ? IdentityKey("id") : nil)
    identityPlaces = identityKey?.keys.compactMap(schema.fullShape.place) ?? []
    fields = Dictionary(schema.fields.map { (ExactKey($0.key), $0) }, uniquingKeysWith: { first, _ in first })
    hasChangingIdentity = identityKey.map { [fields] in Self.isChanging($0, fields) } ?? false
    stateKeys = Set(schema.fields.filter { $0.type is MergeState.Type }.map(\.key))
    keptKeys = stateKeys.union(schema.fields.filter(\.merge.keepsLocal).map(\.key))
    hasConstantsOnly = !schema.keepsUnknownFields && schema.fields.allSatisfy(\.isConstant)
  }

  /// Whether all fields of an identity have defaults that together differ for each new model, as in `var id = UUID()`.
  func isChanging(_ key: IdentityKey) -> Bool {
    key == identityKey ? hasChangingIdentity : Self.isChanging(key, fields)
  }

  private static func isChanging(_ key: IdentityKey, _ fields: [ExactKey: FieldInfo]) -> Bool {
    let parts = key.keys.map { fields[ExactKey($0)] }
    return parts.allSatisfy { $0?.makeDefault != nil } && parts.contains { $0?.hasChangingDefault ?? false }
  }
}

extension ModelSchema {
  var mergeTraits: MergeTraits { notes(MergeTraits.self) }

  /// The key that identifies models of the type; `nil` if there is none.
  var identityKey: IdentityKey? { mergeTraits.identityKey }

  /// Returns the identity of a model together with the key that identifies the model; `nil` for a model without an identity.
  func identity(of record: @autoclosure () throws -> ModelRecord) rethrows -> (key: IdentityKey, value: ArchiveValue)? {
    guard let key = identityKey, let value = try record()[key], !value.isNull else { return nil }
    return (key, value)
  }
}
