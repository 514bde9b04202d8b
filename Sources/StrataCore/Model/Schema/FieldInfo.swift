/// Whether archives contain a field.
public enum ArchiveBehavior: String, Sendable, Hashable {
  /// Always written.
  case always
  /// A reference that is written only if the same archive also contains the object through another reference, before or
  /// after; otherwise it is archived as nil. For optional references to class models, above all weak ones.
  case conditional
  /// Never written. Upgrade hooks are still called for it, and the key is read from an archive that has it.
  case excluded
}

/// The treatment of the properties of a superclass that is not a model.
public enum SuperclassBehavior: String, Sendable, Hashable {
  /// Never written, and never changed by merging.
  case excluded
}

/// The part that a field plays in equality, hash and description.
public enum StorageBehavior: String, Sendable, Hashable {
  /// The field counts everywhere.
  case permanent
  /// The property is not a field at all. Only for `@Field(storage:)` on a property that has an initial value or is an
  /// optional variable. A list of fields omits such a property.
  case none
  /// The field is archived, copied, merged and validated, but equality, hash and description ignore it: for caches and
  /// for references back to an owner.
  case transitory
}

/// One field of a model: its key, and how archives, merging and JSON treat it.
public struct FieldInfo: Sendable {
  /// The key in archives.
  public let key: String
  /// Earlier keys of the field. If the key is absent, the first earlier key that is present is read.
  public let formerly: [String]
  /// Whether archives contain the field.
  public let archive: ArchiveBehavior
  /// Whether equality, hash and description include the field.
  public let storage: StorageBehavior
  /// The merge policy of the field.
  public let merge: MergePolicy
  /// The JSON form of the field: under its own key unless set.
  public let json: JSONField
  /// The treatment of an enum case that this program does not know.
  public let unknown: UnknownCasePolicy
  /// The declared type.
  public let type: Any.Type
  /// The shape of the type.
  package let shape: TypeShape
  /// Whether the library keeps its own data in the field.
  package let isLibraryField: Bool
  /// Whether the field of an object cannot change after the object was created.
  public let isConstant: Bool
  package let makeDefault: (@Sendable () throws -> ArchiveValue)?
  /// The default itself.
  let makeInitial: (@Sendable () -> Any)?

  /// A field of a model.
  ///
  /// - Parameters:
  ///   - type: the declared type. Without it, the type of the default.
  ///   - makeDefault: the value of the field in a new object whose key is absent. Without one, the key is required
  ///     unless the field is optional.
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

  /// Creates a field with the default treatment. A call needs less code than a call of the initializer above.
  public init<T>(_ key: String, _ type: T.Type = T.self) { self.init(key, type, formerly: []) }

  /// As above, with a default.
  public init<T>(_ key: String, _ type: T.Type = T.self, default makeDefault: @escaping @Sendable () -> T) {
    self.init(key, type, formerly: [], default: makeDefault)
  }

  /// A field of a generic model, whose default may name generic parameters.
  ///
  /// `initialValue` creates the initial value of a stored property. It captures only generic types. The compiler cannot
  /// check that, so the closure is not `@Sendable`.
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

  /// The path of keys to the field in JSON, up to the first index; the field's own key if it is not in JSON.
  public var jsonPath: ValuePath { json.keys(of: key) }

  /// Whether JSON or an archive may lack the field: it has a default or is an optional.
  public var isOptional: Bool { makeDefault != nil || shape.isOptional }

  /// Whether the field holds values of a type, or optionals of it.
  func holds<T>(_ type: T.Type) -> Bool { self.type is T.Type || self.type is T?.Type }

  /// The value of the field in a new object whose key is absent: the default, or null for an optional. Returns `nil` if the key must be there.
  package func absentValue() throws -> ArchiveValue? { try makeDefault?() ?? (shape.isOptional ? .null : nil) }
}

/// Unchecked, because the closure captures only types.
private struct InitialValue<T>: @unchecked Sendable {
  let make: () -> T
}
