/// The name, version and fields of a model. There is one instance for each type.
public final class ModelSchema: Sendable {
  /// The registered name. Archives contain this name instead of the name of the Swift type.
  public let name: String
  /// Earlier registered names of the type. Archives with these names can be read.
  public let formerNames: [String]
  /// The current version, which is written to new archives.
  public let modelVersion: Int
  /// The oldest versions of the model that may read and write records of the current version; `nil` if no older version may read them. The
  /// allowed versions can handle such records, because the later migration steps only set defaults.
  package let floors: VersionFloors?
  /// The fields in declaration order. The fields of superclasses follow the class's own fields.
  public let fields: [FieldInfo]
  /// The superclasses that are also models, nearest first.
  package let superclasses: [ModelSchema]
  /// Whether decoded models keep the keys that the model does not declare, and write them again.
  public let keepsUnknownFields: Bool
  /// The migration steps from older versions; `nil` if the model has none.
  public let migration: MigrationPlan?
  /// The cases of an enum; empty for a model with fields.
  package let cases: [CaseInfo]
  package let archivedKeys: [String]
  /// The current and former keys of all fields. An unknown field with one of these keys is archived under a different key.
  package let takenKeys: Set<ExactKey>
  package let allKeys: [String]
  package let archivedShape: RecordShape
  package let fullShape: RecordShape
  /// The encoded record definition of ``archivedShape``, with which most archive bodies begin; `nil` if the definition cannot be encoded in
  /// advance. This property and ``fullDefinition`` are variables, because their values refer to the schema itself and can only be created
  /// at the end of the initializer.
  private(set) nonisolated(unsafe) var archivedDefinition: LeadingDefinition?
  /// The encoded record definition of ``fullShape``, which merges use; `nil` if the definition cannot be encoded in advance.
  private(set) nonisolated(unsafe) var fullDefinition: LeadingDefinition?
  package let caseShapes: [String: RecordShape]
  /// Whether the model is a class. Archives preserve the identity of its instances.
  package let isObject: Bool
  /// Whether the model needs the slow read path, because the model is a class or its objects need a finishing step (``finishesModels``).
  package let readsSpecially: Bool
  /// Whether the model is a struct that does not keep unknown keys. Such models are written on the fast path.
  package let isPlainStructure: Bool
  /// Whether the model is an enum. A record of an enum has the case as its only key.
  package let isEnumeration: Bool
  package let hook: (@Sendable (String, Int, ModelRecord) throws -> ArchiveValue?)?
  /// The ``PostDecoding`` hook that runs on each decoded object; `nil` if the model has none.
  package let decodingHook: (any AnyModelHook)?
  package let validationHook: (any AnyModelHook)?
  /// Whether decoded objects need a finishing step: a hook, validation rules, or an update of the field in which the library stores its own
  /// data.
  package let finishesModels: Bool
  /// The type of the field in which the library stores its own data; `nil` if the model has no such field.
  package let libraryField: (any FinishingLibraryField.Type)?
  let formerCases: [String: String]
  private let insideCache = Mutex<SchemaCatalog?>(nil)
  let noteStore = SchemaNoteStore()
  private let problem: ArchiveError?
  package let type: Any.Type
  package var typeIdentity: ObjectIdentifier { ObjectIdentifier(type) }
  private let objectsAnswer = AtomicWord()
  /// Nonzero once the declaration has been checked and found correct. It is not checked again after that.
  private let isChecked = AtomicWord()

  /// A case of an enum with associated values.
  public struct CaseInfo: Sendable {
    /// The name of the case in archives.
    public let name: String
    /// Earlier names of the case. Archives with these names can be read.
    public let formerly: [String]
    /// The types of the associated values, used to find the models among them.
    public let payload: [Any.Type]
    /// The keys of the associated values in archives, in the order of ``payload``. The key is the label of a value, or
    /// `_0`, `_1` and so on by index for values without a label. Empty if the declaration omits the keys.
    public let labels: [String]
    private let declaresLabels: Bool

    /// Creates the description of a case, with the types and keys of its associated values. For a case without values, pass an empty list
    /// of keys. If an archive contains values for this case, decoding then reports them as unused.
    public init(
      _ name: String, formerly: [String] = [], payload: [Any.Type] = [], labels: [String]? = nil
    ) {
      self.name = name
      self.formerly = formerly
      self.payload = payload
      self.labels = labels ?? []
      declaresLabels = labels != nil
    }

    /// Whether the case can have an associated value with this key: the key is declared, or the declaration omits all keys.
    func takes(_ key: String) -> Bool { !declaresLabels || labels.contains(key) }
  }

  /// Creates the schema of a model.
  ///
  /// A mistake in the declaration, such as a duplicate key, a gap between migration steps, or a merge policy for a
  /// different type, is an error with the code `invalidSchema` or `invalidMigration`. The first encoding, decoding or
  /// merge throws the error. A mistake therefore shows up the first time that a development build saves the model.
  ///
  /// - Parameters:
  ///   - type: the type of the model. If the type conforms to ``Migratable`` or ``KeyMigrating``, its steps and hooks are
  ///     used.
  ///   - name: the registered name. The name must not change when the type is renamed.
  ///   - formerNames: earlier names of the type. Archives with these names can be read.
  ///   - version: the current version, 0 or greater, which is written to new archives.
  ///   - superclass: the superclass of a class, if it is also a model. The superclass's fields follow the given fields.
  ///   - fields: the fields, in the order in which the model reads and writes them.
  ///   - cases: the cases of an enum; empty for a model with fields.
  ///   - keepsUnknownFields: whether keys that the model does not declare are kept and written again.
  ///   - oldestReader: the oldest version of the model that may open archives of this version. The oldest reader must
  ///     keep unknown fields, and the later steps may only set defaults. By default, no older version may open the
  ///     archives.
  ///   - oldestWriter: the oldest version that may also save the archives again, including fields that are unknown to it.
  ///     By default, no older version may save the archives.
  public init<M>(
    _ type: M.Type, name: String, formerNames: [String] = [], version: Int,
    superclass: (any VersionedModel.Type)? = nil,
    fields: [FieldInfo] = [], cases: [CaseInfo] = [], keepsUnknownFields: Bool = false, oldestReader: Int? = nil,
    oldestWriter: Int? = nil
  ) {
    self.name = name
    self.formerNames = formerNames.filter { $0 != name }
    modelVersion = version
    let superclasses = superclass.map { [$0.schema] + $0.schema.superclasses } ?? []
    let fields = fields + (superclasses.first?.fields ?? [])
    self.superclasses = superclasses
    self.fields = fields
    self.cases = cases
    self.keepsUnknownFields = keepsUnknownFields || superclasses.first?.keepsUnknownFields ?? false
    let migration = (type as? any Migratable.Type)?.migration
    let isInherited = migration.map { $0.owner != nil && $0.owner != ObjectIdentifier(type) } ?? false
    self.migration = isInherited ? nil : migration
    isObject = type is AnyClass
    isEnumeration = !cases.isEmpty
    isPlainStructure = !isObject && !isEnumeration && !self.keepsUnknownFields
    hook = (type as? any KeyMigrating.Type).map { Self.makeHook($0) }
    decodingHook = (type as? any PostDecoding.Type).map { Self.makeDecodingHook($0) }
    validationHook = (type as? any Validating.Type).map { Self.makeValidationHook($0) }
    libraryField = fields.lazy.compactMap { $0.type as? any FinishingLibraryField.Type }.first
    finishesModels = decodingHook != nil || validationHook != nil || libraryField != nil
    readsSpecially = isObject || finishesModels
    allKeys = fields.map(\.key)
    let keys = fields.flatMap { [$0.key] + $0.formerly }
    takenKeys = Set(keys.map { ExactKey($0) })
    archivedKeys = fields.filter { $0.archive != .excluded }.map(\.key)
    let levels = superclasses.map { ModelRecord.Superclass(typeName: $0.name, modelVersion: $0.modelVersion) }
    let floors = VersionFloors(
      reader: oldestReader ?? oldestWriter ?? version, writer: oldestWriter ?? version)
    self.floors = floors.reader < version ? floors : nil
    archivedShape = RecordShape(
      typeName: name, modelVersion: version, keys: archivedKeys, levels: levels, floors: self.floors, isOfModel: true)
    fingerprint = Self.fingerprint([archivedShape.mark] + archivedKeys + cases.map(\.name))
    fullShape = archivedShape.limited(to: allKeys)
    caseShapes = Dictionary(
      cases.map { ($0.name, RecordShape(typeName: name, modelVersion: version, keys: [$0.name], isOfModel: true)) },
      uniquingKeysWith: { first, _ in first })
    formerCases = Dictionary(
      cases.flatMap { info in info.formerly.map { ($0, info.name) } }, uniquingKeysWith: { first, _ in first })
    self.type = type
    problem =
      Self.problem(name, version, fields, cases)
      ?? (hook == nil ? Self.problem(ofExcluded: fields, typeName: name) : nil)
      ?? superclass.flatMap { Self.problem(ofSuperclass: $0, typeName: name) }
      ?? Self.problem(ofInherited: migration, superclasses.first, typeName: name)
      ?? self.migration?.problem(upTo: version, typeName: name)
      ?? Self.problem(
        of: floors, name, version, self.migration, keepsUnknownFields: self.keepsUnknownFields && cases.isEmpty)
    guard cases.isEmpty, problem == nil else { return }
    archivedDefinition = LeadingDefinition(of: archivedShape, readBy: ObjectIdentifier(self))
    fullDefinition =
      archivedKeys == allKeys ? archivedDefinition : LeadingDefinition(of: fullShape, readBy: ObjectIdentifier(self))
  }

  /// Returns the error if the version floors (oldest reader and oldest writer) are invalid, or if a program with one of these versions
  /// could lose data; otherwise `nil`.
  private static func problem(
    of floors: VersionFloors, _ name: String, _ version: Int, _ migration: MigrationPlan?, keepsUnknownFields: Bool
  ) -> ArchiveError? {
    func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidSchema, reason, typeName: name) }
    guard (0...version).contains(floors.reader), (floors.reader...version).contains(floors.writer) else {
      return invalid(
        "oldestReader \(floors.reader) and oldestWriter \(floors.writer) are not valid for version \(version); specify "
          + "0 ≤ oldestReader ≤ oldestWriter ≤ version")
    }
    guard floors.reader < version else { return nil }
    guard keepsUnknownFields else {
      return invalid(
        "the model declares oldestReader or oldestWriter but does not keep unknown fields; add a property of type "
          + "UnknownFields to this version and the older ones, or, for an enum, remove oldestReader and oldestWriter")
    }
    for step in migration?.steps ?? [] where step.fromVersion >= floors.reader {
      for operation in step.operations {
        if case .setDefault = operation { continue }
        return invalid(
          "the step from version \(step.fromVersion) to \(step.toVersion) does more than set defaults (\(operation)), so "
            + "version \(step.fromVersion) cannot read later versions; set oldestReader to at least \(step.toVersion)")
      }
    }
    return nil
  }

  /// Returns the record shape for saving an object that a newer version of the model wrote.
  ///
  /// - Throws: ``ArchiveError`` with the code `newerModel` if the newer version does not allow this version to write
  ///   its records.
  func shape(of newer: UnknownFields.NewerVersion) throws -> RecordShape {
    guard newer.floors.writer <= modelVersion else {
      throw ArchiveError(
        .newerModel,
        "the object was written by version \(newer.version) of the model, which version \(modelVersion) can read but not "
          + "save; update the program", typeName: name, foundVersion: newer.version, supportedVersion: modelVersion)
    }
    return archivedShape.newer(newer.version, newer.floors)
  }

  private static func makeHook(
    _ type: (some KeyMigrating).Type
  ) -> @Sendable (String, Int, ModelRecord) throws -> ArchiveValue? {
    { try type.decodeValue(forKey: $0, modelVersion: $1, in: $2) }
  }

  private static func makeDecodingHook<M: PostDecoding>(_ type: M.Type) -> any AnyModelHook {
    ModelHook<M> { model, context in try model.didDecode(from: context.source) }
  }

  private static func makeValidationHook<M: Validating>(_ type: M.Type) -> any AnyModelHook {
    let plan = ValidationPlan<M>()
    return ModelHook<M> { model, context in
      try plan.run(on: &model, keepsReplacements: context.keepsReplacements)
    }
  }

  /// Returns the error if the superclass has no schema of its own but inherits one; otherwise `nil`. The properties that such a superclass
  /// declares would be lost.
  private static func problem(ofSuperclass superclass: any VersionedModel.Type, typeName: String) -> ArchiveError? {
    guard superclass.schema.typeIdentity != ObjectIdentifier(superclass) else { return nil }
    return ArchiveError(
      .invalidSchema,
      "the superclass \(superclass) has no schema of its own and inherits the schema of \(superclass.schema.name); "
        + "declare the superclass with @Model(version:superclass:), or write a schema for it",
      typeName: typeName)
  }

  /// Returns the error if an excluded field would have no value after decoding an archive; otherwise `nil`.
  private static func problem(ofExcluded fields: [FieldInfo], typeName: String) -> ArchiveError? {
    guard let field = fields.first(where: { $0.archive == .excluded && !$0.isOptional }) else { return nil }
    return ArchiveError(
      .invalidSchema,
      "the excluded field \(field.key) has no value after decoding; give the field a default, or make the field "
        + "optional",
      path: [.key(field.key)], typeName: typeName)
  }

  private static func problem(
    ofInherited migration: MigrationPlan?, _ superclass: ModelSchema?, typeName: String
  ) -> ArchiveError? {
    guard let superclass, superclass.migration != nil, let migration, migration.owner == nil else { return nil }
    return ArchiveError(
      .invalidMigration,
      "it is not clear whether the migration steps belong to the class or to its superclass \(superclass.name); create "
        + "each plan with its class, as in MigrationPlan(for: \(superclass.name).self, …)", typeName: typeName)
  }

  private static func problem(
    _ name: String, _ version: Int, _ fields: [FieldInfo], _ cases: [CaseInfo]
  ) -> ArchiveError? {
    func invalid(_ reason: String) -> ArchiveError { ArchiveError(.invalidSchema, reason, typeName: name) }
    if name.isEmpty || name.utf8.count > 1000 {
      return invalid("the type name is empty or longer than 1,000 bytes; specify a name of 1 to 1,000 bytes")
    }
    if RecordShape.parseMark(name).modelVersion != nil {
      return invalid("the type name \(name) ends with “@” and a number; specify a name without this ending")
    }
    if !RecordShape(typeName: name, modelVersion: max(version, 0), keys: []).hasPlainMark {
      return invalid(
        "the type name \(name) looks like a list of superclasses, as in “Dog@2 : Animal@1”; specify a name without "
          + "“ : ”")
    }
    if fields.count > 60_000 {
      return invalid(
        "the model has \(fields.count) fields, but the maximum is 60,000; move some of them to nested models")
    }
    if version < 0 { return invalid("the model version \(version) is negative; specify 0 or a greater number") }
    var keys = Set<String>()
    for field in fields {
      if !keys.insert(field.key).inserted {
        return invalid("two fields have the key \(field.key); use a different key for one of them")
      }
    }
    if let field = fields.first(where: { $0.storage == .none }) {
      return invalid(
        "the field \(field.key) has storage: .none, so it cannot be part of the schema; remove it from the fields")
    }
    for field in fields {
      for former in field.formerly where keys.contains(former) {
        return invalid(
          "the key \(former) belongs to a field but is also a former key of \(field.key); remove it from the former keys"
        )
      }
    }
    if Set(cases.map(\.name)).count < cases.count {
      return invalid("two cases have the same name; use a different name for each case")
    }
    for info in cases where !info.labels.isEmpty && info.labels.count != info.payload.count {
      return invalid(
        "the number of labels (\(info.labels.count)) of the case \(info.name) differs from the number of its associated "
          + "values (\(info.payload.count)); declare one label for each value, or remove the labels")
    }
    return nil
  }

  /// Checks the declaration of the model.
  ///
  /// - Throws: ``ArchiveError`` with the code `invalidSchema` or `invalidMigration` for a mistake, including a merge policy that cannot
  ///   apply to its field.
  /// - Complexity: constant after the first successful check.
  public func check() throws {
    if isChecked.load() != 0 { return }
    if let problem = problem ?? problemOfCases ?? problemOfShapes ?? TargetCheck.problem(of: self)
      ?? MergePolicyCheck.problem(of: self)
    {
      throw problem
    }
    isChecked.store(1)
  }

  /// Whether the declaration of the model is correct. If it is not, this property ignores the error, and the first encoding or decoding
  /// throws it.
  private var isValid: Bool { isChecked.load() != 0 || (try? check()) != nil }

  /// Returns whether the values in records of the given shape are the model's current fields in the order of the schema, so that they can
  /// be read without looking up keys.
  package func reads(_ shape: RecordShape, includingExcluded: Bool) -> Bool {
    let today = includingExcluded ? fullShape : archivedShape
    return hook == nil && cases.isEmpty && isValid && shape.modelVersion == modelVersion
      && shape.keys == today.keys && isNamed(shape.typeName) && hasCurrentSuperclasses(shape)
  }

  /// Returns the encoded definition of records whose values can be read without looking up keys; `nil` if there is no such definition, or
  /// if the declaration of the model is incorrect.
  func definition(includingExcluded: Bool) -> LeadingDefinition? {
    guard hook == nil, isValid else { return nil }
    return includingExcluded ? fullDefinition : archivedDefinition
  }

  private func hasCurrentSuperclasses(_ shape: RecordShape) -> Bool {
    shape.levels.count == superclasses.count
      && zip(shape.levels, superclasses).allSatisfy { level, schema in
        level.modelVersion == schema.modelVersion && schema.isNamed(level.typeName)
      }
  }

  /// The schemas of all models in the fields or associated values, including this model's own schema if the model can
  /// contain itself. The result is cached.
  package var inside: SchemaCatalog {
    if let known = insideCache.withLock({ $0 }) { return known }
    var catalog = SchemaCatalog()
    for type in fields.map(\.type) + cases.flatMap(\.payload) {
      TypeShape.archivable(type)?._collectSchemas(into: &catalog)
    }
    insideCache.withLock { $0 = catalog }
    return catalog
  }

  /// Whether a nested model may have validation rules. This includes every nested class, because its subclasses may have rules.
  package var holdsValidation: Bool { inside.schemas.contains { $0.validationHook != nil || $0.isObject } }

  package func isNamed(_ name: String) -> Bool { name == self.name || formerNames.contains(name) }

  package func caseName(_ key: String) -> String? { caseShapes[key] != nil ? key : formerCases[key] }

  /// Whether the model is a class or can contain instances of a class, at any depth.
  ///
  /// The property is computed on first use. In the initializer, the schemas of nested models may not exist yet, because models can contain
  /// each other.
  package var holdsObjects: Bool {
    if objectsAnswer.load() == 0 { objectsAnswer.store(SchemaCatalog(of: type).objectTypes.isEmpty ? 1 : 2) }
    return objectsAnswer.load() == 2
  }

  /// A 64-bit FNV-1a hash of the name, the version, and the keys or cases. The hash is the same on all platforms.
  public let fingerprint: UInt64

  package static func fingerprint(of shape: RecordShape) -> UInt64 { fingerprint([shape.mark] + shape.keys) }

  private static func fingerprint(_ texts: [String]) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for text in texts {
      for byte in Array(text.utf8) + [0] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
    return hash
  }

  /// Returns the default of the field with this index in the schema. `@Model` generates a call to this function if the expression of the
  /// default would have a different meaning in the generated code than in the declaration.
  ///
  /// - Throws: ``ArchiveError`` with the code `missingValue` if the field has no default of this type. If the type is optional, the
  ///   function returns nil instead of throwing.
  public func initialValue<T>(_ place: Int, _ type: T.Type = T.self) throws -> T {
    guard fields.indices.contains(place), let value = fields[place].makeInitial?() as? T else {
      return try ArchiveReader.absent()
    }
    return value
  }

  /// Returns the schema of a model that is generic or is declared in an extension of a type that may be generic. The
  /// schema is created once for each set of generic arguments.
  ///
  /// The schemas are kept in a cache, because generic types cannot have stored static properties.
  @inlinable
  public static func cached<M>(_ type: M.Type, _ make: () -> ModelSchema) -> ModelSchema {
    let identity = ObjectIdentifier(type)
    return SchemaCache.schema(of: identity) ?? SchemaCache.insert(make(), of: identity)
  }
}
