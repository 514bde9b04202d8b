/// Whether archives hold a field.
public enum ArchiveBehavior: String, Sendable, Hashable {
  /// Always written.
  case always
  /// A reference that is written only where something else in the same archive writes the object, before or after; else
  /// it is archived as nil. For optional references to class models, weak ones above all.
  case conditional
  /// Never written. Upgrade hooks are asked for it all the same, and an archive that holds the key is read.
  case excluded
}

/// What becomes of the properties of a superclass that is no model.
public enum SuperclassBehavior: String, Sendable, Hashable {
  /// Never written, and left alone by merging.
  case excluded
}

/// What part a field takes in what an object is, besides being archived.
public enum StorageBehavior: String, Sendable, Hashable {
  /// The field counts everywhere.
  case permanent
  /// The property takes no part at all: it is no field. Only for `@Field(storage:)` on a property that has an initial
  /// value or is an optional variable; a list of fields leaves such a property out.
  case none
  /// The field is archived, copied, merged and validated, but equality, hash and description leave it out: for caches and for
  /// references back to an owner.
  case transitory
}

/// One field of a model: its key, and how archives, merging and JSON treat it.
public struct FieldInfo: Sendable {
  /// The key in archives.
  public let key: String
  /// Keys that the field had before; the first one that is there is read where the key is absent.
  public let formerly: [String]
  /// Whether archives hold the field.
  public let archive: ArchiveBehavior
  /// Whether equality, hash and description count it.
  public let storage: StorageBehavior
  /// What merging does with it.
  public let merge: MergePolicy
  /// How JSON holds the field: under its own key unless set.
  public let json: JSONField
  /// How an enum case that this program does not know is read.
  public let unknown: UnknownCasePolicy
  /// The declared type.
  public let type: Any.Type
  /// The shape of the type.
  package let shape: TypeShape
  /// Whether the library keeps something of its own in the field.
  let isLibraryField: Bool
  /// Whether the field of an object cannot change after it was made.
  public let isConstant: Bool
  package let makeDefault: (@Sendable () throws -> ArchiveValue)?
  /// The default itself.
  let makeInitial: (@Sendable () -> Any)?

  /// A field of a model.
  ///
  /// - Parameters:
  ///   - type: the declared type. Without it, the type of the default.
  ///   - makeDefault: the value of the field in a new object whose key is absent. Without one, the key of a field that is no optional must be there.
  public init<T>(
    _ key: String, _ type: T.Type = T.self, formerly: [String] = [], archive: ArchiveBehavior = .always,
    storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail, isConstant: Bool = false, default makeDefault: (@Sendable () -> T)? = nil
  ) {
    self.key = key
    self.type = type
    shape = TypeShape(of: type)
    self.formerly = formerly
    self.archive = archive
    isLibraryField = type is any LibraryField.Type
    self.storage = isLibraryField ? .transitory : storage
    self.merge = isLibraryField ? .keepLocal : merge
    self.json = isLibraryField ? .none : json
    self.unknown = unknown
    self.isConstant = isConstant
    makeInitial = makeDefault
    guard let makeDefault else {
      self.makeDefault = nil
      return
    }
    self.makeDefault = { try ValueCoding.value(of: makeDefault()) }
  }

  /// A field of a model that is treated as fields are by default. A call needs less code than one of the initializer above.
  public init<T>(_ key: String, _ type: T.Type = T.self) { self.init(key, type, formerly: []) }

  /// As above, with a default.
  public init<T>(_ key: String, _ type: T.Type = T.self, default makeDefault: @escaping @Sendable () -> T) {
    self.init(key, type, formerly: [], default: makeDefault)
  }

  /// A field of a generic model, whose default may name generic parameters.
  ///
  /// `initialValue` makes the initial value of a stored property. It captures generic types only. The compiler cannot check that, so the
  /// closure is not `@Sendable`.
  public init<T>(
    _ key: String, _ type: T.Type = T.self, formerly: [String] = [], archive: ArchiveBehavior = .always,
    storage: StorageBehavior = .permanent, merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail, isConstant: Bool = false, initialValue: @escaping () -> T
  ) {
    let value = InitialValue(make: initialValue)
    self.init(
      key, type, formerly: formerly, archive: archive, storage: storage, merge: merge, json: json, unknown: unknown,
      isConstant: isConstant, default: { value.make() })
  }

  /// The keys that lead to the field in JSON, as far as they are keys; the key itself where JSON does not hold it.
  public var jsonPath: ValuePath { json.keys(of: key) }

  /// Whether JSON may leave the field out, or an archive: it has a default or is an optional.
  public var isOptional: Bool { makeDefault != nil || shape.isOptional }

  /// Whether the field holds values of a type, or optionals of it.
  func holds<T>(_ type: T.Type) -> Bool { self.type is T.Type || self.type is T?.Type }

  /// The value of the field in a new object whose key is absent: the default, or null for an optional. Returns `nil` if the key must be there.
  func absentValue() throws -> ArchiveValue? { try makeDefault?() ?? (shape.isOptional ? .null : nil) }
}

/// Unchecked, since the closure captures types only.
private struct InitialValue<T>: @unchecked Sendable {
  let make: () -> T
}
