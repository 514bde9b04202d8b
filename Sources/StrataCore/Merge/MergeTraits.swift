/// What a model says about merging, found once for each type: asking a type what it conforms to takes its time.
final class MergeTraits: SchemaNotes {
  static var slot: SchemaNotesSlot { .merging }

  let rules: MergeRules?
  let hooks: (any KeyMerging.Type)?
  /// The key that identifies models of the type: the one that their rules name, else `id`; `nil` if there is neither.
  let identityKey: IdentityKey?
  /// The places of its keys among the fields.
  let identityPlaces: [Int]
  let fields: [ExactKey: FieldInfo]
  /// The keys of fields in which merging remembers something.
  let stateKeys: Set<String>
  /// The keys of fields that no merge changes, and of those in ``stateKeys``.
  let keptKeys: Set<String>
  /// Whether no field of an object can change, so that a merge replaces the object.
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
  /// What the model says about merging.
  var mergeTraits: MergeTraits { notes(MergeTraits.self) }

  /// The key by which models of the type are identified; `nil` where there is none.
  var identityKey: IdentityKey? { mergeTraits.identityKey }

  /// What tells a model from others of its type, and its key; `nil` where it has nothing that does.
  func identity(of record: @autoclosure () throws -> ModelRecord) rethrows -> (key: IdentityKey, value: ArchiveValue)? {
    guard let key = identityKey, let value = try record()[key], !value.isNull else { return nil }
    return (key, value)
  }
}
