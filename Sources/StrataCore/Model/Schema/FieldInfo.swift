/// Whether archives contain a field.
public enum ArchiveBehavior: String, Sendable, Hashable {
  /// The field is always written.
  case always
  /// The field is a reference that is written only if an unconditional reference elsewhere adds the same object to the archive. Otherwise
  /// the field is archived as nil. Use this behavior for optional references to class models, especially for weak references.
  case conditional
  /// The field is never written. If an archive nevertheless contains the key, the field is read. Upgrade hooks are also
  /// called for the field.
  case excluded
}

/// How the properties of a superclass that is not a model are treated.
public enum SuperclassBehavior: String, Sendable, Hashable {
  /// The properties are never written, and merging never changes them.
  case excluded
}

/// Whether equality, hashing and descriptions include a field.
public enum StorageBehavior: String, Sendable, Hashable {
  /// Equality, hashing and descriptions include the field.
  case permanent
  /// The property is not a field. Use this case only in `@Field(storage:)`, for a property with an initial value or an
  /// optional variable. In a list of fields, omit the property instead.
  case none
  /// The field is archived, copied, merged and validated, but equality, hashing and descriptions ignore it. Use this
  /// case for caches and for references to an owner.
  case transitory
}

/// One field of a model: its key, and how archives, merging and JSON treat it.
public struct FieldInfo: Sendable {
  /// The key in archives.
  public let key: String
  /// Earlier keys of the field. If the current key is absent, the first earlier key that is present is read.
  public let formerly: [String]
  /// Whether archives contain the field.
  public let archive: ArchiveBehavior
  /// Whether equality, hashing and descriptions include the field.
  public let storage: StorageBehavior
  /// The merge policy of the field.
  public let merge: MergePolicy
  /// The JSON form of the field. By default, the field is stored under its own key.
  public let json: JSONField
  /// How the field reads an enum case that this program does not know.
  public let unknown: UnknownCasePolicy
  /// The declared type.
  public let type: Any.Type
  package let shape: TypeShape
  /// Whether the field contains data that the library stores in the model, such as the base of the next merge.
  package let isLibraryField: Bool
  /// Whether the field is a constant property of a class. Such a field cannot change after the object is created.
  public let isConstant: Bool
  package let makeDefault: (@Sendable () throws -> ArchiveValue)?
  /// A closure that creates the default as a value of the field's type, instead of an archive value; `nil` if the field
  /// has no such default.
  let makeInitial: (@Sendable () -> Any)?

  /// Creates a field of a model.
  ///
  /// - Parameters:
  ///   - type: the declared type; by default the type of the default value.
  ///   - makeDefault: creates the value of the field in a new object if the key is absent. Without a default, the key
  ///     is required unless the field is optional.
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

  /// Creates a field with default options. A call to this initializer compiles to less code than a call to the initializer with all
  /// parameters.
  public init<T>(_ key: String, _ type: T.Type = T.self) { self.init(key, type, formerly: []) }

  /// Creates a field with a default value and default options.
  public init<T>(_ key: String, _ type: T.Type = T.self, default makeDefault: @escaping @Sendable () -> T) {
    self.init(key, type, formerly: [], default: makeDefault)
  }

  /// Creates a field of a generic model. The default may use generic parameters.
  ///
  /// `initialValue` creates the initial value of a stored property. The closure must capture nothing but generic types,
  /// which makes it safe to share. The compiler cannot check this rule, so the parameter is not `@Sendable`.
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

  /// The keys on the path to the field in a JSON object, up to the first array index in the path. For a field that is not part of the JSON,
  /// the path is the field's own key.
  public var jsonPath: ValuePath { json.keys(of: key) }

  /// Whether JSON or an archive may lack the field, because it has a default or is optional.
  public var isOptional: Bool { makeDefault != nil || shape.isOptional }

  /// Whether the field is declared with the given type or with an optional of it.
  func holds<T>(_ type: T.Type) -> Bool { self.type is T.Type || self.type is T?.Type }

  /// Returns the value of the field in a new object if the key is absent: the default, or null for an optional field.
  /// Returns `nil` if the key is required.
  package func absentValue() throws -> ArchiveValue? { try makeDefault?() ?? (shape.isOptional ? .null : nil) }

  /// Whether new objects get different defaults, such as `UUID()`. Random defaults can be equal by chance, so several defaults are
  /// compared.
  package var hasChangingDefault: Bool {
    // Errors are ignored here, because creating an object throws the same error.
    guard let makeDefault, let first = try? makeDefault() else { return false }
    return (0..<4).contains { _ in (try? makeDefault()).map { $0 != first } ?? false }
  }
}

/// A closure that creates the initial value of a property. The unchecked `Sendable` conformance is safe, because the closure captures only
/// types.
private struct InitialValue<T>: @unchecked Sendable {
  let make: () -> T
}
