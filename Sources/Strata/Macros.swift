#if Macros
  /// Makes a struct, a class or an enum archivable, as a record of its stored properties that is stamped with a name
  /// and a model version.
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
  /// Every stored property is a field under its own name, in the order of declaration. If the key is absent, the
  /// property takes its initial value, or nil if it is an optional. Without either, the key is required. Computed and
  /// static properties are not archived. A property of type `UnknownFields` is not a field: it keeps the keys that the
  /// model does not declare.
  ///
  /// A struct or a class that is also `Codable` declares its JSON keys once. The raw value of a case of `CodingKeys` is
  /// the JSON key of the property, and a property without a case is not in JSON. `@Field(json:)` takes precedence.
  /// `CodingKeys` must be in the declaration, because the macro does not see extensions. Archives do not depend on
  /// `CodingKeys`.
  ///
  /// A struct keeps its memberwise initializer. A class whose properties all have initial values keeps its `init()`.
  /// Members have the access level of the type. A public model needs `public import Strata` if imports are internal.
  ///
  /// Objects keep their identity: several fields may refer to one object, and references may form cycles. A weak
  /// reference is archived only if something else in the archive writes its object. A class that is not final may have
  /// subclasses with `superclass:`, and gets a required `init(fields:)`.
  ///
  /// Archives are read and written on any thread, so a model cannot be isolated to an actor. In a module that isolates
  /// to the main actor by default, write `nonisolated struct`.
  ///
  /// A generic model has one registered name for each set of arguments: `Box<Int>`. An argument has its registered name
  /// if it is a model or a collection, otherwise the name of its Swift type. The name of a model in an extension of a
  /// generic type includes the arguments, too: `Box<Int>.Item`, by the names of the Swift types.
  ///
  /// Each case of an enum is archived by name, with its associated values under their labels, or under `_0`, `_1` if
  /// they have none. An enum with raw values needs no macro: `enum State: String, Archivable`.
  ///
  /// - Parameters:
  ///   - version: the model version in archives. Increase it when the fields change, and add a step (see `Migratable`).
  ///   - name: the registered name. The default is the type's name after those of the types around it. It must stay
  ///     when the type is renamed.
  ///   - formerNames: former names of the type. Archives with them can be read.
  ///   - oldestReader: the oldest version that may open archives of this one, so that a release can be rolled back. By default, none may.
  ///   - oldestWriter: the oldest version that may also save them again. By default, none may.
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

  /// Makes a class archivable whose superclass is not a model, without the properties of the superclass.
  ///
  ///     @Model(version: 1, superclass: .excluded)
  ///     final class Download: Operation {
  ///       var address = ""
  ///     }
  ///
  /// Archives, JSON, copies and merges have the properties that the class declares itself. The `init()` of the
  /// superclass sets the others when an object is decoded. Without such an initializer, declare `init(fields:)`.
  ///
  /// - Parameters:
  ///   - version: the version of the fields of this class.
  ///   - name: the registered name. The default is the name of the class after those of the types around it.
  ///   - formerNames: former names of the class. Archives with them can be read.
  ///   - superclass: `.excluded`. `NSObject` has no properties, and needs no argument.
  ///   - oldestReader: the oldest version that may open archives of this one, so that a release can be rolled back. By default, none may.
  ///   - oldestWriter: the oldest version that may also save them again. By default, none may.
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

  /// Makes a subclass of a model archivable. Its fields are archived with those of the superclass. Each class has a
  /// version, so that each is upgraded by its own steps.
  ///
  ///     @Model(version: 2, superclass: Animal.self)
  ///     final class Dog: Animal {
  ///       var breed = ""
  ///     }
  ///
  /// The superclass must not be final, and must have `@Model` itself. The macro adds `init(fields:)`, so a subclass
  /// does not inherit initializers; write those that you need. To decode it where the superclass is expected, pass it
  /// to the decoder: `ArchiveDecoder(subclasses: [Dog.self])`, or declare it once with `ModelHierarchy`.
  ///
  /// - Parameters:
  ///   - version: the version of the fields of this class.
  ///   - name: the registered name. The default is the name of the class after those of the types around it.
  ///   - formerNames: former names of the class. Archives with them can be read.
  ///   - superclass: the superclass: `Animal.self`.
  ///   - oldestReader: the oldest version that may open archives of this one, so that a release can be rolled back. By default, none may.
  ///   - oldestWriter: the oldest version that may also save them again. By default, none may.
  @attached(
    member, names: named(schema), prefixed(_schemaOf), named(init(fields:)), named(encodeFields(to:)),
    named(readField(_:from:)), named(adoptObject(_:)), named(archivedUnknownFields))
  public macro Model(
    version: Int, name: String? = nil, formerNames: [String] = [], superclass: any VersionedModel.Type,
    oldestReader: Int? = nil, oldestWriter: Int? = nil
  ) =
    #externalMacro(module: "StrataMacros", type: "SubmodelMacro")

  /// Declares how one property of a ``Model(version:name:formerNames:oldestReader:oldestWriter:)`` is archived, merged and found in JSON.
  ///
  ///     @Field(formerly: "headline", merge: .serverWins.ifPresent, json: "content.title") var title: String?
  ///
  /// On a case of an enum, only `formerly` is allowed.
  ///
  /// - Parameters:
  ///   - archive: `.excluded` leaves the property out of archives. It then needs an initial value or must be an
  ///     optional. Lazy properties, unowned references, weak references to types that are not models, functions and
  ///     tuples must be excluded. Merging does not change them.
  ///   - storage: `.transitory` leaves the field out of equality, hash and description if these are derived from fields
  ///     (see `FieldEquatable`). `.none` leaves the property out of everything. It then needs an initial value or must
  ///     be an optional variable.
  ///   - formerly: former keys of the field, or former names of the case.
  ///   - merge: how `mergeValues(from:)` merges the field.
  ///   - json: the path of the field in JSON, such as `"user.login"`, or its mapping (see `JSONField`). By default, the
  ///     field is under its key in `CodingKeys`, or under its own name if there are none.
  ///   - unknown: `.useDefault` takes the initial value, or nil, for an enum case that this program does not know. A
  ///     merge leaves the property as it is.
  @attached(peer)
  public macro Field(
    archive: ArchiveBehavior = .always, storage: StorageBehavior = .permanent, formerly: String...,
    merge: MergePolicy = .automatic, json: JSONField = .automatic,
    unknown: UnknownCasePolicy = .fail
  ) = #externalMacro(module: "StrataMacros", type: "FieldMacro")
#endif
