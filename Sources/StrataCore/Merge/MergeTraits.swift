/// What a model declares for merging, such as its merge rules and hooks. Cached for each type, because looking up a type's conformances is
/// slow.
final class MergeTraits: SchemaNotes {
  static var slot: SchemaNotesSlot { .merging }

  let rules: MergeRules?
  let hooks: (any KeyMerging.Type)?
  /// The key that identifies models of the type: the key in the type's merge rules, or else `id`; `nil` if there is neither.
  let identityKey: IdentityKey?
  /// The indices of the fields that form ``identityKey``.
  let identityPlaces: [Int]
  let fields: [ExactKey: FieldInfo]
  /// The keys of fields that hold a ``MergeState``.
  let stateKeys: Set<String>
  /// The keys of the fields whose own policy always keeps the local value, and ``stateKeys``.
  let keptKeys: Set<String>
  /// Whether every field is a `let` constant. A merge cannot change such an object, and replaces it by a new one if possible.
  let hasConstantsOnly: Bool

  init(_ schema: ModelSchema) {
    rules = (schema.type as? any Mergeable.Type)?.mergeRules
    hooks = schema.type as? any KeyMerging.Type
    identityKey = rules?.identity ?? (schema.allKeys.contains("id") ? IdentityKey("id") : nil)
    identityPlaces = identityKey?.keys.compactMap(schema.fullShape.place) ?? []
    fields = Dictionary(schema.fields.map { (ExactKey($0.key), $0) }, uniquingKeysWith: { first, _ in first })
    stateKeys = Set(schema.fields.filter { $0.type is MergeState.Type }.map(\.key))
    keptKeys = stateKeys.union(schema.fields.filter(\.merge.keepsLocal).map(\.key))
    hasConstantsOnly = !schema.keepsUnknownFields && schema.fields.allSatisfy(\.isConstant)
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
