#if Macros
  /// Makes a struct, class or enum archivable. Its stored properties are archived as a record with a registered name and a model version.
  ///
  ///     @Model(version: 2)
  ///     struct Issue {
  ///       let id: Int
  ///       @Field(formerly: "headline") var title: String
  ///       @Field(unknown: .useDefault) var state = State.open
  ///       @Field(archive: .excluded) var retrievedAt = Date.now
  ///     }
  ///
  ///     let data = try ArchiveEncoder().encode(issue)
  ///     let copy = try ArchiveDecoder().decode(Issue.self, from: data)
  ///
  /// Each stored property becomes a field, in declaration order. The key of the field is the property's name. If an archive lacks the key,
  /// the property gets its initial value, or nil if it is optional. Any other stored property is required. Computed and static properties
  /// are not archived. A property of type `UnknownFields` is not a field. It stores the keys that the model does not declare.
  ///
  /// A struct or class that is also `Codable` does not need to repeat its JSON keys. The raw value of each `CodingKeys`
  /// case is the JSON key of the property with the case's name. A property without a case is not in JSON.
  /// `@Field(json:)` takes precedence over `CodingKeys`. `CodingKeys` must be inside the type's declaration, because
  /// the macro does not see extensions. Archives do not depend on `CodingKeys`.
  ///
  /// A struct keeps its memberwise initializer. A class whose properties all have initial values keeps its `init()`.
  /// Generated members have the access level of the type. If imports are internal by default, a public model needs
  /// `public import Strata`.
  ///
  /// References between objects are preserved: several fields may refer to the same object, and references may form cycles. A weak
  /// reference is archived only if another reference adds its object to the archive. A class that is not final gets a required
  /// `init(fields:)` and can have subclasses, which are declared with `superclass:`.
  ///
  /// A model cannot be isolated to an actor, because archives are read and written on any thread. In a module that
  /// isolates types to the main actor by default, write `nonisolated struct`.
  ///
  /// If the type declares the requirement of `Migratable`, `KeyMigrating`, `Mergeable`, `KeyMerging`, `Validating`, `PostDecoding` or
  /// `JSONTagged`, such as `static let migration = MigrationPlan(…)`, but does not conform to the protocol, the code does not compile.
  /// The declaration would otherwise be ignored without a warning.
  ///
  /// A generic model has a separate registered name for each set of generic arguments, such as `Box<Int>`. An argument
  /// that is a model or a collection appears with its registered name, any other argument with its Swift name. If the
  /// model is nested in an extension of a generic type, its name contains the Swift names of that type's arguments, as
  /// in `Box<Int>.Item`.
  ///
  /// Each case of an enum is archived by name. The keys of the associated values are the labels, or `_0`, `_1` and so
  /// on for values without a label. An enum with raw values does not need the macro: `enum State: String, Archivable`.
  ///
  /// - Parameters:
  ///   - version: the model version in archives. When the fields change, increase it and add a migration step (see
  ///     `Migratable`).
  ///   - name: the registered name; by default the type's name, qualified by its enclosing types. It must not change
  ///     when the type is renamed.
  ///   - formerNames: former names of the type. Archives with these names can be read.
  ///   - oldestReader: the oldest model version that may open archives of this version. Set it if a release may be
  ///     rolled back. By default, no older version may open them.
  ///   - oldestWriter: the oldest model version that may open and save archives of this version. By default, no older
  ///     version may save them.
  @attached(
    member, conformances: VersionedModel, _StrataBaseClass, names: named(schema), prefixed(_schemaOf),
    prefixed(_rootOf),
    named(init()),
    named(init(fields:)), named(encodeFields(to:)), named(readField(_:from:)), named(adoptFields(of:)),
    named(adoptObject(_:)), named(archivedUnknownFields))
  @attached(
    extension, conformances: VersionedModel, _StrataBaseClass, names: named(init(fields:)), named(encodeFields(to:)),
    named(archivedUnknownFields), named(adoptFields(of:)), named(make(case:payload:)))
  public macro Model(
    version: Int, name: String? = nil, formerNames: [String] = [], oldestReader: Int? = nil, oldestWriter: Int? = nil
  ) =
    #externalMacro(module: "StrataMacros", type: "ModelMacro")

  /// Makes a class archivable, but not the properties that it inherits from its superclass. Use this macro if the superclass is not a
  /// model.
  ///
  ///     @Model(version: 1, superclass: .excluded)
  ///     final class Download: Operation {
  ///       var address = ""
  ///     }
  ///
  /// Archives, JSON, copies and merges contain only the properties that the class itself declares. When an object is
  /// decoded, the superclass's `init()` sets the inherited properties. If the superclass has no such initializer,
  /// declare `init(fields:)` yourself.
  ///
  /// - Parameters:
  ///   - version: the version of this class's fields.
  ///   - name: the registered name; by default the class's name, qualified by its enclosing types.
  ///   - formerNames: former names of the class. Archives with these names can be read.
  ///   - superclass: `.excluded`. A direct subclass of `NSObject` does not need this argument, because `NSObject` has
  ///     no properties.
  ///   - oldestReader: the oldest model version that may open archives of this version. Set it if a release may be
  ///     rolled back. By default, no older version may open them.
  ///   - oldestWriter: the oldest model version that may open and save archives of this version. By default, no older
  ///     version may save them.
  @attached(
    member, conformances: VersionedModel, _StrataBaseClass, names: named(schema), prefixed(_schemaOf),
    prefixed(_rootOf),
    named(init()),
    named(init(fields:)), named(encodeFields(to:)), named(readField(_:from:)), named(adoptFields(of:)),
    named(adoptObject(_:)), named(archivedUnknownFields))
  @attached(
    extension, conformances: VersionedModel, _StrataBaseClass, names: named(init(fields:)), named(encodeFields(to:)),
    named(archivedUnknownFields), named(adoptFields(of:)))
  public macro Model(
    version: Int, name: String? = nil, formerNames: [String] = [], superclass: SuperclassBehavior,
    oldestReader: Int? = nil, oldestWriter: Int? = nil
  ) =
    #externalMacro(module: "StrataMacros", type: "ModelMacro")

  /// Makes a subclass of a model archivable. An archive contains the subclass's own fields and the inherited fields.
  /// Each class has its own version and its own migration steps.
  ///
  ///     @Model(version: 2, superclass: Animal.self)
  ///     final class Dog: Animal {
  ///       var breed = ""
  ///     }
  ///
  /// The superclass must not be final and must also have `@Model`. The macro adds `init(fields:)`, so the subclass does not inherit
  /// initializers. Declare the initializers that you need. To decode the subclass where the superclass is expected, pass it to the decoder,
  /// as in `ArchiveDecoder(subclasses: [Dog.self])`, or declare it once with `ModelHierarchy`.
  ///
  /// - Parameters:
  ///   - version: the version of this class's fields.
  ///   - name: the registered name; by default the class's name, qualified by its enclosing types.
  ///   - formerNames: former names of the class. Archives with these names can be read.
  ///   - superclass: the superclass, as in `Animal.self`.
  ///   - oldestReader: the oldest model version that may open archives of this version. Set it if a release may be
  ///     rolled back. By default, no older version may open them.
  ///   - oldestWriter: the oldest model version that may open and save archives of this version. By default, no older
  ///     version may save them.
  @attached(
    member, names: named(schema), prefixed(_schemaOf), named(init(fields:)), named(encodeFields(to:)),
    named(readField(_:from:)), named(adoptObject(_:)), named(archivedUnknownFields))
  public macro Model(
    version: Int, name: String? = nil, formerNames: [String] = [], superclass: any VersionedModel.Type,
    oldestReader: Int? = nil, oldestWriter: Int? = nil
  ) =
    #externalMacro(module: "StrataMacros", type: "SubmodelMacro")

  /// Declares how a property of a ``Model(version:name:formerNames:oldestReader:oldestWriter:)`` is archived, merged
  /// and mapped to JSON.
  ///
  ///     @Field(formerly: "headline", merge: .serverWins.ifPresent, json: "content.title") var title: String?
  ///
  /// For a case of an enum, only `formerly` is allowed.
  ///
  /// - Parameters:
  ///   - archive: `.excluded` keeps the property out of archives. The property must then have an initial value or be
  ///     optional. Lazy properties, unowned references, weak references to types that are not models, functions and
  ///     tuples must be excluded. Merging does not change excluded properties.
  ///   - storage: `.transitory` keeps the field out of equality, hashing and descriptions that are derived from the
  ///     fields (see `FieldEquatable`). `.none` means that the property is not a field at all. It must then have an
  ///     initial value or be an optional variable.
  ///   - formerly: former keys of the field, or former names of the case.
  ///   - merge: how `mergeValues(from:)` merges the field.
  ///   - json: the path of the field in JSON, such as `"user.login"`, or a mapping (see `JSONField`). By default, the
  ///     JSON key is the raw value in `CodingKeys`, or the property's name if there are no `CodingKeys`.
  ///   - unknown: `.useDefault` reads an unknown enum case as the property's initial value or nil. A merge ignores an
  ///     incoming unknown case.
  @attached(peer)
  public macro Field(
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, formerly: String...,
    merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail
  ) = #externalMacro(module: "StrataMacros", type: "FieldMacro")
#endif
